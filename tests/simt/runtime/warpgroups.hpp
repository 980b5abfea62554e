// The products that a block's warpgroups have started: when they read their matrices, and when their sums are
// there.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <simt/wgmma.hpp>

namespace simt::runtime {

class Machine;

class Warpgroups {
 public:
  explicit Warpgroups(Machine& machine) : machine_(machine) {}

  void start_block(int warps);
  /// Throws where products are in flight, or where the warps of a warpgroup have started different numbers of
  /// them.
  void end_block() const;

  // Each by a whole warp, which has met.
  /// `lanes`: two Registers of each.
  void fence(int warp, void* const* lanes);
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
    bool are_fenced = false;
  };
  struct Product {
    detail::GroupProduct of;
    std::array<std::array<std::uint32_t, 4>, 32> words{};
    std::list<Pending>::iterator sums;
    std::int64_t group = 0;
    bool is_fenced = false, computed = false;
  };
  /// Registers as they were at a fence, of all lanes.
  struct Fenced {
    std::array<const char*, 32> first{};
    std::vector<char> bytes;  ///< of one lane after the other
  };
  struct Warp {
    std::list<Pending> pending;
    std::vector<Product> products;
    std::vector<Fenced> fenced;
    std::int64_t groups = 0;
    std::size_t started = 0;
    bool reads_at_once = false;  ///< the products of the open group do, and all before them
  };
  /// What the warps of a warpgroup must have in common.
  struct Started {
    Site site;
    detail::GroupProduct of;
  };

  void check_company(int warp, void* const* lanes, const Site& site);
  static bool are_fenced(const Warp& warp, const std::array<const void*, 32>& first, int count);
  std::list<Pending>::iterator sums_of(Warp& warp, void* const* lanes);
  void compute(int warp, Product& product);
  void land(Pending& pending);
  double value_of(detail::Operand type, std::uint64_t matrix, bool transposed, int row, int depth) const;

  Machine& machine_;
  std::vector<Warp> warps_;
  std::vector<std::vector<Started>> started_;  // by warpgroup
};

}  // namespace simt::runtime
