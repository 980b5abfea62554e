// Which of several ranks says why their job ended.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <cluster/reporter_election.hpp>
#include <sys/resource.h>

#include "ranks.hpp"

using precast::cluster::ReporterElection, precast::cluster::sum;

namespace {

/// A rank that is a thread, and gets what another sends.
class Rank final : public precast::cluster::Communicator {
 public:
  Rank(ranks::ThreadRank& thread, std::vector<std::byte>& sent) : thread_(&thread), sent_(&sent) {}
  int rank() const override { return thread_->rank(); }
  int size() const override { return thread_->size(); }
  Ticket start_sum(void* values, std::int64_t count, precast::cluster::SumDtype dtype) override {
    return thread_->start_sum(values, count, dtype);
  }
  void wait(Ticket ticket) override { thread_->wait(ticket); }
  double seconds_of(Ticket ticket) const override { return thread_->seconds_of(ticket); }
  void broadcast(std::span<std::byte> bytes, int from) override {
    if (rank() == from) sent_->assign(bytes.begin(), bytes.end());
    sum(*this, 0);
    std::ranges::copy(*sent_, bytes.begin());
  }

 private:
  ranks::ThreadRank* thread_;
  std::vector<std::byte>* sent_;
};

/// Calls `body(rank, its last election)` for each of so many ranks, which begin and end it together.
template <class Body>
void run_elections(int size, Body&& body) {
  std::vector<std::byte> sent;
  ranks::run_ranks(size, [&](ranks::ThreadRank& thread) {
    Rank rank(thread, sent);
    ReporterElection election(rank);
    body(rank, election);
    sum(rank, 0);
  });
}

/// Lets no file grow while it lives, as where /dev/shm is full.
class FullDisk {
 public:
  FullDisk() : ignored_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, ignored_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*ignored_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("of ranks that all find the same error one says it, where memory is full, too") {
  for (int run = 0; run < 20; ++run) {
    std::vector<int> reports(4);
    {
      const FullDisk disk;
      run_elections(4, [&](Rank& rank, ReporterElection& election) {
        reports[static_cast<std::size_t>(rank.rank())] = election.is_elected(false);
      });
    }
    CHECK(std::ranges::count(reports, 1) == 1);
  }
}

TEST_CASE("of ranks that were stopped because of another the first speaks, once") {
  std::vector<int> reports(3), again(3);
  run_elections(3, [&](Rank& rank, ReporterElection& election) {
    const auto place = static_cast<std::size_t>(rank.rank());
    reports[place] = election.is_elected(true);
    sum(rank, 0);
    again[place] = election.is_elected(true);
  });
  CHECK(reports == std::vector<int>{1, 0, 0});
  CHECK(again == std::vector<int>{0, 0, 0});
}
