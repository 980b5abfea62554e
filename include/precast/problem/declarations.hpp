// What ops call, as either backend's kernels are declared: in the namespace of this unit's backend, and on a
// device with a stream behind the other parameters. Each kernel is documented where it is defined, in the
// header of its op.
#pragma once

#include <cstdint>
#include <span>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/attention_choice.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/as_view.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/stream.hpp>
#define PRECAST_ON_STREAM , Stream stream = current_stream()
#else
#define PRECAST_ON_STREAM
#endif

namespace precast::PRECAST_KERNELS {

template <Dtype Storage>
class PackedWeight;

template <class Types, class X>
void matmul_transposed(View<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class X>
void conv(View<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, View<typename Types::result> out PRECAST_ON_STREAM);
template <ScalarDtype T>
void transpose(View<const T> from, View<T> to PRECAST_ON_STREAM);

template <class Types, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                     HeadsView<const V> v, HeadsView<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class Choice = EveryAttention, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, HeadsView<const Q> q, HeadsView<const K> k,
                     HeadsView<const V> v, HeadsView<typename Types::result> out PRECAST_ON_STREAM);
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, HeadsView<const Q> q,
                  HeadsView<const K> k PRECAST_ON_STREAM);

template <class Types, class From, class W>
void layer_norm(View<const From> x, const Affine<W>& affine, f32 eps,
                View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, class W>
void rms_norm(View<const From> x, View<const W> scale, f32 eps,
              View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, class W>
void group_norm(View<const From> x, std::int64_t groups, View<const W> scale, View<const W> shift, f32 eps,
                Activate activation, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void softmax(View<const From> x, View<typename Types::result> out PRECAST_ON_STREAM);

template <class Types, class From>
void rotary(View<const From> x, View<const f32> cos, View<const f32> sin,
            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types>
void timestep_embedding(View<const f32> times, View<typename Types::result> out PRECAST_ON_STREAM);

template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, View<To> to PRECAST_ON_STREAM);
template <class Types, class F, class... In>
void map_values(View<typename Types::result> out, const F& function, const In&... in);
template <class Types, class From>
void copy_values(View<const From> x, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void embedding(View<const From> table, std::span<const std::int32_t> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, BackendSpace> table, std::span<const std::int32_t> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void upsample_nearest(View<const From> x, std::int64_t factor,
                      View<typename Types::result> out PRECAST_ON_STREAM);

template <ScalarDtype T>
Extremes extremes_of(View<const T> x PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
