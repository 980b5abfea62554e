// CastTarget: the parameters that are cast together, and what one such cast takes in bits and loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <families/blocks.hpp>

namespace precast::casting {

/// Parameters of one block, under the name that they share.
struct CastTarget {
  std::string name;
  std::vector<families::BlockParameter> parameters;

  /// The number of their values.
  std::int64_t count() const;
};

/// The targets of a block, which are cast one after another.
std::vector<CastTarget> targets_of(const families::Block& block, const CostSettings& settings);

/// A target after a cast.
struct TargetCast {
  double bits = 0;                 ///< per value, scales of blocks included
  std::optional<double> estimate;  ///< LossEstimate, where the settings have the importance
};

/// Casts a target of a block in `source` to a type, or takes it from the settings' patch where the type is
/// the patch's. Throws what CastSource does.
TargetCast cast_target(CastSource& source, const families::Block& block, const CastTarget& target,
                       const std::string& type, const CostSettings& settings);

}  // namespace precast::casting
