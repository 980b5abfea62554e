// Attends: the pointer to an attention kernel whose inputs are results of ops.
#pragma once

#include <stamp.hpp>

#include <precast/problem/attention_problem.hpp>

namespace precast::kernels {

template <class In, class Out>
using Attends = Overload<void, const AttentionProblem&, HeadsView<const In>, HeadsView<const In>,
                         HeadsView<const In>, HeadsView<Out>>;

}  // namespace precast::kernels
