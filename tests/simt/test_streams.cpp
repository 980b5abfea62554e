// Streams run as far apart as they may: each class of race between two of them is found, and programs that
// say what comes first are clean.
#include <cmath>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>
#include <simt/device_memory.hpp>
#include <simt/session.hpp>
#include <simt/stream.hpp>
#include <simt/transfer.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/runtime/event.hpp>

using namespace precast;
using Catch::Matchers::Contains;

namespace {

/// A value of the device, allocated and freed on a stream.
class Value {
 public:
  explicit Value(gpu::Stream stream)
      : stream_(stream), data_(static_cast<f32*>(simt::allocate_device(sizeof(f32), stream))) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (data_) free_on(stream_);
  }
  void free_on(gpu::Stream stream) {
    simt::free_device(data_, sizeof(f32), stream);
    data_ = nullptr;
  }
  f32* data() const { return data_; }

 private:
  gpu::Stream stream_;
  f32* data_;
};

void write_kernel(gpu::GlobalPointer<f32> to, f32 value) { to[0] = value; }
void read_kernel(gpu::GlobalPointer<const f32> from, f32* sum) { *sum += from[0]; }

void write(const Value& to, f32 value, gpu::Stream stream) {
  gpu::launch("write", write_kernel, {{1, 1, 1}, 1, 0}, stream, gpu::global_pointer(to.data(), 1), value);
}
f32 read(const Value& from, gpu::Stream stream) {
  f32 value = 0;
  gpu::launch("read", read_kernel, {{1, 1, 1}, 1, 0}, stream,
              gpu::global_pointer(static_cast<const f32*>(from.data()), 1), &value);
  return value;
}
/// What the second stream does from now on comes after what the first has been given.
void order(gpu::Stream first, gpu::Stream second) {
  gpu::Event event;
  event.record(first);
  event.order_before(second);
}

}  // namespace

TEST_CASE("a stream's own order is enough for itself", "[simt]") {
  const gpu::Stream a = simt::make_stream();
  Value value(a);
  write(value, 3, a);
  CHECK(read(value, a) == 3);
  write(value, 4, a);
  CHECK(read(value, a) == 4);
}

TEST_CASE("memory that another stream allocates is not there before that is ordered", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  CHECK_THROWS_AS(write(value, 1, b), simt::Unordered);
  order(a, b);
  write(value, 1, b);
  order(b, a);
}

TEST_CASE("reading what another stream writes needs an order", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  order(a, b);
  write(value, 1, a);
  CHECK_THROWS_WITH(read(value, b),
                    Contains("read on stream " + std::to_string(b.number) +
                             " reads memory that write on stream " + std::to_string(a.number) + " writes") &&
                        Contains("256 bytes, allocated on stream " + std::to_string(a.number)));
  order(a, b);
  CHECK(read(value, b) == 1);
  order(b, a);
}

TEST_CASE("writing what another stream writes or reads needs an order, two readers need none", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  write(value, 1, a);
  order(a, b);
  CHECK(read(value, a) == 1);
  CHECK(read(value, b) == 1);
  CHECK_THROWS_WITH(write(value, 2, a), Contains("write on") && Contains("writes memory that read on"));
  order(b, a);
  write(value, 2, a);
  CHECK_THROWS_WITH(write(value, 3, b), Contains("writes memory that write on"));
  order(a, b);
  write(value, 3, b);
  order(b, a);
}

TEST_CASE("an order is passed on by a third stream, and only from the point that was recorded", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream(), c = simt::make_stream();
  const Value value(a);
  write(value, 1, a);
  order(a, b);
  order(b, c);
  CHECK(read(value, c) == 1);
  order(c, a);
  gpu::Event early;
  early.record(a);
  write(value, 2, a);
  early.order_before(c);
  CHECK_THROWS_AS(read(value, c), simt::Unordered);
}

TEST_CASE("freeing memory that another stream still uses is found", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  {
    const Value value(a);
    order(a, b);
    write(value, 1, b);
  }  // freed on a, which does not wait for b
  CHECK_THROWS_WITH(simt::wait_for_device(), Contains("the end of memory") && Contains("write on"));
  {
    Value value(a);
    write(value, 1, a);
    value.free_on(b);  // and b does not wait for a
  }
  CHECK_THROWS_AS(simt::wait_for_device(), simt::Unordered);
  {
    const Value value(a);
    order(a, b);
    write(value, 1, b);
    order(b, a);
  }
  CHECK_NOTHROW(simt::wait_for_device());
}

TEST_CASE("memory that was freed is nobody's, and what takes its place belongs to who asked for it",
          "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  Value value(a);
  f32* const data = value.data();
  const auto write_there = [&](gpu::Stream stream) {
    gpu::launch("late", write_kernel, {{1, 1, 1}, 1, 0}, stream, gpu::global_pointer(data, 1), f32{1});
  };
  value.free_on(a);
  CHECK_THROWS_WITH(write_there(a), Contains("late on") && Contains("was freed"));
  const Value next(b);
  REQUIRE(next.data() == data);
  CHECK_THROWS_AS(write_there(a), simt::Unordered);
  CHECK_NOTHROW(write_there(b));
}

TEST_CASE("the host's waits order everything that it gives out later, to any stream", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  write(value, 1, a);
  SECTION("for a stream") { CHECK_NOTHROW(gpu::wait_for(a)); }
  SECTION("for an event") {
    gpu::Event event;
    event.record(a);
    CHECK_NOTHROW(event.wait());
  }
  SECTION("for the device") { CHECK_NOTHROW(simt::wait_for_device()); }
  CHECK(read(value, b) == 1);
  gpu::wait_for(b);
}

TEST_CASE("the default stream waits for streams that block, and they for it, where others do not", "[simt]") {
  const gpu::Stream blocking = simt::make_blocking_stream(), other = simt::make_stream();
  {
    const Value value({});
    write(value, 1, {});
    CHECK(read(value, blocking) == 1);
    write(value, 2, {});
    CHECK_THROWS_WITH(read(value, other), Contains("the default stream"));
  }
  CHECK_NOTHROW(simt::wait_for_device());
}

TEST_CASE("copies are work of their stream", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  order(a, b);
  f32 one = 1;
  simt::upload_async(value.data(), &one, sizeof one, a);
  CHECK_THROWS_WITH(read(value, b), Contains("that an upload on"));
  f32 there = 0;
  CHECK_THROWS_WITH(simt::download_async(&there, value.data(), sizeof there, b), Contains("a download on"));
  order(a, b);
  simt::download_async(&there, value.data(), sizeof there, b);
  gpu::wait_for(b);
  CHECK(there == 1);
}

TEST_CASE("what was copied to the host is not there before the host has waited for it", "[simt]") {
  const simt::Session session(simt::Options{.copies = simt::Copies::late});
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  write(value, 1, a);
  f32 there = 0;
  simt::download_async(&there, value.data(), sizeof there, a);
  CHECK(std::isnan(there));
  gpu::wait_for(b);
  CHECK(std::isnan(there));
  gpu::wait_for(a);
  CHECK(there == 1);
}

TEST_CASE("a stream that has ended takes no work", "[simt]") {
  const gpu::Stream a = simt::make_stream();
  simt::end_stream(a);
  CHECK_THROWS_WITH(simt::allocate_device(1, a), Contains("has ended"));
  CHECK_NOTHROW(simt::wait_for_device());
}

TEST_CASE("the host cannot wait for a stream that records a graph, nor copy from it", "[simt]") {
  const gpu::Stream a = simt::make_stream();
  const Value value(a);
  simt::begin_recording(a);
  f32 there = 0;
  CHECK_THROWS_AS(gpu::wait_for(a), simt::NotRecordable);
  CHECK_THROWS_AS(simt::download_async(&there, value.data(), sizeof there, a), simt::NotRecordable);
  simt::end_recording(a);
  CHECK_NOTHROW(gpu::wait_for(a));
}

TEST_CASE("a stream that records a graph waits for events of the graph alone", "[simt]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const Value value(a);
  write(value, 1, a);
  gpu::Event before, on_other, fork, joined;
  before.record(a);
  on_other.record(b);
  simt::begin_recording(a);
  CHECK_THROWS_AS(before.order_before(a), simt::NotRecordable);
  CHECK_THROWS_AS(on_other.order_before(a), simt::NotRecordable);
  fork.record(a);
  CHECK_NOTHROW(fork.order_before(a));
  fork.order_before(b);
  joined.record(b);
  CHECK_NOTHROW(joined.order_before(a));
  simt::end_recording(a);
  CHECK_NOTHROW(before.order_before(a));
  CHECK_NOTHROW(on_other.order_before(a));
}
