// Operands as cuBLASLt and cuDNN take them: rounded, in memory.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// Converts a value to an operand of a library.
template <ScalarDtype Operand>
struct AsLibraryOperand {
  template <class From>
  PRECAST_DEVICE LibraryOperand<Operand> operator()(From value) const {
    if constexpr (std::is_same_v<Operand, tf32>)
      return bit_cast<f32>(tf32_word(to_f32(value)));
    else
      return round_to<Operand>(to_f32(value));
  }
};

/// to = from, rounded to Operand.
template <ScalarDtype Operand, ScalarDtype From>
void round_values(const DeviceView<const From>& from, const DeviceView<LibraryOperand<Operand>>& to,
                  Stream stream) {
  detail::map_arrays("round_values", AsLibraryOperand<Operand>{}, to, stream, from);
}

/// Whether a library can read a view's rows in place, as ProductLibrary::takes requires.
template <class T>
bool readable_by_library(const DeviceView<T>& view) {
  return view.rows() == 0 || view.row_stride() >= view.columns();
}

/// A view as a library takes it: pointer, row stride and alignment.
template <class T>
auto product_matrix(const DeviceView<T>& view) {
  std::uint64_t multiples = 16 | reinterpret_cast<std::uintptr_t>(view.data());
  if (view.rows() > 1) multiples |= static_cast<std::uint64_t>(view.row_stride()) * sizeof(T);
  return ProductMatrix<std::conditional_t<std::is_const_v<T>, const void, void>>{
      view.data(), {view.row_stride(), std::uint32_t{1} << std::countr_zero(multiples)}};
}

/// A matrix as operands of a library: the values themselves where they are operands already, else a rounded
/// copy, which is freed in the order of the stream when this object is destroyed.
template <ScalarDtype Operand, ScalarDtype From>
class LibraryOperands {
 public:
  using Value = LibraryOperand<Operand>;
  static constexpr bool in_place = std::is_same_v<From, Operand>;
  /// matrix() without the pointer of a copy, each row of which begins on a multiple of 16 bytes.
  static ProductMatrix<const void> described(const DeviceView<const From>& from) {
    if (in_place) return product_matrix(from);
    return {.rows = {.stride = rounded_up(from.columns(), 16 / sizeof(Value)), .alignment = 16}};
  }

  LibraryOperands(const DeviceView<const From>& from, Stream stream) {
    if constexpr (in_place) {
      view_ = from;
    } else {
      const StreamScope scope(stream);  // of the memory
      copy_ = Tensor<Value, DeviceMemory>(Shape{from.rows(), described(from).rows.stride});
      const DeviceView<Value> rounded = copy_.view().columns_between(0, from.columns());
      round_values<Operand>(from, rounded, stream);
      view_ = rounded;
    }
  }

  const DeviceView<const Value>& view() const { return view_; }
  ProductMatrix<const void> matrix() const { return product_matrix(view_); }

 private:
  Tensor<Value, DeviceMemory> copy_;
  DeviceView<const Value> view_;
};

}  // namespace precast::gpu
