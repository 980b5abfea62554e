// The products that linear layers call, for one dtype of x, and those that convolutions of single pixels
// call.
#pragma once

#include <string_view>

#include <stamp.hpp>

#include <precast/backend/matmul.hpp>

#if !PRECAST_BACKEND_IS_CUDA
namespace precast::host {
// In block_decoders.cpp.
extern template BlockGemv<f32> block_gemv_for<f32>(std::string_view format);
extern template BlockGemv<bf16> block_gemv_for<bf16>(std::string_view format);
}  // namespace precast::host
#endif

namespace precast::kernels {

template <class Types, class X>
constexpr auto product =
    Overload<void, View<const X>, const backend::PackedWeight<typename Types::storage>&, const Epilogue&,
             View<typename Types::result>>(&backend::matmul_transposed<Types, X>);

}  // namespace precast::kernels
