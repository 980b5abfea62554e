// Products of f32 and a weight of at most eight significant bits by the library: each row as the sum of three
// bf16, which hold all bits of a value from 2^-110 on. bf16 ends at 2^-133, and f32 at 2^-149.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/multiply_by_library.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/matmul/product_additions.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Whether rows of X are multiplied in parts: f32 by a weight whose values bf16 holds, where the policy
/// says f32. No operand loses more than 2^-133, and an H200 multiplies bf16 at fourteen times the rate of
/// f32. An infinite weight gives NaN, where f32 gives infinity, if a part of the value that it meets is 0.
template <class Types, class X>
inline constexpr bool multiplies_in_parts = [] {
  if constexpr (ScalarDtype<typename Types::storage>)
    return std::is_same_v<X, f32> && std::is_same_v<typename Types::operand, f32> &&
           std::is_same_v<typename Types::accumulate, f32> && std::is_same_v<typename Types::result, f32> &&
           !Types::saturate && widens_exactly<bf16, typename Types::storage>;
  return false;
}();

/// Part `Part` of an f32: its first eight significant bits, the next eight, or the last. A value that is
/// not finite has only its first part.
template <int Part>
struct PartOfValue {
  PRECAST_DEVICE bf16 operator()(f32 value) const {
    if (!is_finite(value)) return round_to<bf16>(Part == 0 ? value : 0.0f);
    f32 rest = value;
    PRECAST_UNROLL
    for (int part = 0; part < Part; ++part) rest -= planted<"part of a row">(truncated_to_bf16(rest), 0.0f);
    return round_to<bf16>(truncated_to_bf16(rest));
  }
};

/// Starts the products and returns true, or returns false where the product is left to the library or to
/// another kernel. Activations follow in a pass of their own.
template <class Types, class X>
bool multiply_in_parts(const DeviceView<const X>& x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, const ProductAdditions<typename Types::result>& additions,
                       const DeviceView<typename Types::result>& out, Stream stream) {
  if constexpr (multiplies_in_parts<Types, X>) {
    using Features = LibraryOperands<bf16, typename Types::storage>;
    const auto& library = library_in_use<ProductLibrary>();
    const auto& [residual, scales] = additions;
    const bool activates = epilogue.activate != ActivationFunction::none,
               has_residual = residual.data() != nullptr;
    if (x.columns() == 0 || scales.any() || (activates && has_residual)) return false;
    if (!rows_begin_on_16_bytes(epilogue.bias)) return false;
    // The smallest part first, which so loses nothing to a larger sum. The others are added to `out`.
    ProductRequest products[3]{{.operand = LibraryDtype::bf16,
                                .result = LibraryDtype::f32,
                                .rows = out.rows(),
                                .features = out.columns(),
                                .columns = x.columns(),
                                .x = LibraryOperands<bf16, X>::described(x),
                                .weight = Features::described(weight.view()),
                                .out = product_matrix(out),
                                .has_residual = has_residual,
                                .residual = product_matrix(residual)}};
    products[1] = products[0];
    products[1].has_residual = true;
    products[1].residual = product_matrix(DeviceView<const f32>(out));
    products[2] = products[1];
    products[2].has_bias = epilogue.bias.elements() != 0;
    products[2].bias = epilogue.bias.data();
    for (const ProductRequest& product : products)
      if (!library.takes(product)) return false;
    const Features features(weight.view(), stream);
    const StreamScope scope(stream);  // of the memory of a part
    Tensor<bf16, DeviceMemory> memory(Shape{x.rows(), products[0].x.rows.stride});
    const DeviceView<bf16> part = memory.view().columns_between(0, x.columns());
    const auto add_part = [&]<int number>(std::integral_constant<int, number>) {
      detail::map_arrays("part_of_rows", PartOfValue<number>{}, part, stream, x);
      ProductRequest& product = products[2 - number];
      product.x = product_matrix(DeviceView<const bf16>(part));
      product.weight = features.matrix();
      return start_product(library, product, stream);
    };
    if (!add_part(std::integral_constant<int, 2>{})) return false;
    if (!add_part(std::integral_constant<int, 1>{}) || !add_part(std::integral_constant<int, 0>{})) {
      if (residual.data() != out.data()) return false;  // another kernel writes all of it again
      throw Error("cuBLASLt added one part of a product to its result, and has no code to add the next");
    }
    if (activates && !DryRun::active()) activate_in_place(epilogue.activate, out, stream);
    return true;
  } else {
    return false;
  }
}

}  // namespace precast::gpu
