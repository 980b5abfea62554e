// Declarations of the kernels of norms, for either backend; documented at the definitions.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class From, class W>
void layer_norm(View<const From> x, const Affine<W>& affine, f32 eps,
                View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, class W>
void rms_norm(View<const From> x, View<const W> scale, f32 eps,
              View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, class W>
void group_norm(View<const From> x, std::int64_t groups, View<const W> scale, View<const W> shift, f32 eps,
                ActivationFunction activation, View<typename Types::result> out PRECAST_ON_STREAM);
template <class From>
void group_moments(View<const From> x, std::int64_t groups, f32 eps, View<f32> moments PRECAST_ON_STREAM);
template <class Types, class From, class W>
void group_norm_with(View<const From> x, View<const f32> moments, View<const W> scale, View<const W> shift,
                     ActivationFunction activation, View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
