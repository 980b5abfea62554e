// NcclCommunicator: sums over ranks of values on devices, one device a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <span>
#include <string>

#include <precast/cluster/communicator.hpp>
#include <precast/cuda/cluster/nccl_library.hpp>
#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/own_stream.hpp>

namespace precast::gpu {

/// A job whose values are on devices. Sums run on a stream of their own: after the current stream's work
/// before `start_sum`, and before its work after `wait`; the host waits for neither. NCCL chooses the order
/// of additions: all ranks get the same bits; another number of ranks, or another machine, may give others.
class NcclCommunicator final : public cluster::Communicator {
 public:
  /// Joins this thread's current device to those of the other ranks of `bootstrap`, over which ranks find
  /// each other. Throws Error where NCCL was not found, CommunicationError where it fails.
  explicit NcclCommunicator(cluster::Communicator& bootstrap,
                            const NcclLibrary& library = NcclLibrary::instance())
      : library_(&library), number_(bootstrap.rank()), size_(bootstrap.size()) {
    const NcclFunctions& nccl = library.functions();
    NcclId id{};
    if (number_ == 0) library.check(nccl.get_id(&id), "create a unique id");
    bootstrap.broadcast(std::as_writable_bytes(std::span(id.bytes)), 0);
    library.check(nccl.join(&rank_, size_, id, number_),
                  "join rank " + std::to_string(number_) + " of " + std::to_string(size_));
  }
  /// Waits for its sums, and for the ranks of this machine, as NCCL wants these to end together. After a
  /// failure, also elsewhere in the program, they would not come: it then ends alone.
  ~NcclCommunicator() override {
    const NcclFunctions& nccl = library_->functions();
    if (!has_failed_ && std::uncaught_exceptions() <= exceptions_before_) {
      try {
        wait_for(stream());
        (void)nccl.leave(rank_);
        return;
      } catch (const std::exception&) {  // the device has failed: its next call reports it
      }
    }
    (void)nccl.abort(rank_);
  }

  static constexpr bool sums_on_device = true;

  int rank() const override { return number_; }
  int size() const override { return size_; }

  Ticket start_sum(void* values, std::int64_t count, cluster::SumDtype dtype) override {
    begin();
    check(library_->functions().sum(values, values, static_cast<std::size_t>(count), nccl_dtype(dtype),
                                    nccl_sum, rank_, native(stream())),
          "add up " + std::to_string(count) + " values");
    sums_[++last_].record(stream());
    return last_;
  }
  void wait(Ticket ticket) override {
    NcclResult state = 0;
    check(library_->functions().state(rank_, &state), "get the state of a communicator");
    constexpr NcclResult in_progress = 7;
    if (state != in_progress) check(state, "go on");
    const auto sum = sums_.find(ticket);
    if (sum == sums_.end()) return;
    sum->second.order_before(current_context().stream);
    sums_.erase(sum);
  }
  /// 0: the host does not wait for sums, and does not know.
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte> bytes, int from) override {
    begin();
    check(library_->functions().broadcast(bytes.data(), bytes.data(), bytes.size(), nccl_bytes, from, rank_,
                                          native(stream())),
          "send " + std::to_string(bytes.size()) + " bytes");
    Event done;
    done.record(stream());
    done.order_before(current_context().stream);
  }

 private:
  Stream stream() const { return sums_stream_.stream; }

  /// Orders later work of the stream of sums after the current stream's work so far.
  void begin() {
    Event ready;
    ready.record(current_context().stream);
    ready.order_before(stream());
  }
  void check(NcclResult result, const std::string& doing) {
    has_failed_ = has_failed_ || result != 0;
    library_->check(result, doing);
  }

  static void* native(Stream stream) {
#if PRECAST_CUDA_IS_EMULATED
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.number));
#else
    return stream;
#endif
  }
  /// A new stream, which is not this thread's current one after the call.
  static Context made_stream() {
    const OwnStream own;
    return own.context();
  }

  const NcclLibrary* library_;
  int number_, size_;
  NcclRank* rank_ = nullptr;
  bool has_failed_ = false;
  int exceptions_before_ = std::uncaught_exceptions();
  Context sums_stream_ = made_stream();
  std::map<Ticket, Event> sums_;
  Ticket last_ = 0;
};

}  // namespace precast::gpu
