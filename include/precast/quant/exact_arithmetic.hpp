// Makes encoders write the same bytes under every compiler and flag: includes the macros of
// dtype/exact_arithmetic.hpp, and rejects flags that these cannot override.
//
// Where products are fused with sums, q5_k's bytes differ in a quarter of all blocks. tests/quant compiles
// the encoders with -ffp-contract=fast and compares their bytes.
#pragma once

#include <cfloat>

#include <precast/dtype/exact_arithmetic.hpp>

#if defined(__FAST_MATH__)
#error "Precast: encoders are bit-exact, which -ffast-math is not: compile this source without it"
#endif

namespace precast::quant {
static_assert(FLT_EVAL_METHOD == 0,
              "Precast: encoders are bit-exact: compile with f32 arithmetic in f32 (SSE)");
}
