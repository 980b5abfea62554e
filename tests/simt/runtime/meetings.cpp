// Where threads wait for each other, and what they are told when they cannot meet.
#include <algorithm>
#include <bit>
#include <cstring>

#include <simt/pointer.hpp>
#include <simt/runtime/machine.hpp>

namespace simt::runtime {

namespace {

bool same_meeting(const Wait& a, const Wait& b) {
  return a.kind == b.kind && a.lanes == b.lanes && a.site == b.site;
}

PendingCopy take_first(std::deque<PendingCopy>& copies) {
  const Unseen unseen;
  const PendingCopy first = copies.front();
  copies.pop_front();
  return first;
}

}  // namespace

void Machine::meet_at_barrier(const Wait& wait) {
  Thread& self = *running_;
  Warp& warp = warp_of(self);
  const unsigned mine = bit(lane_of(self));
  Barrier& barrier = barriers_[static_cast<std::size_t>(wait.barrier)];
  for (const Meeting& meeting : warp.meetings)
    if (meeting.wait.lanes & mine)
      diverge("is at " + describe(wait.kind, wait.site) + "; other lanes of its warp wait for it at " +
              describe(meeting.wait.kind, meeting.wait.site));
  if (wait.kind == Kind::sync_block && living_ < grid_.threads)
    diverge("is at " + describe(wait.kind, wait.site) + "; " + std::to_string(grid_.threads - living_) +
            " threads of its block have left the kernel");
  if (barrier.arrived == 0) {
    barrier.wait = wait;
  } else if (wait.kind == Kind::sync_block && !(barrier.wait.site == wait.site)) {
    diverge("is at " + describe(wait.kind, wait.site) + "; other threads of its block are at " +
            describe(barrier.wait.kind, barrier.wait.site));
  } else if (barrier.wait.threads != wait.threads) {
    diverge("is at " + describe(wait.kind, wait.site) + ", which takes " + std::to_string(wait.threads) +
            " threads; others are at the same barrier with " + std::to_string(barrier.wait.threads) + ": " +
            describe(barrier.wait.kind, barrier.wait.site));
  }
  char* token = &barrier.tokens[static_cast<std::size_t>(barrier.phase)];
  sanitizer_release(token);
  self.state = State::waiting;
  self.wait = wait;
  warp.ready &= ~mine;
  warp.at_barrier |= mine;
  if (!warp.ready) ready_warps_ &= ~bit(self.index / warp_size);
  if (++barrier.arrived == wait.threads) complete(barrier, wait.barrier);
  suspend();
  sanitizer_acquire(token);
}

void Machine::complete(Barrier& barrier, int number) {
  barrier.arrived = 0;
  barrier.phase ^= 1;
  for (int t = 0; t < grid_.threads; ++t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    Warp& warp = warp_of(thread);
    const unsigned lane = bit(lane_of(thread));
    if (!(warp.at_barrier & lane) || thread.wait.barrier != number) continue;
    warp.at_barrier &= ~lane;
    wake(thread);
  }
}

void Machine::wait_to_be_woken(const Wait& wait) {
  Thread& self = *running_;
  Warp& warp = warp_of(self);
  self.state = State::waiting;
  self.wait = wait;
  warp.ready &= ~bit(lane_of(self));
  if (!warp.ready) ready_warps_ &= ~bit(self.index / warp_size);
  suspend();
}

void Machine::wake_waiting(Kind kind, int barrier) {
  for (int t = 0; t < grid_.threads; ++t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state == State::waiting && thread.wait.kind == kind && thread.wait.barrier == barrier)
      wake(thread);
  }
}

void Machine::meet_in_warp(const Wait& wait, void* operand, bool orders,
                           void (*act)(Machine&, void* const* operands)) {
  Thread& self = *running_;
  Warp& warp = warp_of(self);
  const unsigned mine = bit(lane_of(self));
  const int first = self.index - lane_of(self);
  if (!(wait.lanes & mine))
    throw BadArgument(place(), "is at " + describe(wait.kind, wait.site) + ", whose lanes leave it out");
  if (warp.finished & wait.lanes)
    diverge("is at " + describe(wait.kind, wait.site) +
            " with lanes that have left the kernel: the first is " +
            std::to_string(std::countr_zero(warp.finished & wait.lanes)));
  if (const unsigned other = warp.at_barrier & wait.lanes) {
    const Thread& thread = threads_[static_cast<std::size_t>(first + std::countr_zero(other))];
    diverge("is at " + describe(wait.kind, wait.site) + "; lane " + std::to_string(lane_of(thread)) +
            " of its warp is at " + describe(thread.wait.kind, thread.wait.site));
  }
  std::size_t place_of = warp.meetings.size();
  for (std::size_t i = 0; i < warp.meetings.size(); ++i) {
    const Meeting& meeting = warp.meetings[i];
    if (same_meeting(meeting.wait, wait))
      place_of = i;
    else if ((meeting.wait.lanes & mine) && (meeting.arrived & wait.lanes))
      diverge("is at " + describe(wait.kind, wait.site) + "; lane " +
              std::to_string(std::countr_zero(meeting.arrived & wait.lanes)) + " of its warp is at " +
              describe(meeting.wait.kind, meeting.wait.site));
  }
  if (place_of == warp.meetings.size()) {
    const Unseen unseen;
    warp.meetings.push_back({wait, 0, &warp.tokens[warp.next_token++ % warp.tokens.size()]});
  }
  Meeting& meeting = warp.meetings[place_of];
  char* token = meeting.token;
  if (orders) sanitizer_release(token);
  self.state = State::waiting;
  self.wait = wait;
  self.operand = operand;
  meeting.arrived |= mine;
  warp.ready &= ~mine;
  if (meeting.arrived == wait.lanes) {
    if (act) {
      void* operands[warp_size];
      for (int lane = 0; lane < warp_size; ++lane)
        operands[lane] = threads_[static_cast<std::size_t>(first + lane)].operand;
      act(*this, operands);
    }
    for (unsigned rest = wait.lanes; rest; rest &= rest - 1)
      threads_[static_cast<std::size_t>(first + std::countr_zero(rest))].state = State::ready;
    warp.ready |= wait.lanes;
    warp.meetings.erase(warp.meetings.begin() + static_cast<std::ptrdiff_t>(place_of));
  } else if (!warp.ready) {
    ready_warps_ &= ~bit(self.index / warp_size);
  }
  suspend();
  if (orders) sanitizer_acquire(token);
}

void Machine::land_copies(Thread& thread, std::int64_t groups) {
  while (!thread.copies.empty() && thread.copies.front().group < groups) {
    const PendingCopy copy = take_first(thread.copies);
    std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.valid));
    std::memset(static_cast<char*>(copy.to) + copy.valid, 0,
                static_cast<std::size_t>(copy.bytes - copy.valid));
    if (detail::notes_writes)
      async_proxy_.note_write(thread.index, copy.to, static_cast<std::size_t>(copy.bytes));
  }
}

std::string Machine::deadlock_message() const {
  struct Group {
    const Wait* wait;
    std::vector<int> threads;
  };
  std::vector<Group> groups;
  for (int t = 0; t < grid_.threads; ++t) {
    const Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != State::waiting) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return same_meeting(*group.wait, thread.wait) && group.wait->barrier == thread.wait.barrier;
    });
    if (same == groups.end())
      groups.push_back({&thread.wait, {t}});
    else
      same->threads.push_back(t);
  }
  std::string message = "deadlock:";
  for (const Group& group : groups) {
    message += group.threads.size() == 1 ? " thread " : " threads ";
    for (std::size_t i = 0; i < group.threads.size();) {
      std::size_t last = i;
      while (last + 1 < group.threads.size() && group.threads[last + 1] == group.threads[last] + 1) ++last;
      if (i > 0) message += ", ";
      message += std::to_string(group.threads[i]);
      if (last > i) message.append("-").append(std::to_string(group.threads[last]));
      i = last + 1;
    }
    message += " at " + describe(group.wait->kind, group.wait->site);
    if (group.wait->kind == Kind::sync_named)
      message += " (barrier " + std::to_string(group.wait->barrier) + ", which takes " +
                 std::to_string(group.wait->threads) + " threads)";
    if (group.wait->kind == Kind::wait_parity)
      message +=
          " (the " + bulk_copies_.describe_barrier(static_cast<std::size_t>(group.wait->barrier)) + ")";
    message += ";";
  }
  message.back() = '.';
  return message;
}

}  // namespace simt::runtime
