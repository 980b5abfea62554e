// Declarations of the kernels of gradients, for either backend; documented at the definitions. Those of
// attention are in attention_gradient_kernels.hpp.
#pragma once

#include <cstdint>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class A, class B>
void multiply(View<const A> a, View<const B> b, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class A, class B>
void multiply_over_rows(View<const A> a, View<const B> b, const GradientOptions& options,
                        View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class DY>
void sum_of_rows(View<const DY> dy, const GradientOptions& options,
                 View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class F, class DY, class A, class B>
void gated_product_gradient(View<const DY> dy, View<const A> a, View<const B> b,
                            View<typename Types::result> da,
                            View<typename Types::result> db PRECAST_ON_STREAM);
template <class Types, class DY, class X, class W, class G>
void layer_norm_gradient(View<const DY> dy, View<const X> x, View<const W> weight, f32 eps,
                         const GradientOptions& options, View<typename Types::result> dx, View<G> dweight,
                         View<G> dbias PRECAST_ON_STREAM);
template <class Types, class DY, class X, class W, class G>
void rms_norm_gradient(View<const DY> dy, View<const X> x, View<const W> weight, f32 eps,
                       const GradientOptions& options, View<typename Types::result> dx,
                       View<G> dweight PRECAST_ON_STREAM);
template <class Types, class DY>
void embedding_gradient(View<const DY> dy, std::span<const std::int32_t> ids, const GradientOptions& options,
                        View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class DY, IndexInteger Number>
void embedding_gradient(View<const DY> dy, Indices<Number> ids, const GradientOptions& options,
                        View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void cross_entropy_gradient(View<const From> logits, std::span<const std::int32_t> targets, f32 dloss,
                            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, IndexInteger Number>
void cross_entropy_gradient(View<const From> logits, UncheckedTargets<Number, BackendSpace> targets,
                            f32 dloss, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void dropout(View<const From> x, f32 probability, std::uint64_t seed, std::uint64_t offset,
             View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
