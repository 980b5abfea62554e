// What ops call on a device, under the names and signatures that the host's kernels have and with a stream
// behind them; each is documented where it is defined, in the header of its op. A host compiler that compiles
// models (PRECAST_USE_CUDA) sees the declarations alone: what it calls, and no unit of nvcc's instantiates,
// is an undefined reference.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/as_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

template <class Types, class X>
void matmul_transposed(View<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, View<typename Types::result> out,
                       Stream stream = current_stream());
template <class Types, class X>
void conv(View<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, View<typename Types::result> out, Stream stream = current_stream());
template <ScalarDtype T>
void transpose(View<const T> from, View<T> to, Stream stream = current_stream());

template <class Types, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, View<const Q> q, View<const K> k, View<const V> v,
                     View<typename Types::result> out, Stream stream = current_stream());
template <class Types, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, View<const Q> q, View<const K> k, View<const V> v,
                     View<typename Types::result> out, Stream stream = current_stream());
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, View<const Q> q, View<const K> k,
                  Stream stream = current_stream());

template <class Types, class From>
void layer_norm(View<const From> x, const Affine& affine, f32 eps, View<typename Types::result> out,
                Stream stream = current_stream());
template <class Types, class From>
void rms_norm(View<const From> x, View<const f32> scale, f32 eps, View<typename Types::result> out,
              Stream stream = current_stream());
template <class Types, class From>
void group_norm(View<const From> x, std::int64_t groups, View<const f32> scale, View<const f32> shift,
                f32 eps, Activate activation, View<typename Types::result> out,
                Stream stream = current_stream());
template <class Types, class From>
void softmax(View<const From> x, View<typename Types::result> out, Stream stream = current_stream());

template <class Types, class From>
void rotary(View<const From> x, View<const f32> cos, View<const f32> sin, View<typename Types::result> out,
            Stream stream = current_stream());
template <class Types>
void timestep_embedding(std::span<const f32> times, View<typename Types::result> out,
                        Stream stream = current_stream());

template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, View<To> to, Stream stream = current_stream());
template <bool Saturates, class T, class F, class... In>
void map_values(View<T> out, const F& function, const In&... in);
template <class Types, class From>
void embedding(View<const From> table, std::span<const std::int32_t> ids, View<typename Types::result> out,
               Stream stream = current_stream());
template <class Types, class From>
void upsample_nearest(View<const From> x, std::int64_t factor, View<typename Types::result> out,
                      Stream stream = current_stream());

template <ScalarDtype T>
Extremes extremes_of(View<const T> x, Stream stream = current_stream());

}  // namespace precast::cuda
