// Declarations of the kernels that gather values, for either backend; documented at the definitions.
#pragma once

#include <cstdint>
#include <span>

#include <precast/problem/context.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void embedding(View<const From> table, std::span<const std::int32_t> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, BackendSpace> table, std::span<const std::int32_t> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, IndexInteger Number>
void embedding(View<const From> table, Indices<Number> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, BlockDtype From, IndexInteger Number>
void embedding(BlockViewIn<const From, BackendSpace> table, Indices<Number> ids,
               View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void upsample_nearest(View<const From> x, std::int64_t factor,
                      View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
