// Where ops run, on this translation unit's backend; and how an op takes a Context.
//
// An op is written once, for the current context. The overload that takes one first passes all else on:
//
//   template <PolicyType P, class... Arguments>
//   auto softmax(const Context& context, const Arguments&... arguments) {
//     return with_context(context, [&] { return softmax<P>(arguments...); });
//   }
//
// An op with options in braces (attention, conv2d) spells its parameters out.
#pragma once

#include <precast/backend.hpp>

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
