// Parameters with bytes of their own: values of a file in another order or another dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::weights {

/// The parameter with `size` bytes of its own, which `fill(std::span<std::byte>)` writes. A dry run counts
/// them, and nobody reads them.
template <class Fill>
nn::Parameter with_own_bytes(nn::Parameter parameter, std::size_t size, Fill&& fill) {
  if (DryRun::active()) {
    parameter.owner = std::make_shared<DryHold>(static_cast<std::int64_t>(size));
    parameter.bytes = {parameter.bytes.data(), size};
    return parameter;
  }
  const auto own = std::make_shared<std::vector<std::byte>>(size);
  fill(std::span(*own));
  parameter.bytes = *own;
  parameter.owner = own;
  return parameter;
}

}  // namespace precast::weights
