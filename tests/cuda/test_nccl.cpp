// The communicator over NCCL: which of its functions it calls, in what order and with what, by a library that
// writes them down.
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <catch2/catch.hpp>

#include <precast/cuda/cluster/nccl_communicator.hpp>

using namespace precast;
using cluster::CommunicationError;
using cluster::SumDtype;

namespace {

/// Ranks of one test, one after another: what rank 0 sends lies here for the others.
struct Meeting final : cluster::Communicator {
  explicit Meeting(int number) : number_(number) {}
  int rank() const override { return number_; }
  int size() const override { return 2; }
  Ticket start_sum(void*, std::int64_t, SumDtype) override { return 0; }
  void wait(Ticket) override {}
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte> bytes, int from) override {
    static char sent[128];
    REQUIRE(bytes.size() == sizeof sent);
    if (number_ == from)
      std::memcpy(sent, bytes.data(), sizeof sent);
    else
      std::memcpy(bytes.data(), sent, sizeof sent);
  }
  int number_;
};

/// The library and what it was called with.
struct Fake {
  gpu::NcclLibrary library{PRECAST_FAKE_NCCL};
  gpu::SharedLibrary own{{PRECAST_FAKE_NCCL}};
  const char* (*calls_of)() = nullptr;
  void (*fail_at)(const char*, int) = nullptr;

  Fake() {
    REQUIRE(own.find("fake_nccl_calls", calls_of));
    REQUIRE(own.find("fake_nccl_fail", fail_at));
    fail_at("", 0);
    calls();
  }
  std::string calls() const { return calls_of(); }
};

}  // namespace

TEST_CASE("ranks of NCCL meet by one id, and sum in place on a stream of their own", "[nccl]") {
  const Fake fake;
  Meeting first(0), second(1);
  float value = 1;
  {
    gpu::NcclCommunicator zero(first, fake.library), one(second, fake.library);
    CHECK(fake.calls() == "ncclGetUniqueId()\nncclCommInitRank(2, 7, 0)\nncclCommInitRank(2, 7, 1)\n");
    CHECK(one.rank() == 1);
    CHECK(one.size() == 2);
    const auto wide = one.start_sum(&value, 5, SumDtype::f32),
               narrow = one.start_sum(&value, 6, SumDtype::bf16);
    CHECK(fake.calls() == "ncclAllReduce(1, 5, 7, 0, 101)\nncclAllReduce(1, 6, 9, 0, 101)\n");
    one.wait(wide);
    one.wait(narrow);
    CHECK(fake.calls() == "ncclCommGetAsyncError(101)\nncclCommGetAsyncError(101)\n");
    one.wait(one.start_sum(&value, 3, SumDtype::f16));
    one.wait(one.start_sum(&value, 2, SumDtype::f64));
    CHECK_THAT(fake.calls(), Catch::Contains("(1, 3, 6, 0, 101)") && Catch::Contains("(1, 2, 8, 0, 101)"));
    zero.broadcast(std::as_writable_bytes(std::span(&value, 1)), 1);
    CHECK(fake.calls() == "ncclBroadcast(1, 4, 0, 1, 100)\n");
  }
  CHECK(fake.calls() == "ncclCommDestroy(101)\nncclCommDestroy(100)\n");
}

TEST_CASE("a rank of NCCL that fails says what, and does not wait for the others", "[nccl]") {
  const Fake fake;
  Meeting first(0);
  float value = 1;
  {
    gpu::NcclCommunicator job(first, fake.library);
    fake.fail_at("ncclAllReduce", 6);
    CHECK_THROWS_WITH(
        job.start_sum(&value, 5, SumDtype::f32),
        Catch::Contains("add up 5 values (remote process exited)") && Catch::Contains("start the job again"));
    fake.calls();
  }
  CHECK(fake.calls() == "ncclCommAbort(100)\n");
  {
    fake.fail_at("", 0);
    gpu::NcclCommunicator job(first, fake.library);
    const auto ticket = job.start_sum(&value, 5, SumDtype::f32);
    fake.fail_at("later", 7);  // it goes on
    CHECK_NOTHROW(job.wait(ticket));
    fake.fail_at("later", 6);
    CHECK_THROWS_AS(job.wait(job.start_sum(&value, 5, SumDtype::f32)), CommunicationError);
    fake.calls();
  }
  CHECK(fake.calls() == "ncclCommAbort(100)\n");
  fake.fail_at("ncclCommInitRank", 2);
  CHECK_THROWS_WITH(gpu::NcclCommunicator(first, fake.library), Catch::Contains("join rank 0 of 2"));
}

TEST_CASE("a rank of NCCL that ends by an exception does not wait for the others", "[nccl]") {
  const Fake fake;
  Meeting first(0);
  try {
    const gpu::NcclCommunicator job(first, fake.library);
    fake.calls();
    throw OutOfMemory("as a model's next layer might");
  } catch (const OutOfMemory&) {
    CHECK(fake.calls() == "ncclCommAbort(100)\n");
    { const gpu::NcclCommunicator after(first, fake.library); }  // of a program that goes on
    CHECK_THAT(fake.calls(), Catch::EndsWith("ncclCommDestroy(100)\n"));
  }
}

TEST_CASE("a machine without NCCL is told so", "[nccl]") {
  const gpu::NcclLibrary none("libno_such_nccl.so");
  CHECK_FALSE(none.found());
  Meeting first(0);
  CHECK_THROWS_WITH(gpu::NcclCommunicator(first, none), Catch::Contains("install libnccl.so.2"));
}
