// Where ops run, on this translation unit's backend; how an op takes a Context, and a kernel its stream.
//
// An op is written once, for the current context. The overload that takes one first passes all else on:
//
//   template <PolicyType P, class... Arguments>
//   auto softmax(const Context& context, const Arguments&... arguments) {
//     return with_context(context, [&] { return softmax<P>(arguments...); });
//   }
//
// One that writes into a view takes `Arguments&&...`, since what it is given to write into may be a tensor.
// An op whose options may be written in braces (attention, norms, gradients) spells its parameters out, and
// takes what it writes into as `Out&&`. Tensors become views inside with_context: in the stream that then
// waits for what was uploaded to them.
#pragma once

#include <precast/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/context.hpp>
/// How declarations of kernels end, which are the same text for both backends: on a device with the stream,
/// the current one unless the caller says otherwise.
#define PRECAST_ON_STREAM , Stream stream = current_stream()
#else
#include <precast/problem/host_context.hpp>
#define PRECAST_ON_STREAM
#endif

namespace precast {

inline namespace PRECAST_BACKEND {

using backend::Context;
using backend::current_context;
using backend::with_context;

}  // namespace PRECAST_BACKEND

}  // namespace precast
