// GradientExchange: averages gradients over ranks, in buckets that are sent while the backward pass goes
// on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/message_memory.hpp>
#include <precast/error.hpp>

namespace precast::cluster {

struct ExchangeOptions {
  std::size_t bucket_bytes = std::size_t{25} << 20;  ///< of a message; a larger gradient is one of its own
  SumDtype message = SumDtype::f32;                  ///< the dtype of messages and of their sums
};

/// The timings of an exchange.
struct ExchangeFacts {
  double waited = 0;   ///< seconds of waiting with nothing left to compute
  double seconds = 0;  ///< of all sums, each from when it could start; seconds - waited was hidden
};

/// Gradients are put into buckets from the last parameter to the first, the order in which a backward pass
/// completes them. A bucket is sent as soon as its gradients are complete and those before it were sent, so
/// that every rank sends the same buckets in the same order.
class GradientExchange {
 public:
  /// The communicator and the gradients must outlive it. `memory` holds the messages, separate from the
  /// gradients and where the communicator sums. Throws InputError where gradients or messages have a dtype
  /// that is not exchanged.
  GradientExchange(Communicator& job, std::span<const GradientMemory> gradients,
                   const ExchangeOptions& options = {},
                   std::unique_ptr<MessageMemory> memory = std::make_unique<HostMessages>())
      : job_(&job),
        gradients_(gradients.begin(), gradients.end()),
        message_(options.message),
        memory_(std::move(memory)) {
    for (const GradientMemory& gradient : gradients_) require_exchanged(gradient.dtype);
    require_exchanged(message_);
    bucket_of_.resize(gradients_.size());
    std::size_t bytes = 0;
    for (std::size_t i = gradients_.size(); i-- > 0;) {
      const std::size_t size = static_cast<std::size_t>(gradients_[i].count) * bytes_of(message_);
      if (buckets_.empty() || bytes + size > options.bucket_bytes) {
        buckets_.emplace_back();
        bytes = 0;
      }
      bytes += size;
      buckets_.back().members.push_back(i);
      buckets_.back().bytes = bytes;
      bucket_of_[i] = buckets_.size() - 1;
    }
    for (Bucket& bucket : buckets_) bucket.message = static_cast<std::byte*>(memory_->make(bucket.bytes));
    begin();
  }

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  /// Waits for sums in progress, which use its memory, where a backward pass ended with an exception.
  ~GradientExchange() {
    while (waited_ < sent_) {
      try {
        job_->wait(buckets_[waited_++].ticket);
      } catch (const std::exception&) {  // the one that ended the pass says more
      }
    }
  }

  std::size_t buckets() const { return buckets_.size(); }
  /// Bytes of a bucket's message.
  std::size_t bytes(std::size_t bucket) const { return buckets_[bucket].bytes; }

  /// Marks the gradient of parameter `i` as complete: it changes no more in this backward pass.
  void mark_ready(std::size_t i) {
    --buckets_[bucket_of_[i]].missing;
    while (sent_ < buckets_.size() && buckets_[sent_].missing == 0) {
      send(buckets_[sent_]);
      ++sent_;  // where that throws, no sum was begun that anybody could wait for
    }
  }
  /// Waits until every gradient is the mean over ranks, and is ready for the next backward pass. Throws
  /// Error where a gradient is not complete.
  ExchangeFacts finish() {
    using Clock = std::chrono::steady_clock;
    if (sent_ != buckets_.size())
      throw Error("the gradients of the backward pass are not all ready: call mark_ready for each parameter");
    ExchangeFacts facts;
    for (Bucket& bucket : buckets_) {
      const auto start = Clock::now();
      ++waited_;  // also where it throws: a ticket is waited for once
      job_->wait(bucket.ticket);
      facts.waited += std::chrono::duration<double>(Clock::now() - start).count();
      facts.seconds += job_->seconds_of(bucket.ticket);
      unpack(bucket);
    }
    begin();
    return facts;
  }

 private:
  struct Bucket {
    std::vector<std::size_t> members;
    std::byte* message = nullptr;
    std::size_t bytes = 0, missing = 0;
    Communicator::Ticket ticket = 0;
  };

  static void require_exchanged(SumDtype dtype) {
    if (dtype == SumDtype::f64) throw InputError("gradients are exchanged in f32, bf16 or f16, not in f64");
  }

  void begin() {
    sent_ = waited_ = 0;
    for (Bucket& bucket : buckets_) bucket.missing = bucket.members.size();
  }

  /// Calls `body(gradient, place)` for each gradient of a bucket; `place` is its address in the message.
  template <class Body>
  void each(const Bucket& bucket, Body&& body) {
    std::byte* place = bucket.message;
    for (const std::size_t member : bucket.members) {
      body(gradients_[member], place);
      place += static_cast<std::size_t>(gradients_[member].count) * bytes_of(message_);
    }
  }

  void send(Bucket& bucket) {
    // Divided before they are summed, as PyTorch's DistributedDataParallel has it: a sum in f16 could
    // overflow.
    const f32 part = 1.0f / static_cast<f32>(job_->size());
    each(bucket, [&](const GradientMemory& gradient, void* place) {
      memory_->pack(gradient, part, place, message_);
    });
    const auto count = static_cast<std::int64_t>(bucket.bytes / bytes_of(message_));
    bucket.ticket = job_->start_sum(bucket.message, count, message_);
  }

  void unpack(const Bucket& bucket) {
    each(bucket, [&](const GradientMemory& gradient, const void* place) {
      memory_->unpack(place, message_, gradient);
    });
  }

  Communicator* job_;
  std::vector<GradientMemory> gradients_;
  SumDtype message_;
  std::unique_ptr<MessageMemory> memory_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;
  std::size_t sent_ = 0, waited_ = 0;  ///< buckets of this backward pass
};

}  // namespace precast::cluster
