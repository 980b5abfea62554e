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
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

template <class Types, class X>
void matmul_transposed(DeviceView<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, DeviceView<typename Types::result> out,
                       Stream stream = current_stream());
template <class Types, class X>
void conv(DeviceView<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, DeviceView<typename Types::result> out, Stream stream = current_stream());
template <ScalarDtype T>
void transpose(DeviceView<const T> from, DeviceView<T> to, Stream stream = current_stream());

template <class Types, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, DeviceView<const Q> q, DeviceView<const K> k,
                     DeviceView<const V> v, DeviceView<typename Types::result> out,
                     Stream stream = current_stream());
template <class Types, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, DeviceView<const Q> q, DeviceView<const K> k,
                     DeviceView<const V> v, DeviceView<typename Types::result> out,
                     Stream stream = current_stream());
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, DeviceView<const Q> q, DeviceView<const K> k,
                  Stream stream = current_stream());

template <class Types, class From>
void layer_norm(DeviceView<const From> x, const Affine& affine, f32 eps,
                DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types, class From>
void rms_norm(DeviceView<const From> x, DeviceView<const f32> scale, f32 eps,
              DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types, class From>
void group_norm(DeviceView<const From> x, std::int64_t groups, DeviceView<const f32> scale,
                DeviceView<const f32> shift, f32 eps, Activate activation,
                DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types, class From>
void softmax(DeviceView<const From> x, DeviceView<typename Types::result> out,
             Stream stream = current_stream());

template <class Types, class From>
void rotary(DeviceView<const From> x, DeviceView<const f32> cos, DeviceView<const f32> sin,
            DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types>
void timestep_embedding(DeviceView<const f32> times, DeviceView<typename Types::result> out,
                        Stream stream = current_stream());

template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, DeviceView<To> to, Stream stream = current_stream());
template <bool Saturates, class T, class F, class... In>
void map_values(DeviceView<T> out, const F& function, const In&... in);
template <class Types, class From>
void embedding(DeviceView<const From> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, DeviceSpace> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream = current_stream());
template <class Types, class From>
void upsample_nearest(DeviceView<const From> x, std::int64_t factor, DeviceView<typename Types::result> out,
                      Stream stream = current_stream());

template <ScalarDtype T>
Extremes extremes_of(DeviceView<const T> x, Stream stream = current_stream());

}  // namespace precast::cuda
