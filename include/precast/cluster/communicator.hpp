// Communicator: the ranks of a job, each a process of its own, and their all-reduce sums.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <precast/error.hpp>

namespace precast::cluster {

/// A rank cannot go on with the others: one of them ended, or the transport of messages failed.
struct CommunicationError : Error {
  using Error::Error;
};

/// The dtypes that ranks can sum.
enum class SumDtype : std::uint8_t { f32, f64, f16, bf16 };

constexpr std::size_t bytes_of(SumDtype dtype) {
  return dtype == SumDtype::f64 ? 8 : dtype == SumDtype::f32 ? 4 : 2;
}
constexpr std::string_view name_of(SumDtype dtype) {
  constexpr std::string_view names[]{"f32", "f64", "f16", "bf16"};
  return names[static_cast<std::size_t>(dtype)];
}
/// The dtype of that name; nothing for one that ranks cannot sum.
constexpr std::optional<SumDtype> sum_dtype_named(std::string_view name) {
  for (const SumDtype dtype : {SumDtype::f32, SumDtype::f64, SumDtype::f16, SumDtype::bf16})
    if (name_of(dtype) == name) return dtype;
  return std::nullopt;
}

/// One rank's view of a job. Every rank calls the same functions in the same order, with the same sizes,
/// from one thread of its process. They throw CommunicationError where another rank is gone.
class Communicator {
 public:
  /// A sum that has been started.
  using Ticket = std::int64_t;

  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// This process's rank, from 0 to size() - 1.
  virtual int rank() const = 0;
  /// The number of processes.
  virtual int size() const = 0;

  /// Whether values of sums are on a device.
  static constexpr bool sums_on_device = false;

  /// Starts an all-reduce and returns at once: `count` values are replaced by their sums over all ranks,
  /// each addition rounded to the dtype. The memory is the communicator's until `wait`. Sums are done in
  /// the order of their starts; all ranks get the same bits, which depend on sizes and size() alone.
  virtual Ticket start_sum(void* values, std::int64_t count, SumDtype dtype) = 0;
  /// Orders the caller's next use of the values after that sum. For values on a device it returns at once,
  /// and later work of the current stream comes after the sum. Wait for a ticket once.
  virtual void wait(Ticket ticket) = 0;
  /// Seconds from when a sum could start (it was requested, and those before it were done) to its end, for
  /// tickets that were waited for recently.
  virtual double seconds_of(Ticket ticket) const = 0;
  /// Replaces the bytes of all ranks by those of rank `from`.
  virtual void broadcast(std::span<std::byte> bytes, int from) = 0;
};

/// A job of one process, in which a sum is the value itself.
class Alone final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Ticket start_sum(void*, std::int64_t, SumDtype) override { return 0; }
  void wait(Ticket) override {}
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte>, int) override {}
};

/// The sum of one host number over all ranks.
template <std::derived_from<Communicator> Job>
double sum(Job& job, double value) {
  static_assert(!Job::sums_on_device,
                "cluster::sum: this communicator sums values on devices, and the number is on the host: pass "
                "the communicator that was given to its constructor.");
  job.wait(job.start_sum(&value, 1, SumDtype::f64));
  return value;
}

}  // namespace precast::cluster
