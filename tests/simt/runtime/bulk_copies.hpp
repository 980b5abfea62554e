// A block's barriers that count arrivals and bytes, and the copies that they wait for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <simt/site.hpp>
#include <simt/tma_load.hpp>

namespace simt::runtime {

class Machine;

struct PhasedBarrier {
  int arrivals = 0;        ///< that a phase takes
  int pending = 0;         ///< that the running one still takes
  std::int64_t bytes = 0;  ///< announced and not landed; below 0 where copies landed first
  std::int64_t phase = 0;  ///< how many are complete
  int made_by = 0;         ///< the thread
  bool seen_by_copies = false;
  char token = 0;  ///< for sanitizer_release
};

class BulkCopies {
 public:
  explicit BulkCopies(Machine& machine) : machine_(machine) {}

  void start_block();
  /// Throws Unfinished where a copy is in flight.
  void end_block() const;

  void init(const void* at, int arrivals);
  void arrive(const void* at, int bytes, const std::string& doing);
  void wait(const void* at, int parity, const Site& site);
  /// A thread's fence: copies see the barriers that it has made.
  void fence(int thread);
  void start(const TensorMap& from, const std::array<int, 4>& at, const void* to, const void* barrier);
  /// Lands one of the copies in flight, any of them; false where there is none.
  bool land_one();
  /// "barrier at byte 64, in phase 2, which waits for 1 arrival and 512 bytes".
  std::string describe_barrier(std::size_t offset) const;

 private:
  struct Copy {
    TensorMap from;
    std::array<int, 4> at;
    std::size_t to, barrier;
  };
  PhasedBarrier& barrier(const void* at, const std::string& doing);
  void land(const Copy& copy);
  void end_phase_if_complete(std::size_t offset, PhasedBarrier& barrier);

  Machine& machine_;
  std::map<std::size_t, PhasedBarrier> barriers_;  // by their place
  std::vector<Copy> under_way_;
};

}  // namespace simt::runtime
