// Ranks as threads of a test.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include <precast/cluster/communicator.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace ranks {

/// Shared by ranks in one process: makes a sum, in the order of ranks, once all of them have asked for it.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size) {}
  int size() const { return size_; }

  /// Rank `rank` brings its values for sum number `number`, and returns at once.
  void bring(int rank, std::int64_t number, void* values, std::int64_t count,
             precast::cluster::SumDtype dtype) {
    const std::lock_guard lock(mutex_);
    Sum& sum = sums_[number];
    sum.values.resize(static_cast<std::size_t>(size_));
    sum.values[static_cast<std::size_t>(rank)] = values;
    sum.count = count;
    sum.dtype = dtype;
    if (++sum.arrived == size_) add(sum);
    changed_.notify_all();
  }
  void wait(std::int64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sums_[number].arrived == size_; });
  }

 private:
  struct Sum {
    std::vector<void*> values;
    std::int64_t count = 0;
    precast::cluster::SumDtype dtype{};
    int arrived = 0;
  };

  template <class T>
  void add_as(Sum& sum) {
    using namespace precast;
    for (std::int64_t i = 0; i < sum.count; ++i) {
      T all = static_cast<T*>(sum.values[0])[i];
      for (int rank = 1; rank < size_; ++rank) {
        const T other = static_cast<T*>(sum.values[static_cast<std::size_t>(rank)])[i];
        if constexpr (std::is_same_v<T, double>)
          all += other;
        else
          all = convert<T>(convert<f32>(all) + convert<f32>(other));
      }
      for (void* const values : sum.values) static_cast<T*>(values)[i] = all;
    }
  }
  void add(Sum& sum) {
    using enum precast::cluster::SumDtype;
    if (sum.dtype == f64) return add_as<double>(sum);
    if (sum.dtype == f32) return add_as<precast::f32>(sum);
    if (sum.dtype == f16) return add_as<precast::f16>(sum);
    add_as<precast::bf16>(sum);
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Sum> sums_;
};

/// A rank that is a thread.
class ThreadRank final : public precast::cluster::Communicator {
 public:
  ThreadRank(Meeting& meeting, int rank) : meeting_(&meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }
  Ticket start_sum(void* values, std::int64_t count, precast::cluster::SumDtype dtype) override {
    counts.push_back(count);
    meeting_->bring(rank_, ++asked_, values, count, dtype);
    return asked_;
  }
  void wait(Ticket ticket) override {
    waited.push_back(ticket);
    meeting_->wait(ticket);
  }
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte>, int) override {}

  std::vector<std::int64_t> counts;  ///< of the sums that were begun
  std::vector<Ticket> waited;        ///< those that were waited for

 private:
  Meeting* meeting_;
  int rank_;
  Ticket asked_ = 0;
};

/// Calls `body(communicator)` for each rank, on a thread of its own.
template <class Body>
void run_ranks(int size, Body&& body) {
  Meeting meeting(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&meeting, &body, rank] {
      ThreadRank communicator(meeting, rank);
      body(communicator);
    });
}

}  // namespace ranks
