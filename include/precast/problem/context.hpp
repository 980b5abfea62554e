// Where ops run, on this translation unit's backend; how an op takes a Context, and a kernel its stream.
//
// An op's last parameter is a Context, by default the current one, and its first statement enters it:
//
//   template <PolicyType P, ScalarArray X>
//   void softmax_into(const X& x, ResultOf<P, Softmax> out, const Context& context = current_context()) {
//     const ContextScope scope(context);
//     const auto result = out.view();
//     ...
//   }
//
// Arrays become views inside the scope, so that its stream waits for their uploads. For this an op's output
// is a PendingView (ResultOf, GradientOf), as is each view parameter whose dtype is named. An op that only
// calls another op passes the context on.
#pragma once

#include <precast/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/context.hpp>
/// The end of a kernel's parameter list, so that both backends share the declaration: on a device the
/// stream, by default the current one.
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
