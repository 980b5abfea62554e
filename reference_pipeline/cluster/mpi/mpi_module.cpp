// An MPI job. One thread joins it, makes all MPI calls and leaves it, so that sums proceed while other
// threads compute, and MPI_THREAD_FUNNELED is enough.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <cluster/mpi/mpi_module.hpp>
#include <mpi.h>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::cluster {

namespace {

using Clock = std::chrono::steady_clock;

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicationError(std::string("MPI: ") + what + " failed: " + text +
                           ": start the job again with --resume");
}

/// MPI has neither f16 nor bf16: their sums are computed here in f32, each rounded once.
template <ScalarDtype T>
void add_values(void* from, void* to, int* count, MPI_Datatype*) {
  const T* const a = static_cast<const T*>(from);
  T* const b = static_cast<T*>(to);
  for (int i = 0; i < *count; ++i)
    b[i] = convert_value<T>(convert_value<f32>(a[i]) + convert_value<f32>(b[i]));
}

/// MPI datatypes and reduction operators, made once the job is joined.
struct Types {
  MPI_Datatype two_bytes = MPI_DATATYPE_NULL;
  MPI_Op add_f16 = MPI_OP_NULL, add_bf16 = MPI_OP_NULL;

  void make() {
    require(MPI_Type_contiguous(2, MPI_BYTE, &two_bytes), "a type of two bytes");
    require(MPI_Type_commit(&two_bytes), "a type of two bytes");
    require(MPI_Op_create(add_values<f16>, 1, &add_f16), "a sum of f16");
    require(MPI_Op_create(add_values<bf16>, 1, &add_bf16), "a sum of bf16");
  }
  void free() {
    MPI_Op_free(&add_f16);
    MPI_Op_free(&add_bf16);
    MPI_Type_free(&two_bytes);
  }
  MPI_Datatype type(SumDtype dtype) const {
    return dtype == SumDtype::f32 ? MPI_FLOAT : dtype == SumDtype::f64 ? MPI_DOUBLE : two_bytes;
  }
  MPI_Op op(SumDtype dtype) const {
    return dtype == SumDtype::f16 ? add_f16 : dtype == SumDtype::bf16 ? add_bf16 : MPI_SUM;
  }
};

class Job final : public MpiJob {
 public:
  Job(std::function<bool()> stop_requested, std::chrono::milliseconds grace_period)
      : stop_requested_(std::move(stop_requested)), grace_period_(grace_period) {
    thread_ = std::thread([this] { run(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_joined_ || failure_; });
    if (!failure_) return;
    is_over_ = true;
    lock.unlock();
    changed_.notify_all();
    thread_.join();
    std::rethrow_exception(failure_);
  }
  /// Leaves the job, which waits for the other ranks.
  ~Job() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Ticket start_sum(void* values, std::int64_t count, SumDtype dtype) override {
    return ask({.values = values, .count = count, .dtype = dtype});
  }
  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    const auto is_done = [&] { return done_ >= ticket || failure_; };
    constexpr std::chrono::milliseconds pause(50);
    std::optional<Clock::time_point> stopped_since;
    while (!changed_.wait_for(lock, pause, is_done)) {
      if (!stop_requested_ || !stop_requested_()) continue;
      if (!stopped_since) stopped_since = Clock::now();
      if (Clock::now() - *stopped_since < grace_period_) continue;
      // The caller may free the memory of its sums after this, so MPI must no longer use it.
      gave_up_ = true;
      changed_.wait(lock, is_done);
    }
    if (done_ < ticket) std::rethrow_exception(failure_);
  }
  double seconds_of(Ticket ticket) const override {
    const std::lock_guard lock(mutex_);
    const auto found = seconds_.find(ticket);
    return found == seconds_.end() ? 0 : found->second;
  }
  void broadcast(std::span<std::byte> bytes, int from) override {
    wait(ask({.values = bytes.data(), .count = static_cast<std::int64_t>(bytes.size()), .from = from}));
  }
  void abort(int code) override {
    if (stop_requested_ && stop_requested_()) std::_Exit(code);  // the job is being ended
    {
      const std::lock_guard lock(mutex_);
      abort_code_ = code;
    }
    changed_.notify_all();
    thread_.join();  // MPI_Abort ends the process
  }

 private:
  struct Request {
    void* values = nullptr;
    std::int64_t count = 0;
    SumDtype dtype = SumDtype::f32;
    int from = -1;  ///< the rank whose bytes are sent; -1: a sum
    Clock::time_point asked{};
  };

  Ticket ask(Request request) {
    request.asked = Clock::now();
    const std::lock_guard lock(mutex_);
    constexpr Ticket kept = 4096;
    seconds_.erase(seconds_.begin(), seconds_.lower_bound(asked_ - kept));
    requests_.push_back(request);
    changed_.notify_all();
    return ++asked_;
  }

  void run() {
    try {
      join();
      serve();
      types_.free();
      MPI_Comm_free(&ranks_);
      MPI_Finalize();
    } catch (const std::exception&) {
      std::unique_lock lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
      // The other ranks wait for this one, and only this thread may end them.
      changed_.wait(lock, [this] { return is_over_ || abort_code_; });
      if (abort_code_) MPI_Abort(ranks_, *abort_code_);
    }
  }

  void join() {
    int level = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "to join the job");
    if (level < MPI_THREAD_FUNNELED)
      throw CommunicationError(
          "MPI does not allow other threads beside the one that calls it: install an MPI built with thread "
          "support");
    require(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "to join the job");
    MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
    require(MPI_Comm_rank(ranks_, &rank_), "the rank");
    require(MPI_Comm_size(ranks_, &size_), "the number of ranks");
    types_.make();
    const std::lock_guard lock(mutex_);
    has_joined_ = true;
    changed_.notify_all();
  }

  void serve() {
    std::unique_lock lock(mutex_);
    Clock::time_point end_of_last{};
    for (;;) {
      changed_.wait(lock, [this] { return !requests_.empty() || is_over_ || abort_code_; });
      if (abort_code_) MPI_Abort(ranks_, *abort_code_);
      if (requests_.empty()) return;
      const Request request = requests_.front();
      requests_.pop_front();
      lock.unlock();
      const Clock::time_point start = std::max(request.asked, end_of_last);
      perform(request);
      end_of_last = Clock::now();
      lock.lock();
      seconds_[++done_] = std::chrono::duration<double>(end_of_last - start).count();
      changed_.notify_all();
    }
  }

  void perform(const Request& request) {
    constexpr std::int64_t most = 1 << 28;  // MPI counts in int
    auto* place = static_cast<std::byte*>(request.values);
    barrier();
    for (std::int64_t done = 0; done < request.count; done += most) {
      const auto count = static_cast<int>(std::min(most, request.count - done));
      MPI_Request running = MPI_REQUEST_NULL;
      if (request.from >= 0) {
        require(MPI_Ibcast(place, count, MPI_BYTE, request.from, ranks_, &running), "to send values");
        place += count;
      } else {
        require(MPI_Iallreduce(MPI_IN_PLACE, place, count, types_.type(request.dtype),
                               types_.op(request.dtype), ranks_, &running),
                "a sum over ranks");
        place += static_cast<std::size_t>(count) * bytes_of(request.dtype);
      }
      finish(running);
    }
  }

  /// MPI makes progress only while it is called, here only while all ranks call it: with sleep between
  /// calls, each would move one fragment. So the ranks first wait at a barrier, where waiting is mostly
  /// sleep, which leaves the core to threads that compute; then they send and poll without sleep.
  void barrier() {
    MPI_Request all_here = MPI_REQUEST_NULL;
    require(MPI_Ibarrier(ranks_, &all_here), "the barrier of all ranks");
    constexpr int eager = 100;
    constexpr std::chrono::microseconds pause(20);
    for (int calls = 0; !is_done(all_here); ++calls)
      if (calls > eager) std::this_thread::sleep_for(pause);
  }
  void finish(MPI_Request& running) {
    while (!is_done(running)) {
    }
  }
  bool is_done(MPI_Request& running) {
    require_wanted();
    int done = 0;
    require(MPI_Test(&running, &done, MPI_STATUS_IGNORE), "a sum over ranks");
    if (!done) std::this_thread::yield();
    return done != 0;
  }
  /// Aborts the job where abort() was called; throws where a wait() has given up.
  void require_wanted() const {
    std::unique_lock lock(mutex_);
    const std::optional<int> code = abort_code_;
    const bool gave_up = gave_up_;
    lock.unlock();
    if (code) MPI_Abort(ranks_, *code);
    if (gave_up)
      throw CommunicationError(
          "the job was stopped while this rank waited for the others; where nobody stopped it, another "
          "rank ended: start the job again with --resume");
  }

  std::function<bool()> stop_requested_;
  std::chrono::milliseconds grace_period_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  Types types_;
  int rank_ = 0, size_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;
  Ticket asked_ = 0, done_ = 0;
  std::map<Ticket, double> seconds_;  ///< durations of the latest sums
  std::optional<int> abort_code_;
  bool gave_up_ = false;  ///< a wait() has given up: no sum proceeds
  bool has_joined_ = false, is_over_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

}  // namespace precast::cluster

extern "C" void precast_join_mpi(std::unique_ptr<precast::cluster::MpiJob>* job,
                                 const std::function<bool()>* stop_requested,
                                 std::chrono::milliseconds grace_period) {
  *job = std::make_unique<precast::cluster::Job>(*stop_requested, grace_period);
}
