// What ops of gradients are asked beside their sizes.
#pragma once

namespace precast {

/// What becomes of a gradient of parameters that is there already.
struct GradientOptions {
  bool accumulate = false;  ///< the new gradient is added to what `out` holds, and rounded once more
};

}  // namespace precast
