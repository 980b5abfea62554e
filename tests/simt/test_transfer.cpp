// Uploads that land late: what shows that staging waits for the device before it writes to a buffer again.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>
#include <simt/transfer.hpp>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/cuda/runtime/pinned_memory.hpp>
#include <precast/cuda/runtime/staging.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>

using namespace precast;

namespace {

using DeviceBuffer = BufferIn<gpu::DeviceMemory>;

simt::Options when(simt::Copies copies) {
  simt::Options options;
  options.copies = copies;
  return options;
}

std::byte first_byte(const DeviceBuffer& buffer) {
  std::byte value{};
  gpu::DeviceMemory::copy_to_host(&value, buffer.data(), 1);
  return value;
}

/// Writes 1 to pinned memory, starts a copy, lets `before_reuse` happen and writes 2. What the device then
/// has.
template <class F>
std::byte uploaded_and_reused(simt::Copies copies, F&& before_reuse) {
  const simt::Session session(when(copies));
  const gpu::PinnedMemory pinned(1);
  const DeviceBuffer buffer(1);
  gpu::Event read;
  *pinned.data() = std::byte{1};
  gpu::start_upload(buffer.data(), pinned.data(), 1, {});
  read.record({});
  before_reuse(read);
  *pinned.data() = std::byte{2};
  return first_byte(buffer);
}

/// Uploads of many sizes, some larger than a buffer, are what was sent.
bool staging_is_right() {
  constexpr std::size_t buffer = gpu::Staging::buffer_bytes;
  gpu::Staging staging({});
  std::vector<std::byte> values;
  std::vector<DeviceBuffer> there;
  const std::size_t sizes[] = {1, 4, 3 * buffer + 5, 255, 256, 257, buffer - 1, buffer, buffer + 1, 7};
  for (const std::size_t size : sizes) {
    values.assign(size, std::byte{});
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<std::byte>(i * 2654435761u >> 13 ^ size);
    staging.upload(there.emplace_back(size).data(), values.data(), size);
    values.assign(size, std::byte{0xee});  // they have been read
  }
  for (std::size_t n = 0; n < there.size(); ++n) {
    values.resize(sizes[n]);
    gpu::DeviceMemory::copy_to_host(values.data(), there[n].data(), sizes[n]);
    for (std::size_t i = 0; i < sizes[n]; ++i)
      if (values[i] != static_cast<std::byte>(i * 2654435761u >> 13 ^ sizes[n])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("pinned memory that is written to before a copy has read it is an error", "[simt]") {
  const auto nothing = [](gpu::Event&) {};
  CHECK_THROWS_AS(uploaded_and_reused(simt::Copies::late, nothing), simt::HostMemoryChanged);
  CHECK(uploaded_and_reused(simt::Copies::early, nothing) == std::byte{1});
  CHECK(uploaded_and_reused(simt::Copies::late, [](gpu::Event& read) { read.wait(); }) == std::byte{1});
}

TEST_CASE("the device's next work comes after the copies that were started before it", "[simt]") {
  const simt::Session session(when(simt::Copies::late));
  const gpu::PinnedMemory pinned(sizeof(f32));
  const DeviceBuffer buffer(sizeof(f32));
  f32 value = 2;
  std::memcpy(pinned.data(), &value, sizeof value);
  gpu::start_upload(buffer.data(), pinned.data(), sizeof value, {});
  gpu::launch(
      "double", +[](gpu::GlobalPointer<f32> x) { x[0] *= 2; }, {{1, 1, 1}, 1, 0}, {},
      gpu::global_pointer(reinterpret_cast<f32*>(buffer.data()), 1));
  gpu::DeviceMemory::copy_to_host(&value, buffer.data(), sizeof value);
  CHECK(value == 4);
}

TEST_CASE("a copy from memory that is not pinned has landed when it returns", "[simt]") {
  const simt::Session session(when(simt::Copies::late));
  const DeviceBuffer buffer(1);
  std::byte value{1};
  gpu::start_upload(buffer.data(), &value, 1, {});
  value = std::byte{2};
  CHECK(first_byte(buffer) == std::byte{1});
}

TEST_CASE("staging uploads values of any size, and waits before it writes to a buffer again", "[simt]") {
  for (const auto copies : {simt::Copies::late, simt::Copies::early}) {
    const simt::Session session(when(copies));
    CHECK(staging_is_right());
  }
  simt::Options hasty = when(simt::Copies::late);
  hasty.host_waits = false;
  const simt::Session session(hasty);
  CHECK_THROWS_AS(staging_is_right(), simt::HostMemoryChanged);
}

TEST_CASE("staging waits once for each buffer after the first two, and small values share one", "[simt]") {
  const simt::Session session;
  constexpr std::size_t buffer = gpu::Staging::buffer_bytes;
  gpu::Staging staging({});
  const DeviceBuffer there(buffer);
  const std::vector<std::byte> values(buffer);
  for (std::size_t i = 0; i < buffer / 256; ++i) staging.upload(there.data(), values.data(), 4);
  CHECK(session.waits() == 0);
  for (int i = 0; i < 4; ++i) staging.upload(there.data(), values.data(), buffer);
  CHECK(session.waits() == 3);
  CHECK(session.uploads() == static_cast<std::int64_t>(buffer / 256 + 4));
}

TEST_CASE("what belongs to a stream is made once, and ends with it", "[simt]") {
  static int living = 0;
  struct Resource {
    explicit Resource(gpu::Stream) { ++living; }
    ~Resource() { --living; }
  };
  const auto* const of_default = gpu::resource_of<Resource>({}).get();
  {
    const gpu::OwnStream outer;
    const auto* const of_outer = gpu::resource_of<Resource>(gpu::current_stream()).get();
    CHECK(of_outer != of_default);
    CHECK(of_outer == gpu::resource_of<Resource>(gpu::current_stream()).get());
    {
      const gpu::OwnStream inner;
      CHECK(of_outer != gpu::resource_of<Resource>(gpu::current_stream()).get());
      CHECK(living == 3);
    }
    CHECK(living == 2);
    CHECK(of_outer == gpu::resource_of<Resource>(gpu::current_stream()).get());
  }
  CHECK(living == 1);
  CHECK(of_default == gpu::resource_of<Resource>({}).get());
  std::shared_ptr<Resource> held;
  {
    const gpu::OwnStream stream;
    held = gpu::resource_of<Resource>(gpu::current_stream());
  }
  CHECK(living == 2);  // who uses it keeps it
  held.reset();
  CHECK(living == 1);
  gpu::release_resources_of({});  // as of a stream that is a program's own
  CHECK(living == 0);
}
