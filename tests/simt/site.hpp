// A place in a kernel's source where its threads meet, wait or order their memory: what a test may silence.
#pragma once

#include <string>

namespace simt {

/// What happens at a site.
enum class Kind {
  sync_block,
  sync_named,
  sync_warp,
  fence_block,
  fence_device,
  cp_async_commit,
  cp_async_wait,
  shuffle,
  shuffle_xor,
  shuffle_down,
  warp_ballot,
  ldmatrix,
  mma_sync,
  arrive,
  arrive_expect_tx,
  wait_parity,
  fence_async_proxy,
  wgmma,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait
};

/// The name of the function in precast/cuda/device.
const char* name_of(Kind kind);

/// A call in the source. A function that calls barriers on behalf of its caller takes a Site and passes
/// `site.part(1)`, `site.part(2)`, so that each of its barriers is one site for every call of it.
struct Site {
  const char* file = "";
  const char* function = "";
  int line = 0;
  int number = 0;

  /// The call whose defaulted argument this is.
  static constexpr Site here(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                             int line = __builtin_LINE()) {
    return {file, function, line, 0};
  }
  /// The n-th barrier of the function that was called there.
  constexpr Site part(int n) const { return {file, function, line, number * 10 + n}; }

  friend bool operator==(const Site& a, const Site& b);
};

/// "sync_block at norm.hpp:57".
std::string describe(Kind kind, const Site& site);

}  // namespace simt
