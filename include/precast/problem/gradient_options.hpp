// Options of gradient ops besides their sizes.
#pragma once

namespace precast {

/// Whether a gradient of parameters overwrites its output or is added to it.
struct GradientOptions {
  bool accumulate = false;  ///< the new gradient is added to what `out` holds, and rounded once more
};

}  // namespace precast
