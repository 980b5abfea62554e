// The convolutions that the library computes, and the requests for them.
#pragma once

#include <optional>
#include <type_traits>

#include <precast/cuda/conv/conv_request.hpp>
#include <precast/cuda/conv/cudnn.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Whether the library convolves these dtypes as the op table says: all values have one dtype, sums are
/// f32, and results do not clamp.
template <class Types>
inline constexpr bool conv_library_has_dtypes = [] {
  using Operand = typename Types::operand;
  return (std::is_same_v<Operand, f32> || std::is_same_v<Operand, bf16> || std::is_same_v<Operand, f16>)&&  //
         std::is_same_v<typename Types::storage, Operand> &&
         std::is_same_v<typename Types::result, Operand> && std::is_same_v<typename Types::accumulate, f32> &&
         !Types::saturate;
}();

/// Whether opposite sides have the same padding, the only kind that the library takes: that of the top and
/// left, into which the kernel fits.
constexpr bool padded_alike(const ConvSizes& s) {
  return s.height + 2 * s.pad_top >= s.kernel_height && s.width + 2 * s.pad_left >= s.kernel_width &&
         s.out_height == (s.height + 2 * s.pad_top - s.kernel_height) / s.stride + 1 &&
         s.out_width == (s.width + 2 * s.pad_left - s.kernel_width) / s.stride + 1;
}

/// Whether cuDNN can take rows in place: each must begin on a multiple of 16 bytes, since its descriptors
/// cannot state a smaller alignment.
template <class T>
bool readable_by_cudnn(const DeviceView<T>& view) {
  return rows_begin_on_16_bytes(view) && readable_by_library(view);
}

/// Starts the convolution and returns true, or returns false where the library does not take it.
template <class Types, class X>
bool convolve_by_library(const DeviceView<const X>& x,
                         const DeviceStoredView<const typename Types::storage>& weight,
                         const ConvSizes& sizes, const Epilogue& epilogue,
                         const DeviceView<typename Types::result>& out, Stream stream) {
  if constexpr (conv_library_has_dtypes<Types> && std::is_same_v<X, typename Types::operand>) {
    const auto& library = library_in_use<ConvLibrary>();
    if (!library.has_code || epilogue.bias.elements() == 0 || epilogue.activate != ActivationFunction::none ||
        x.elements() == 0 || !padded_alike(sizes) || !weight.contiguous() || !readable_by_cudnn(weight) ||
        !readable_by_cudnn(x) || !readable_by_cudnn(out))
      return false;
    ConvRequest conv{.dtype = library_dtype<X>(),
                     .sizes = sizes,
                     .features = out.columns(),
                     .x_stride = x.row_stride(),
                     .out_stride = out.row_stride(),
                     .x = x.data(),
                     .weight = weight.data(),
                     .out = out.data()};
    if (!library.has_code(conv)) return false;
    const X* const held_bias = epilogue.narrow_bias.template as<X>();
    std::optional<LibraryOperands<X, f32>> bias;  // exact: it has the weight's dtype
    if (!held_bias) bias.emplace(epilogue.bias, stream);
    conv.bias = bias ? bias->view().data() : held_bias;
    conv.workspace_bytes = library.workspace_bytes ? library.workspace_bytes(conv) : 0;
    const StreamScope scope(stream);  // of the workspace
    const BufferIn<Memory> workspace(conv.workspace_bytes);
    conv.workspace = workspace.data();
    return DryRun::active() || library.convolve(conv, stream);
  } else {
    return false;
  }
}

}  // namespace precast::gpu
