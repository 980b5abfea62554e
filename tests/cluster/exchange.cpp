// The exchange of gradients: what is in a bucket, when it is sent, what comes back.
#include <vector>

#include <catch2/catch.hpp>

#include <precast/cluster/gradient_exchange.hpp>

#include "ranks.hpp"

using namespace precast;
using cluster::GradientExchange;
using cluster::GradientMemory;
using cluster::SumDtype;

TEST_CASE("gradients are the means over ranks, whatever the buckets") {
  for (const std::size_t bucket_bytes : {std::size_t{1}, std::size_t{16}, std::size_t{1} << 20}) {
    std::vector<std::vector<std::vector<f32>>> all(3);
    ranks::run_ranks(3, [&](ranks::ThreadRank& job) {
      const auto rank = static_cast<f32>(job.rank());
      auto& gradients = all[static_cast<std::size_t>(job.rank())];
      std::vector<GradientMemory> memory;
      for (const std::size_t size : {2u, 1u, 5u, 3u}) gradients.emplace_back(size);
      for (auto& gradient : gradients)
        memory.push_back({gradient.data(), static_cast<std::int64_t>(gradient.size()), SumDtype::f32});
      GradientExchange exchange(job, memory, {.bucket_bytes = bucket_bytes});
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t i = gradients.size(); i-- > 0;) {
          for (std::size_t k = 0; k < gradients[i].size(); ++k)
            gradients[i][k] =
                static_cast<f32>(i) + 10 * static_cast<f32>(k) + 3 * rank + static_cast<f32>(pass);
          exchange.mark_ready(i);
        }
        exchange.finish();
      }
    });
    for (const auto& gradients : all)
      for (std::size_t i = 0; i < gradients.size(); ++i)
        for (std::size_t k = 0; k < gradients[i].size(); ++k)
          CHECK(gradients[i][k] ==
                Approx(static_cast<double>(i) + 10 * static_cast<double>(k) + 3 + 1).epsilon(1e-6));
  }
}

TEST_CASE("a bucket is sent when its gradients are ready, and not before those in front of it") {
  ranks::Meeting meeting(1);
  ranks::ThreadRank job(meeting, 0);
  std::vector<f32> values(10);
  std::vector<GradientMemory> memory;
  for (const std::int64_t count : {2, 4, 1, 3}) memory.push_back({values.data(), count, SumDtype::f32});
  GradientExchange exchange(job, memory, {.bucket_bytes = 16});
  REQUIRE(exchange.buckets() == 3);
  CHECK(exchange.bytes(0) == 16);  // of parameters 3 and 2, the last ones
  exchange.mark_ready(1);
  CHECK(job.counts.empty());
  exchange.mark_ready(3);
  CHECK(job.counts.empty());
  exchange.mark_ready(2);
  CHECK(job.counts == std::vector<std::int64_t>{4, 4});
  CHECK_THROWS_WITH(exchange.finish(), Catch::Contains("not all ready"));
  exchange.mark_ready(0);
  CHECK(job.counts == std::vector<std::int64_t>{4, 4, 2});
  exchange.finish();
}

TEST_CASE("an exchange that ends before its pass does waits for what is under way") {
  using Tickets = std::vector<ranks::ThreadRank::Ticket>;
  std::vector<f32> sums(2);
  std::vector<Tickets> after_half(2), after_all(2);
  ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
    const auto rank = static_cast<std::size_t>(job.rank());
    f32 values[2] = {1, 2};
    const std::vector<GradientMemory> memory{{values, 1, SumDtype::f32}, {values + 1, 1, SumDtype::f32}};
    {
      GradientExchange exchange(job, memory, {.bucket_bytes = 4});
      exchange.mark_ready(1);
    }
    after_half[rank] = job.waited;
    {  // after a whole pass there is nothing to wait for
      GradientExchange exchange(job, memory, {.bucket_bytes = 4});
      exchange.mark_ready(1);
      exchange.mark_ready(0);
      exchange.finish();
    }
    after_all[rank] = job.waited;
    sums[rank] = values[1];
  });
  CHECK(after_half == std::vector<Tickets>(2, Tickets{1}));
  CHECK(after_all == std::vector<Tickets>(2, Tickets{1, 2, 3}));
  CHECK(sums == std::vector<f32>{2, 2});
}

TEST_CASE("an exchange whose sum could not begin waits for those that did, and for no other") {
  /// Another rank is gone before the second sum.
  struct Leaving final : precast::cluster::Communicator {
    int rank() const override { return 0; }
    int size() const override { return 2; }
    Ticket start_sum(void*, std::int64_t, SumDtype) override {
      if (begun == 1) throw precast::cluster::CommunicationError("gone");
      return ++begun;
    }
    void wait(Ticket ticket) override { waited.push_back(ticket); }
    double seconds_of(Ticket) const override { return 0; }
    void broadcast(std::span<std::byte>, int) override {}
    Ticket begun = 0;
    std::vector<Ticket> waited;
  } job;
  f32 values[2] = {1, 2};
  const std::vector<GradientMemory> memory{{values, 1, SumDtype::f32}, {values + 1, 1, SumDtype::f32}};
  {
    GradientExchange exchange(job, memory, {.bucket_bytes = 4});
    exchange.mark_ready(1);
    CHECK_THROWS_AS(exchange.mark_ready(0), precast::cluster::CommunicationError);
  }
  CHECK(job.waited == std::vector<precast::cluster::Communicator::Ticket>{1});
}

TEST_CASE("messages in another dtype are rounded to it once on their way and once in each sum") {
  for (const SumDtype message : {SumDtype::bf16, SumDtype::f16}) {
    std::vector<f32> results(2);
    ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
      f32 gradient = job.rank() == 0 ? 2.0f * (1 + 0x1p-12f) : 2.0f * 0x1p-9f;
      const std::vector<GradientMemory> memory{{&gradient, 1, SumDtype::f32}};
      GradientExchange exchange(job, memory, {.message = message});
      exchange.mark_ready(0);
      exchange.finish();
      results[static_cast<std::size_t>(job.rank())] = gradient;
    });
    const f32 expected = message == SumDtype::bf16 ? 1.0f : 1 + 0x1p-9f;  // 2^-9 is a quarter of bf16's ulp
    CHECK(results[0] == expected);
    CHECK(results[1] == expected);
  }
}

TEST_CASE("means in f16 do not overflow where the gradients did not") {
  std::vector<f32> results(2);
  ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
    f16 gradient = convert<f16>(60000.0f);
    const std::vector<GradientMemory> memory{{&gradient, 1, SumDtype::f16}};
    GradientExchange exchange(job, memory, {.message = SumDtype::f16});
    exchange.mark_ready(0);
    exchange.finish();
    results[static_cast<std::size_t>(job.rank())] = convert<f32>(gradient);
  });
  CHECK(results == std::vector<f32>{60000.0f, 60000.0f});
}

TEST_CASE("gradients are not exchanged in f64") {
  cluster::Alone job;
  double value = 0;
  const std::vector<GradientMemory> memory{{&value, 1, SumDtype::f64}};
  CHECK_THROWS_AS(GradientExchange(job, memory), InputError);
}
