// Where ops run, on this translation unit's backend; and how an op takes a Context.
//
// An op is written once, for the current context. The overload that takes one first is this, with the op's
// own parameters in their order, so that braces work for its options:
//
//   template <PolicyType P, ScalarArray A, ScalarArray B>
//   auto matmul(const Context& context, const A& a, const B& b) {
//     return with_context(context, [&] { return matmul<P>(a, b); });
//   }
#pragma once

#include <precast/backend/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/context.hpp>
#else
#include <precast/host/context.hpp>
#endif

namespace precast {

inline namespace PRECAST_BACKEND {

using backend::Context;
using backend::current_context;
using backend::with_context;

}  // namespace PRECAST_BACKEND

}  // namespace precast
