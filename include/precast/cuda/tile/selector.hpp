// How kernels get their tiles. A kernel takes a selector, a type S with S::tile(Architecture), and asks it
// for the architecture that it is compiled for: each architecture's code holds its own tile and no other. The
// host asks the same selector for the architecture of the code that the device runs.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <precast/cuda/device/capability.hpp>
#include <precast/cuda/tile/architecture.hpp>

namespace precast::gpu {

/// The architecture that a kernel is compiled for.
inline constexpr Architecture compiled_architecture = closest_architecture(compiled_capability);

/// The architecture of the current device; in the emulator sm_80, unless another is set.
inline Architecture current_architecture() { return closest_architecture(device_capability()); }

/// The tile of a kernel that takes `Selector`, in the code that the current device runs. Throws Error where
/// the device runs none of the kernel's code.
template <class Selector, class... Parameters>
auto tile_in_code(void (*kernel)(Parameters...)) {
  return Selector::tile(closest_architecture(capability_of_code(reinterpret_cast<const void*>(kernel))));
}

/// Selects one tile on every architecture: what the emulator's kernels take, which are compiled once for all.
template <auto chosen>
struct FixedTile {
  static PRECAST_HOST_DEVICE_CONSTEXPR auto tile(Architecture) { return chosen; }
};

/// Calls `function` with the architecture as a std::integral_constant.
template <class F>
void visit_architecture(Architecture architecture, F&& function) {
  const auto call_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr Architecture known = all_architectures[I];
    if (architecture == known) function(std::integral_constant<Architecture, known>{});
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (call_if(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<all_architectures.size()>{});
}

/// Calls `function` with the selectors that kernels take: `Selectors`, or in the emulator FixedTile of the
/// tiles that they select for `architecture`.
template <class... Selectors, class F>
void visit_selectors([[maybe_unused]] Architecture architecture, F&& function) {
#if PRECAST_ON_DEVICE
  function(Selectors{}...);
#else
  visit_architecture(architecture, [&](auto known) { function(FixedTile<Selectors::tile(known())>{}...); });
#endif
}

}  // namespace precast::gpu
