// The threads that parallel_for shares its tasks among.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include <precast/error.hpp>
#include <precast/host/runtime/default_threads.hpp>
#include <precast/host/runtime/openmp.hpp>
#include <precast/memory/made_once.hpp>

namespace precast::host::detail {

inline thread_local bool inside_parallel_for = false;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Runs one job at a time. A task is taken by incrementing `ticket_`, which holds the job's number and the
/// next task: a worker that wakes up late compares against a number that has passed and takes nothing.
class ThreadPool {
 public:
  using Task = void (*)(void* context, std::int64_t task);
  static constexpr std::int64_t most_tasks = 0xffff'fffe;

  /// Its workers end at exit, or when the library is unloaded; a later job runs on the thread that calls
  /// it.
  static ThreadPool& instance() { return first_made_with(default_threads); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  static void set_threads(int count) {
    if (count < 1 || count > most_threads)
      throw Error("cannot run on " + std::to_string(count) + " threads: choose 1 to " +
                  std::to_string(most_threads));
    if (inside_parallel_for) throw Error("the number of threads cannot change inside a parallel_for");
    first_made_with([=] { return count; }).change_threads(count);
  }

  /// Returns false, having done nothing, where another thread's job is running.
  bool try_run(std::int64_t tasks, Task task, void* context) {
    const std::unique_lock running(running_, std::try_to_lock);
    if (!running || ended_) return false;
    if (workers_.empty()) start_workers();
    failure_ = nullptr;
    failed_task_ = tasks;
    failed_.store(false, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    tasks_ = tasks;
    task_ = task;
    context_ = context;
    ticket_.store(job_number(ticket_.load(std::memory_order_relaxed)) + one_job);
    if (sleepers_.load() > 0) {
      const std::lock_guard lock(sleep_);
      wake_.notify_all();
    }
    take_tasks();
    await_done(tasks);
    ticket_.store(ticket_.load(std::memory_order_relaxed) | closed);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return true;
  }

 private:
  static constexpr std::uint64_t closed = 0xffff'ffff;
  static constexpr std::uint64_t one_job = std::uint64_t{1} << 32;
  static constexpr int spins =
      4000;  // some tens of microseconds: longer than the serial part between two ops

  explicit ThreadPool(int threads) : threads_(threads) {}

  /// The pool, created with `count()` threads at the first call.
  template <class Count>
  static ThreadPool& first_made_with(const Count& count) {
    const auto make = [&] {
      ::pthread_atfork(nullptr, nullptr, [] {
        if (ThreadPool* const pool = made_.load()) pool->forget_workers();
      });
      return std::unique_ptr<ThreadPool>(new ThreadPool(count()));
    };
    return precast::detail::made_once(made_, make, [] { made_.load()->end(); });
  }

  void change_threads(int count) {
    const std::lock_guard running(running_);
    if (count == threads()) return;
    stop_workers();
    threads_ = count;
  }

  /// No job begins from here on; one that is running is finished.
  void end() {
    ended_ = true;
    std::unique_lock running(running_, std::defer_lock);
    if (!inside_parallel_for) running.lock();
    // A worker called exit() within its own job, as libgomp does where it has no memory. It can neither
    // join itself nor wait for a thread that waits for it: the program ends here.
    for (const std::thread& worker : workers_)
      if (worker.get_id() == std::this_thread::get_id()) std::_Exit(EXIT_FAILURE);
    stop_workers();
  }

  /// The child of a fork has only the thread that forked. Joining the missing workers would end the
  /// process, and destroying what they wait for would hang; the next job starts new ones.
  void forget_workers() {
    // Never destroyed, and reachable for leak checkers.
    [[maybe_unused]] static std::vector<std::thread>* gone = nullptr;
    if (!workers_.empty()) gone = new std::vector<std::thread>(std::move(workers_));
    workers_.clear();
    sleepers_ = 0;
    ::new (&wake_) std::condition_variable;
    ::new (&finished_) std::condition_variable;
    // A worker, or another thread, may have held these locks at the fork.
    ::new (&sleep_) std::mutex;
    if (inside_parallel_for) return;
    ::new (&running_) std::mutex;
    // The state of another thread's job refers to a stack that does not exist here.
    ticket_.store(ticket_.load(std::memory_order_relaxed) | closed);
  }

  static std::uint64_t job_number(std::uint64_t ticket) { return ticket & ~closed; }

  void start_workers() {
    stopping_ = false;
    try {
      for (int i = 1; i < threads(); ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system creates no more threads: the existing ones do the work.
    }
  }

  void stop_workers() {
    {
      const std::lock_guard lock(sleep_);
      stopping_ = true;
      wake_.notify_all();
    }
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void work() {
    omp_set_num_threads(1);
    inside_parallel_for = true;
    std::uint64_t seen = closed;
    while (!stopping_.load(std::memory_order_relaxed)) {
      for (int i = 0; i < spins && ticket_.load(std::memory_order_relaxed) == seen; ++i) relax();
      if (ticket_.load() == seen) {
        std::unique_lock lock(sleep_);
        ++sleepers_;
        wake_.wait(lock, [&] { return ticket_.load() != seen || stopping_; });
        --sleepers_;
        if (stopping_) return;
      }
      seen = take_tasks();
    }
  }

  /// Runs tasks until none are left, and returns the ticket that showed it.
  std::uint64_t take_tasks() {
    std::uint64_t ticket = ticket_.load();
    while (true) {
      const auto next = static_cast<std::int64_t>(ticket & closed);
      const std::int64_t tasks = tasks_.load();
      const Task task = task_.load();
      void* const context = context_.load();
      if ((ticket & closed) == closed || next >= tasks) return ticket;
      // Where the job has changed since the loads above, the ticket has too, and this fails.
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
      run_one(task, context, next);
      if (done_.fetch_add(1) + 1 == tasks && caller_sleeps_.load()) {
        const std::lock_guard lock(sleep_);
        finished_.notify_all();
      }
      ticket = ticket_.load();
    }
  }

  void run_one(Task task, void* context, std::int64_t index) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      task(context, index);
    } catch (...) {
      const std::lock_guard lock(sleep_);
      failed_ = true;
      if (index >= failed_task_) return;
      failed_task_ = index;
      failure_ = std::current_exception();
    }
  }

  void await_done(std::int64_t tasks) {
    for (int i = 0; i < spins && done_.load(std::memory_order_relaxed) != tasks; ++i) relax();
    if (done_.load() == tasks) return;
    std::unique_lock lock(sleep_);
    caller_sleeps_ = true;
    finished_.wait(lock, [&] { return done_.load() == tasks; });
    caller_sleeps_ = false;
  }

  static inline std::atomic<ThreadPool*> made_{nullptr};

  std::atomic<int> threads_;
  std::vector<std::thread> workers_;
  std::mutex running_;  // held while a job runs
  std::mutex sleep_;    // guards sleeping and the failure
  std::condition_variable wake_, finished_;
  std::atomic<bool> stopping_{false}, ended_{false}, failed_{false}, caller_sleeps_{false};
  std::atomic<int> sleepers_{0};
  std::atomic<std::uint64_t> ticket_{closed};
  std::atomic<std::int64_t> tasks_{0}, done_{0};
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::exception_ptr failure_;
  std::int64_t failed_task_ = 0;
};

}  // namespace precast::host::detail
