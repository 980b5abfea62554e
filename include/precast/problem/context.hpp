// Where ops run, on this translation unit's backend; how an op takes a Context, and a kernel its stream.
//
// An op takes one last, the current one unless the caller says otherwise, and begins with its scope:
//
//   template <PolicyType P, ScalarArray X>
//   void softmax_into(const X& x, ResultOf<P, Softmax> out, const Context& context = current_context()) {
//     const ContextScope scope(context);
//     const auto result = out.view();
//     ...
//   }
//
// Tensors become views behind it: in the stream that then waits for what was uploaded to them. That is why
// what an op writes into is a PendingView (ResultOf, GradientOf), as is each view that it names the dtype of.
// What only calls another op passes the context on.
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
using backend::ContextScope;
using backend::current_context;
using backend::with_context;

}  // namespace PRECAST_BACKEND

}  // namespace precast
