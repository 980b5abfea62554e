// parallel_for: tasks on a small pool of threads. Which task does what is fixed by shapes, so bits never
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include <precast/host/runtime/openmp.hpp>
#include <precast/host/runtime/thread_pool.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::host {

namespace detail {

class InsideParallelFor {
 public:
  InsideParallelFor() { inside_parallel_for = true; }
  ~InsideParallelFor() { inside_parallel_for = false; }
  InsideParallelFor(const InsideParallelFor&) = delete;
  InsideParallelFor& operator=(const InsideParallelFor&) = delete;

 private:
  OneOpenMpThread one_thread_;
};

}  // namespace detail

/// How many threads parallel_for uses, the calling one included: `default_threads`, until set_threads is
/// called. Throws Error where the environment variable PRECAST_THREADS is set to anything but a valid
/// number of threads.
inline int threads() { return detail::ThreadPool::instance().threads(); }
/// Sets the number of threads. Where it is called before the pool starts, PRECAST_THREADS is not read.
/// Throws Error for fewer than 1 or more than 1024, and inside a parallel_for.
inline void set_threads(int count) { detail::ThreadPool::set_threads(count); }

/// In a dry run, counts the bytes that each of `tasks` tasks holds until it ends.
inline void task_memory(std::int64_t tasks, std::int64_t bytes) {
  if (DryRun* const dry = DryRun::active()) dry->in_tasks(tasks, threads(), bytes);
}

/// Calls `body(task)` once for each task in [0, tasks), on any thread and in any order, and returns when
/// all are done. Cut work into tasks by its shape, never by the number of threads: then results have the
/// same bits for any number. Inside a task, a further parallel_for runs its tasks one after another. An
/// exception of a task is rethrown here (of several, that of the lowest task that ran), and tasks that have
/// not started are dropped. The child of a fork, which has none of its parent's threads, starts threads of
/// its own. In a dry run, does nothing: what tasks hold is counted by `task_memory` and `scratch_memory`.
template <class Body>
void parallel_for(std::int64_t tasks, Body&& body) {
  if (tasks <= 0 || DryRun::active()) return;
  if (detail::inside_parallel_for) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  const detail::InsideParallelFor inside;
  detail::ThreadPool& pool = detail::ThreadPool::instance();
  if (tasks > 1 && pool.threads() > 1 && tasks <= detail::ThreadPool::most_tasks) {
    using Plain = std::remove_reference_t<Body>;
    const auto call = [](void* context, std::int64_t task) { (*static_cast<Plain*>(context))(task); };
    // A const body is cast back to const: Plain keeps the qualifier.
    void* const context = const_cast<void*>(static_cast<const void*>(std::addressof(body)));
    if (pool.try_run(tasks, call, context)) return;
  }
  for (std::int64_t task = 0; task < tasks; ++task) body(task);
}

}  // namespace precast::host
