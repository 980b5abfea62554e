// What kernels call of wgmma: each by the lanes of a warp together.
#include <simt/runtime/machine.hpp>
#include <simt/wgmma.hpp>

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

void detail::wgmma(const GroupProduct& product, Site site) {
  struct Operands {
    GroupProduct product;
    Site site;
  } operands{product, site};
  by_warp(Kind::wgmma, site, &operands, [](Machine& m, int warp, void* const* lanes) {
    const Site of = static_cast<const Operands*>(lanes[0])->site;
    m.warpgroups().start(warp, lanes, of);
  });
}

void wgmma_fence(Registers sums, Registers factors, Site site) {
  Registers both[2] = {sums, factors};
  if (!machine().visit(Kind::wgmma_fence, site))
    by_warp(Kind::wgmma_fence, site, both,
            [](Machine& m, int warp, void* const* lanes) { m.warpgroups().fence(warp, lanes); });
}

void wgmma_commit(Site site) {
  bool silenced = machine().visit(Kind::wgmma_commit, site);
  by_warp(Kind::wgmma_commit, site, &silenced, [](Machine& m, int warp, void* const* lanes) {
    if (*static_cast<const bool*>(lanes[0]))
      m.warpgroups().abandon(warp);
    else
      m.warpgroups().commit(warp);
  });
}

void wgmma_wait(int groups, Site site) {
  GroupsToWait wanted{groups, machine().visit(Kind::wgmma_wait, site)};
  by_warp(Kind::wgmma_wait, site, &wanted, [](Machine& m, int warp, void* const* lanes) {
    const auto& of = *static_cast<const GroupsToWait*>(lanes[0]);
    if (of.silenced)
      m.warpgroups().abandon(warp);
    else
      m.warpgroups().wait(warp, of.groups);
  });
}

}  // namespace simt
