// What kernels call of wgmma: each by the lanes of a warp together.
#include <simt/runtime/machine.hpp>
#include <simt/warpgroup_matrix.hpp>

namespace simt {

using runtime::machine;
using runtime::Machine;

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

/// What the lanes of a warp do together; each of the three is one act for the whole warp.
template <class Act>
void by_warp(Kind kind, Site site, void* operand, Act) {
  machine().meet_in_warp(
      {kind, site, all_lanes, 0, 0}, operand, false,
      [](Machine& m, void* const* operands) { Act{}(m, m.thread().index / runtime::warp_size, operands); });
}

struct GroupsToWait {
  int groups;
  bool silenced;
};

}  // namespace

void detail::multiply_group(const GroupProduct& product, Site site) {
  struct Operands {
    GroupProduct product;
    Site site;
  } operands{product, site};
  by_warp(Kind::multiply_group, site, &operands, [](Machine& m, int warp, void* const* lanes) {
    const Site of = static_cast<const Operands*>(lanes[0])->site;
    m.warpgroups().start(warp, lanes, of);
  });
}

void fence_products(Registers sums, Registers factors, Site site) {
  Registers both[2] = {sums, factors};
  if (!machine().visit(Kind::fence_products, site))
    by_warp(Kind::fence_products, site, both,
            [](Machine& m, int warp, void* const* lanes) { m.warpgroups().fence(warp, lanes); });
}

void commit_products(Site site) {
  bool silenced = machine().visit(Kind::commit_products, site);
  by_warp(Kind::commit_products, site, &silenced, [](Machine& m, int warp, void* const* lanes) {
    if (*static_cast<const bool*>(lanes[0]))
      m.warpgroups().abandon(warp);
    else
      m.warpgroups().commit(warp);
  });
}

void wait_products(int groups, Site site) {
  GroupsToWait wanted{groups, machine().visit(Kind::wait_products, site)};
  by_warp(Kind::wait_products, site, &wanted, [](Machine& m, int warp, void* const* lanes) {
    const auto& of = *static_cast<const GroupsToWait*>(lanes[0]);
    if (of.silenced)
      m.warpgroups().abandon(warp);
    else
      m.warpgroups().wait(warp, of.groups);
  });
}

}  // namespace simt
