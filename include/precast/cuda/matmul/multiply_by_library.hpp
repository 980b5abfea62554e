// The products that the library multiplies, and the requests for them.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/matmul/product_additions.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/matmul/product_types.hpp>
#include <precast/cuda/pointwise/map_values.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/cuda/runtime/workspace.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// The rows of a weight where they are stored as operands of the library; else no rows.
template <class Types>
DeviceView<const typename Types::storage> operands_held(const PackedWeight<typename Types::storage>& weight) {
  if constexpr (holds_weight_in_tf32<Types>)
    return weight.in_tf32();
  else if constexpr (library_takes_weight<Types>)
    return weight.view();
  else
    return {};
}

/// Applies an activation to each result in place.
inline void activate_in_place(ActivationFunction activate, const DeviceView<f32>& results, Stream stream) {
  elementwise::visit_activation(activate, [&]<class F>(F function) {
    detail::map_arrays("activate", detail::InF32<f32, false, F>{function}, results, stream,
                       DeviceView<const f32>(results));
  });
}

/// Starts a product whose operands are set, in the stream's workspace; returns false where the library has
/// no code for it after all. In a dry run nothing starts.
inline bool start_product(const ProductLibrary& library, ProductRequest product, Stream stream) {
  if (DryRun* const dry = DryRun::active()) {
    dry->kept<Workspace>(static_cast<std::int64_t>(library.workspace_bytes), DryRun::Counts::device_memory);
    return true;
  }
  // Held until the product has started: another thread may end the stream's resources.
  const auto workspace = resource_of<Workspace>(stream);
  product.workspace = workspace->of(library.workspace_bytes);
  product.workspace_bytes = library.workspace_bytes;
  return library.multiply(product, stream);
}

/// Starts the product, of operands that are exact in less where they are (`ExactTypes`), and returns true, or
/// returns false where it is ours. The library has bias, gelu (tanh) and a residual in its own epilogue. Its
/// gelu is a few parts in a million off, which only results in f32 of operands that a policy has in f32 let
/// one see. Other activations of results in f32 follow in a pass of their own, before which nothing was
/// rounded; of narrower results our tiled kernel does them in the same pass.
template <class Types, class X>
bool multiply_by_library(const DeviceView<const X>& x, const PackedWeight<typename Types::storage>& weight,
                         const Epilogue& epilogue, const ProductAdditions<typename Types::result>& additions,
                         const DeviceView<typename Types::result>& out, Stream stream) {
  using Multiplied = ExactTypes<Types, X>;
  if constexpr (library_has_dtypes<Multiplied>) {
    using Operand = typename Multiplied::operand;
    using Result = typename Types::result;
    using Storage = typename Types::storage;
    const auto& library = library_in_use<ProductLibrary>();
    const auto& [residual, scales] = additions;
    const bool has_residual = residual.data() != nullptr, has_bias = epilogue.bias.elements() != 0,
               activates = epilogue.activate != ActivationFunction::none,
               gelu = epilogue.activate == ActivationFunction::gelu_tanh &&
                      !(std::is_same_v<typename Types::operand, f32> && std::is_same_v<Result, f32>);
    if (x.columns() == 0) return false;
    if (!library_takes_weight<Multiplied> && out.rows() < least_rows_of_rounded_weight) return false;
    if (!library_takes_bias<Multiplied> && has_bias) return false;
    if (scales.any() && !std::is_same_v<Operand, fp8_e4m3>) return false;
    if (activates && (has_residual || (!gelu && !std::is_same_v<Result, f32>))) return false;
    const Result* const held_bias = epilogue.narrow_bias.template as<Result>();
    if (LibraryOperands<Result, f32>::in_place && !rows_begin_on_16_bytes(epilogue.bias)) return false;
    const DeviceView<const Storage> held_weight = operands_held<Multiplied>(weight);
    const bool weight_is_held = held_weight.elements() != 0;
    ProductRequest product{.operand = library_dtype<Operand>(),
                           .result = library_dtype<Result>(),
                           .rows = out.rows(),
                           .features = out.columns(),
                           .columns = x.columns(),
                           .x = LibraryOperands<Operand, X>::described(x),
                           .weight = weight_is_held
                                         ? product_matrix(held_weight)
                                         : LibraryOperands<Operand, Storage>::described(weight.view()),
                           .out = product_matrix(out),
                           .has_bias = has_bias,
                           .has_residual = has_residual,
                           .residual = product_matrix(residual),
                           .gelu_tanh = gelu,
                           .scales = scales};
    if (!library.takes(product)) return false;
    const LibraryOperands<Operand, X> rows(x, stream);
    product.x = rows.matrix();
    // Operands that no layer holds in the form that the library takes are converted for this product.
    std::optional<LibraryOperands<Operand, Storage>> features;
    if (!weight_is_held) product.weight = features.emplace(weight.view(), stream).matrix();
    std::optional<LibraryOperands<Result, f32>> bias;
    if (product.has_bias && !held_bias) bias.emplace(epilogue.bias, stream);
    product.bias = bias ? bias->view().data() : held_bias;
    if (!start_product(library, product, stream)) return false;
    if (DryRun::active()) return true;
    if constexpr (std::is_same_v<Result, f32>)
      if (activates && !gelu) activate_in_place(epilogue.activate, out, stream);
    return true;
  } else {
    return false;
  }
}

}  // namespace precast::gpu
