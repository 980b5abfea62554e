// The products that a block's warpgroups have started: when they read their matrices, and when their sums are
// there.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <simt/warpgroup_matrix.hpp>

namespace simt::runtime {

class Machine;

class Warpgroups {
 public:
  explicit Warpgroups(Machine& machine) : machine_(machine) {}

  void start_block(int warps);
  /// Throws where products are under way, or where the warps of a warpgroup have started different numbers of
  /// them.
  void end_block() const;

  // Each by a whole warp, which has met.
  void fence(int warp) { warps_[static_cast<std::size_t>(warp)].fenced = true; }
  void start(int warp, void* const* lanes, const Site& site);
  void commit(int warp);
  /// Lands all but the last `groups` groups.
  void wait(int warp, int groups);
  /// What happens to products that a silenced site would have looked after: their sums stay unknown.
  void abandon(int warp);

 private:
  /// Sums that products will write: what they are so far, by lane.
  struct Pending {
    std::array<float*, 32> place{};
    int count = 0;
    std::vector<float> values;
    int products = 0;
  };
  struct Product {
    detail::GroupProduct of;
    std::array<std::array<std::uint32_t, 4>, 32> words{};
    std::list<Pending>::iterator sums;
    std::int64_t group = 0;
    bool fenced = false, computed = false;
  };
  struct Warp {
    std::list<Pending> pending;
    std::vector<Product> products;
    std::int64_t groups = 0;
    bool fenced = false;
    std::size_t started = 0;
  };
  /// What the warps of a warpgroup must have in common.
  struct Started {
    Site site;
    detail::GroupProduct of;
  };

  void check_company(int warp, void* const* lanes, const Site& site);
  std::list<Pending>::iterator sums_of(Warp& warp, void* const* lanes);
  void compute(int warp, Product& product);
  void land(Pending& pending);
  double value_of(detail::Operand type, std::uint64_t matrix, bool transposed, int row, int depth) const;

  Machine& machine_;
  std::vector<Warp> warps_;
  std::vector<std::vector<Started>> started_;  // by warpgroup
};

}  // namespace simt::runtime
