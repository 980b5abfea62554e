#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include <simt/fault.hpp>
#include <simt/runtime/machine.hpp>
#include <simt/runtime/recorder.hpp>

thread_local constinit unsigned simt::detail::launch_number = 0;

namespace simt::runtime {

namespace {

thread_local constinit Machine* active = nullptr;

struct Cancelled {};  // unwinds the threads of a block in which another one failed

}  // namespace

Machine& machine() {
  if (!active) throw std::logic_error("emulator: a function of kernels was called outside of a launch");
  return *active;
}

Place Machine::place() const { return {record_.kernel, block_, running_ ? running_->index : -1}; }

void Machine::diverge(const std::string& message) const { throw Divergence(place(), message); }

void Machine::check(const Grid& grid) const {
  const auto [x, y, z] = grid.blocks;
  if (x < 1 || y < 1 || z < 1 || y > 65535 || z > 65535)
    throw BadLaunch(place(), "a grid has 1 to 65535 blocks along y and z, and one at least along x; it is " +
                                 std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z));
  if (grid.threads < 1 || grid.threads > 1024)
    throw BadLaunch(place(), "a block has 1 to 1024 threads, not " + std::to_string(grid.threads));
  if (grid.shared_bytes > SharedMemory::limit)
    throw BadLaunch(place(), "a block has at most " + std::to_string(SharedMemory::limit) +
                                 " bytes of shared memory; asked for " + std::to_string(grid.shared_bytes));
}

void Machine::launch(const std::string& kernel, const Grid& grid, const std::function<void()>& body) {
  if (active) throw std::logic_error("emulator: a kernel cannot launch a kernel");
  const Session* session = Recorder::session();
  options_ = session ? session->options() : Options{};
  record_ = {kernel, grid.blocks, grid.threads};
  running_ = nullptr;
  block_ = {};
  check(grid);
  grid_ = grid;
  body_ = &body;
  sites_.clear();
  faults_.clear();
  const auto& silenced = options_.silenced;
  silenced_ = silenced && silenced->kernel == kernel ? &silenced->site : nullptr;
  silenced_kind_ = silenced ? silenced->kind : Kind{};
  const auto& planted = options_.planted;
  planted_ = planted && planted->kernel == kernel ? planted->name.c_str() : nullptr;
  random_ = Random(options_.seed * 0x9e3779b9u + (session ? session->launches().size() : 0));
  while (static_cast<int>(threads_.size()) < grid.threads) {
    Thread& thread = threads_.emplace_back();
    thread.index = static_cast<int>(threads_.size()) - 1;
    thread.fiber =
        std::make_unique<Fiber>([](void* self) { static_cast<Machine*>(self)->run_threads(); }, this);
  }

  active = this;
  ++detail::launch_number;
  struct End {
    Machine& machine;
    ~End() {
      sanitizer_acquire(&machine.end_token_);
      machine.shared_.end_launch();
      machine.report();
      active = nullptr;
    }
  } const end{*this};
  const std::int64_t plane = std::int64_t{grid.blocks[0]} * grid.blocks[1];
  std::vector<std::int64_t> order(static_cast<std::size_t>(plane * grid.blocks[2]));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
  for (const std::int64_t number : order) {
    block_ = {static_cast<int>(number % grid.blocks[0]), static_cast<int>(number % plane / grid.blocks[0]),
              static_cast<int>(number / plane)};
    run_block();
  }
}

void Machine::run_block() {
  // ThreadSanitizer would take the next block's use of the same memory for a race.
  shared_.start_block(grid_.shared_bytes, thread_sanitizer());
  // Nor would it see a race between threads of two blocks that run on the same fiber.
  if (thread_sanitizer())
    for (std::size_t t = 1; t < static_cast<std::size_t>(grid_.threads); ++t)
      std::swap(threads_[t - 1].fiber, threads_[t].fiber);
  warps_.resize(static_cast<std::size_t>((grid_.threads + warp_size - 1) / warp_size));
  ready_warps_ = 0;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const int lanes = std::min(warp_size, grid_.threads - static_cast<int>(w) * warp_size);
    Warp& warp = warps_[w];
    warp.ready = lanes == warp_size ? ~0u : bit(lanes) - 1;
    warp.finished = ~warp.ready;  // lanes that do not exist
    warp.at_barrier = 0;
    warp.meetings.clear();
    ready_warps_ |= bit(static_cast<int>(w));
  }
  for (int t = 0; t < grid_.threads; ++t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    thread.state = State::fresh;
    thread.copies.clear();
    thread.groups = 0;
  }
  for (Barrier& barrier : barriers_) barrier.arrived = 0;
  async_proxy_.start_block(grid_.threads);
  bulk_copies_.start_block();
  warpgroups_.start_block(static_cast<int>(warps_.size()));
  living_ = grid_.threads;
  failure_ = nullptr;
  sanitizer_release(&start_token_);
  current_warp_ = random_.bit_of(ready_warps_);
  running_ = choose();
  launcher_.switch_to(*running_->fiber);
  running_ = nullptr;
  record_.static_shared_bytes =
      std::max(record_.static_shared_bytes, static_cast<std::int64_t>(shared_.static_bytes()));
  if (failure_) {
    cancel();
    std::rethrow_exception(failure_);
  }
  bulk_copies_.end_block();
  warpgroups_.end_block();
}

void Machine::cancel() {
  cancelling_ = true;
  for (int t = 0; t < grid_.threads; ++t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != State::ready && thread.state != State::waiting) continue;
    running_ = &thread;
    launcher_.switch_to(*thread.fiber);
  }
  running_ = nullptr;
  cancelling_ = false;
}

/// What a fiber does for ever: it runs the thread that is chosen when it is switched to, block by block.
void Machine::run_threads() {
  for (;;) {
    Thread& self = *running_;
    sanitizer_acquire(&start_token_);
    self.state = State::ready;
    try {
      (*body_)();
      leave(self);
    } catch (const Cancelled&) {
    } catch (const Error&) {
      failure_ = std::current_exception();
    } catch (const Unordered&) {
      failure_ = std::current_exception();
    } catch (const std::exception& error) {
      failure_ = std::make_exception_ptr(ThrownInKernel(place(), error.what()));
    } catch (...) {
      failure_ = std::make_exception_ptr(ThrownInKernel(place(), "something that is no std::exception"));
    }
    self.state = State::finished;
    sanitizer_release(&end_token_);
    Thread* next = nullptr;
    if (!failure_ && living_ > 0) {
      next = choose();
      if (!next)
        failure_ = std::make_exception_ptr(Deadlock(Place{record_.kernel, block_, -1}, deadlock_message()));
    }
    if (next) {
      running_ = next;
      self.fiber->switch_to(*next->fiber);
    } else {
      self.fiber->switch_to(launcher_);
    }
  }
}

/// Counts a thread out that has come to its end; nobody may wait for it.
void Machine::leave(Thread& self) {
  Warp& warp = warp_of(self);
  const unsigned mine = bit(lane_of(self));
  for (const Meeting& meeting : warp.meetings)
    if (meeting.wait.lanes & mine)
      diverge("has left the kernel, and other lanes wait for it: " +
              describe(meeting.wait.kind, meeting.wait.site));
  if (barriers_[0].arrived > 0)
    diverge("has left the kernel, and other threads of its block wait for it: " +
            describe(Kind::sync_block, barriers_[0].wait.site));
  record_.unawaited_copies += static_cast<std::int64_t>(self.copies.size());
  warp.finished |= mine;
  warp.ready &= ~mine;
  if (!warp.ready) ready_warps_ &= ~bit(self.index / warp_size);
  --living_;
}

Thread* Machine::choose() {
  // Copies that land late do so when nobody can go on without them.
  while (!ready_warps_)
    if (!bulk_copies_.land_one()) return nullptr;
  if (!(ready_warps_ & bit(current_warp_))) current_warp_ = random_.bit_of(ready_warps_);
  const int lane = random_.bit_of(warps_[static_cast<std::size_t>(current_warp_)].ready);
  return &threads_[static_cast<std::size_t>(current_warp_ * warp_size + lane)];
}

/// The running thread cannot go on, or need not: somebody else may.
void Machine::suspend() {
  Thread& self = *running_;
  Thread* next = choose();
  if (next == &self) return;
  if (next) {
    running_ = next;
    self.fiber->switch_to(*next->fiber);
  } else {
    failure_ = std::make_exception_ptr(Deadlock(Place{record_.kernel, block_, -1}, deadlock_message()));
    self.fiber->switch_to(launcher_);
  }
  if (cancelling_) throw Cancelled{};
}

void Machine::wake(Thread& thread) {
  thread.state = State::ready;
  warp_of(thread).ready |= bit(lane_of(thread));
  ready_warps_ |= bit(thread.index / warp_size);
}

bool Machine::visit(Kind kind, const Site& site) {
  const bool known = std::any_of(sites_.begin(), sites_.end(),
                                 [&](const KernelSite& s) { return s.kind == kind && s.site == site; });
  if (!known) {
    const Unseen unseen;
    sites_.push_back({record_.kernel, kind, site});
  }
  return silenced_ && silenced_kind_ == kind && *silenced_ == site;
}

bool Machine::has_fault(const char* name) {
  const bool known =
      std::any_of(faults_.begin(), faults_.end(), [&](const KernelFault& f) { return f.name == name; });
  if (!known) {
    const Unseen unseen;
    faults_.push_back({record_.kernel, name});
  }
  return planted_ && std::strcmp(planted_, name) == 0;
}

void Machine::report() { Recorder::add(record_, sites_, faults_); }

}  // namespace simt::runtime
