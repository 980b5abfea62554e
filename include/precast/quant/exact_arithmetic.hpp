// What makes encoders give the same bytes under every compiler and flag: between the two macros of this
// header no multiplication is fused with an addition, whatever -ffp-contract says.
//
// Without them g++ fuses by default wherever the processor can, and q5_k's bytes then differ in a quarter of
// all blocks. tests/quant compiles the encoders with -ffp-contract=fast and compares their bytes. clang++
// heeds the macros except where its command line says -ffp-contract=fast, which nothing in a source can take
// back.
#pragma once

#include <cfloat>

#if defined(__FAST_MATH__)
#error "Precast: encoders are bit-exact, which -ffast-math is not: compile this source without it"
#endif

namespace precast::quant {
static_assert(FLT_EVAL_METHOD == 0,
              "Precast: encoders are bit-exact: compile with f32 arithmetic in f32 (SSE)");
}

#if defined(__clang__)
#define PRECAST_EXACT_ARITHMETIC_BEGIN _Pragma("float_control(push)") _Pragma("clang fp contract(off)")
#define PRECAST_EXACT_ARITHMETIC_END _Pragma("float_control(pop)")
#elif defined(__CUDACC__)  // which hands the pragma to g++, and warns that it does not know it
#define PRECAST_EXACT_ARITHMETIC_BEGIN                                                       \
  _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 1675") _Pragma("GCC push_options") \
      _Pragma("GCC optimize(\"fp-contract=off\")") _Pragma("nv_diagnostic pop")
#define PRECAST_EXACT_ARITHMETIC_END _Pragma("GCC pop_options")
#else
#define PRECAST_EXACT_ARITHMETIC_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define PRECAST_EXACT_ARITHMETIC_END _Pragma("GCC pop_options")
#endif
