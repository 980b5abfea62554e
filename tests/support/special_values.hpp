// Values that are not finite, in every dtype that has them.
#pragma once

#include <limits>

namespace precast::testing {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace precast::testing
