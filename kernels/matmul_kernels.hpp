// The products that linear layers call, for one dtype of x; those of single pixels of a convolution among
// them.
#pragma once

#include <stamp.hpp>

#include <precast/backend/matmul.hpp>

namespace precast::kernels {

template <class Types, class X>
constexpr auto product =
    Overload<void, View<const X>, const backend::PackedWeight<typename Types::storage>&, const Epilogue&,
             View<typename Types::result>>(&backend::matmul_transposed<Types, X>);

}  // namespace precast::kernels
