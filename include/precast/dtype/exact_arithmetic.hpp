// Between the two macros of this header no multiplication is fused with an addition, whatever -ffp-contract
// says: a value is rounded where the op table says so, also in a program that only includes headers.
//
// Without them g++ fuses by default wherever the processor can. An inlined function is compiled as its
// caller is: a function between the macros must not be inlined ([[gnu::noinline]]) into code outside of
// them. clang++ honours the macros except where its command line has -ffp-contract=fast, which nothing in a
// source can undo.
#pragma once

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
