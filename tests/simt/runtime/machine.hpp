// The block that is running: its threads, who waits for what, its shared memory, and who runs next.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include <simt/errors.hpp>
#include <simt/launch.hpp>
#include <simt/runtime/async_proxy.hpp>
#include <simt/runtime/bulk_copies.hpp>
#include <simt/runtime/fiber.hpp>
#include <simt/runtime/random.hpp>
#include <simt/runtime/shared_memory.hpp>
#include <simt/runtime/warpgroups.hpp>
#include <simt/session.hpp>
#include <simt/site.hpp>

namespace simt::runtime {

inline constexpr int warp_size = 32;

/// What a thread waits at: a barrier of the block (its number and how many threads it takes), a meeting of
/// lanes, or a barrier in shared memory (its place).
struct Wait {
  Kind kind{};
  Site site;
  unsigned lanes = 0;
  int barrier = 0;
  int threads = 0;
};

struct PendingCopy {
  void* to;
  const void* from;
  int bytes, valid;
  std::int64_t group;
};

enum class State { fresh, ready, waiting, finished };

struct Thread {
  std::unique_ptr<Fiber> fiber;
  int index = 0;
  State state = State::fresh;
  Wait wait;
  void* operand = nullptr;  ///< what it brought to the meeting of its warp
  std::deque<PendingCopy> copies;
  std::int64_t groups = 0;  ///< of copies, closed so far
};

/// Lanes that meet.
struct Meeting {
  Wait wait;
  unsigned arrived = 0;
  char* token = nullptr;
};

struct Warp {
  unsigned ready = 0, finished = 0, at_barrier = 0;
  std::vector<Meeting> meetings;
  std::array<char, 64> tokens{};  ///< one a meeting in turn, for sanitizer_release
  unsigned next_token = 0;
};

struct Barrier {
  int arrived = 0;
  Wait wait;
  std::array<char, 2> tokens{};
  int phase = 0;
};

constexpr unsigned bit(int lane) { return 1u << lane; }
inline int lane_of(const Thread& thread) { return thread.index % warp_size; }

/// Runs blocks, one at a time. An unfair schedule: a random warp runs until none of its lanes can go on, its
/// lanes in random order; that shows what barriers are for.
class Machine {
 public:
  void launch(const std::string& kernel, const Grid& grid, const std::function<void()>& body);

  /// Notes that the running thread came to a site; true when the site is silenced.
  bool visit(Kind kind, const Site& site);
  void meet_at_barrier(const Wait& wait);
  /// Waits for the lanes; the last to come calls `act` with what each of the 32 brought. `orders`: what the
  /// lanes wrote before is seen after.
  void meet_in_warp(const Wait& wait, void* operand, bool orders,
                    void (*act)(Machine&, void* const* operands));
  void land_copies(Thread& thread, std::int64_t groups);
  /// Waits for wake_waiting(), without anybody to meet.
  void wait_to_be_woken(const Wait& wait);
  void wake_waiting(Kind kind, int barrier);

  Thread& thread() { return *running_; }
  Warp& warp_of(const Thread& thread) { return warps_[static_cast<std::size_t>(thread.index / warp_size)]; }
  Place place() const;
  const Grid& grid() const { return grid_; }
  const std::array<int, 3>& block() const { return block_; }
  const Options& options() const { return options_; }
  SharedMemory& shared() { return shared_; }
  AsyncProxy& async_proxy() { return async_proxy_; }
  BulkCopies& bulk_copies() { return bulk_copies_; }
  Warpgroups& warpgroups() { return warpgroups_; }
  Random& random() { return random_; }
  LaunchRecord& record() { return record_; }
  bool has_fault(const char* name);

 private:
  void check(const Grid& grid) const;
  void run_block();
  void cancel();
  [[noreturn]] void run_threads();
  void leave(Thread& self);
  void suspend();
  void wake(Thread& thread);
  void complete(Barrier& barrier, int number);
  Thread* choose();
  void resume(Thread& next);
  void report();
  [[noreturn]] void diverge(const std::string& message) const;
  std::string deadlock_message() const;

  Grid grid_;
  std::array<int, 3> block_{};
  const std::function<void()>* body_ = nullptr;
  Options options_;
  Random random_;
  LaunchRecord record_;
  std::vector<KernelSite> sites_;
  std::vector<KernelFault> faults_;
  const Site* silenced_ = nullptr;
  Kind silenced_kind_{};
  const char* planted_ = nullptr;

  Fiber launcher_;
  std::vector<Thread> threads_;  // a pool: as many as the largest block had
  std::vector<Warp> warps_;
  std::array<Barrier, 16> barriers_{};
  SharedMemory shared_;
  AsyncProxy async_proxy_{shared_};
  BulkCopies bulk_copies_{*this};
  Warpgroups warpgroups_{*this};
  Thread* running_ = nullptr;
  int current_warp_ = 0;
  unsigned ready_warps_ = 0;
  int living_ = 0;
  bool cancelling_ = false;
  std::exception_ptr failure_;
  char start_token_ = 0, end_token_ = 0;
};

/// The machine of the running kernel; an error outside of one.
Machine& machine();

}  // namespace simt::runtime
