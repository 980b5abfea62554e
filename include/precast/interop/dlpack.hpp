// DLPack both ways: tensors of PyTorch, JAX, CuPy and others as views, and Precast's tensors for them. The
// only header that needs <dlpack/dlpack.h> (Debian: libdlpack-dev, which is older than DLPack 1.0 and has
// no DLManagedTensorVersioned; newer headers on the include path have it).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlpack/dlpack.h>

#include <precast/interop/pointer.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::interop {

/// A DLPack tensor with an owner and a version: DLManagedTensorVersioned, from any header that has it.
template <class M>
concept VersionedDlpack = requires(M& managed) {
  requires std::same_as<decltype(managed.dl_tensor), DLTensor>;
  managed.version.major;
  managed.version.minor;
  managed.flags;
};

namespace detail {

/// DLPack 1's DLPACK_MAJOR_VERSION, and its flag for a read-only tensor.
inline constexpr std::uint32_t dlpack_major = 1;
inline constexpr std::uint64_t dlpack_read_only = 1;

/// DLPack's code of a dtype; -1 for a dtype without one.
template <class T>
constexpr int dlpack_code() {
  if constexpr (requires { dtype_traits<T>::dlpack_code; })
    return dtype_traits<T>::dlpack_code;
  else if constexpr (IndexInteger<T>)
    return kDLInt;
  else if constexpr (std::is_same_v<T, f32> || std::is_same_v<T, f16>)
    return kDLFloat;
  else if constexpr (std::is_same_v<T, bf16>)
    return kDLBfloat;
  else if constexpr (std::is_same_v<T, fp8_e4m3>)
    return 10;  // the codes of fp8 came with DLPack 1.1
  else
    return std::is_same_v<T, fp8_e5m2> ? 12 : -1;
}

template <class T>
constexpr DLDataType dlpack_dtype() {
  static_assert(!std::is_same_v<T, tf32>, "DLPack has no tf32, which is a format of operands only.");
  constexpr int code = dlpack_code<T>();
  static_assert(
      code >= 0 || std::is_same_v<T, tf32>,
      "DLPack: the type code of this dtype is not known: give dtype_traits<T> a static constexpr int "
      "dlpack_code, which is one of DLPack's DLDataTypeCode.");
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

template <class T>
constexpr std::string_view name_of_values() {
  if constexpr (IndexInteger<T>)
    return sizeof(T) == 4 ? "int32" : "int64";
  else
    return dtype_traits<T>::name;
}

template <class Space>
constexpr bool reaches(int device_type) {
  if constexpr (std::is_same_v<Space, HostSpace>)
    return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLCUDAManaged;
  else
    return device_type == kDLCUDA || device_type == kDLCUDAManaged;
}

/// Throws InputError unless the tensor has values of T in Space, and device memory is on device `device`.
template <class T, class Space>
T* dlpack_data(const DLTensor& tensor, const Shape& shape, int device) {
  constexpr DLDataType wanted = dlpack_dtype<std::remove_const_t<T>>();
  const DLDataType& is = tensor.dtype;
  if (is.code != wanted.code || is.bits != wanted.bits || is.lanes != 1)
    throw InputError("DLPack: values of type code " + std::to_string(is.code) + ", " +
                     std::to_string(is.bits) + " bits and " + std::to_string(is.lanes) + " lanes are not " +
                     std::string(name_of_values<std::remove_const_t<T>>()) + ", which has code " +
                     std::to_string(wanted.code) + ", " + std::to_string(wanted.bits) + " bits and 1 lane");
  constexpr bool on_host = std::is_same_v<Space, HostSpace>;
  if (!reaches<Space>(tensor.device.device_type))
    throw InputError("DLPack: a tensor of device type " + std::to_string(tensor.device.device_type) +
                     " is not in the memory of " + (on_host ? "the host" : "a CUDA device"));
  if (!on_host && tensor.device.device_type == kDLCUDA && tensor.device.device_id != device)
    throw InputError("DLPack: a tensor of device " + std::to_string(tensor.device.device_id) +
                     " is not on device " + std::to_string(device) +
                     ": the argument after the tensor says which device ops run on");
  T* const first =
      tensor.data ? reinterpret_cast<T*>(static_cast<std::byte*>(tensor.data) + tensor.byte_offset) : nullptr;
  check_pointer("DLPack", first, shape);
  return first;
}

inline Shape dlpack_shape(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > static_cast<int>(Shape::max_rank))
    throw InputError("DLPack: a tensor of " + std::to_string(tensor.ndim) +
                     " dimensions; views have at most 6");
  if (tensor.ndim > 0 && !tensor.shape)
    throw InputError("DLPack: a tensor of " + std::to_string(tensor.ndim) +
                     " dimensions has no shape: its pointer is null");
  return Shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
}
inline std::array<std::int64_t, Shape::max_rank> row_major_strides(const Shape& shape) {
  std::array<std::int64_t, Shape::max_rank> strides{};
  std::int64_t step = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = step;
    // Sizes of a tensor without values may be too large to be multiplied; nothing uses its strides.
    if (__builtin_mul_overflow(step, shape[i], &step)) step = 0;
  }
  return strides;
}
/// Without strides a tensor is in row-major order.
inline Strides dlpack_strides(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides) return Strides(std::span<const std::int64_t>(tensor.strides, shape.rank()));
  return Strides(std::span<const std::int64_t>(row_major_strides(shape).data(), shape.rank()));
}

/// The DLTensor of a versioned one, which must not be read-only where T is mutable.
template <class T, class Managed>
const DLTensor& dlpack_tensor(const Managed& managed) {
  if (managed.version.major != dlpack_major)
    throw InputError("DLPack: a tensor of version " + std::to_string(managed.version.major) + "." +
                     std::to_string(managed.version.minor) + " cannot be read: only version 1 is supported");
  if (!std::is_const_v<T> && (managed.flags & dlpack_read_only))
    throw InputError("DLPack: the tensor is read-only: ask for a view of const values");
  return managed.dl_tensor;
}

}  // namespace detail

/// A view of a DLPack tensor's values. Its owner keeps them alive and has finished writing them: DLPack
/// does not synchronise streams. `T` may be const. Throws InputError where dtype, device or address do not
/// fit the view or values have no memory, and ShapeError unless all rows are one stride apart.
template <class T, class Space = BackendSpace>
ViewIn<T, Space> dlpack_view(const DLTensor& tensor, int device = 0) {
  const Shape shape = detail::dlpack_shape(tensor);
  T* const data = detail::dlpack_data<T, Space>(tensor, shape, device);
  return view_at<Space>(data, shape, detail::dlpack_strides(tensor, shape));
}
/// The same as heads of attention: the tensor's dimensions are B, S, H and D, whatever its strides.
template <class T, class Space = BackendSpace>
HeadsViewIn<T, Space> dlpack_heads(const DLTensor& tensor, int device = 0) {
  const Shape shape = detail::dlpack_shape(tensor);
  T* const data = detail::dlpack_data<T, Space>(tensor, shape, device);
  return heads_at<Space>(data, shape, detail::dlpack_strides(tensor, shape));
}
/// Indices of tokens or classes, std::int32_t or std::int64_t, from a tensor of any shape. Throws
/// InputError as a view does, and ShapeError where they are not contiguous.
template <class T, class Space = BackendSpace>
  requires IndexInteger<std::remove_const_t<T>> IndicesIn<std::remove_const_t<T>, Space> dlpack_view(
      const DLTensor& tensor, int device = 0) {
    const Shape shape = detail::dlpack_shape(tensor);
    const T* const data = detail::dlpack_data<T, Space>(tensor, shape, device);
    const Strides strides = detail::dlpack_strides(tensor, shape);
    const auto side_by_side = detail::row_major_strides(shape);
    for (std::size_t i = 0; i < shape.rank(); ++i)
      if (shape[i] > 1 && strides[i] != side_by_side[i] && shape.elements() > 0)
        throw ShapeError("DLPack: strides " + to_string(strides) + " of " + to_string(shape) +
                         " are not contiguous: copy the values to a contiguous tensor");
    return {data, shape.elements()};
  }
/// The functions above for a DLManagedTensorVersioned. They also throw InputError where its version is not
/// 1, and where it is read-only and `T` is not const.
template <class T, class Space = BackendSpace, VersionedDlpack Managed>
auto dlpack_view(const Managed& managed, int device = 0) {
  return dlpack_view<T, Space>(detail::dlpack_tensor<T>(managed), device);
}
template <class T, class Space = BackendSpace, VersionedDlpack Managed>
HeadsViewIn<T, Space> dlpack_heads(const Managed& managed, int device = 0) {
  return dlpack_heads<T, Space>(detail::dlpack_tensor<T>(managed), device);
}

namespace detail {

/// A tensor as DLPack's Managed, which owns it.
template <class Managed, class T, class Memory>
Managed* given_to_dlpack(Tensor<T, Memory>&& tensor) {
  struct Owner {
    Tensor<T, Memory> tensor;
    std::array<std::int64_t, Shape::max_rank> shape{}, strides{};
    Managed managed{};
  };
  auto owner = std::make_unique<Owner>();
  owner->tensor = std::move(tensor);
  const Shape& shape = owner->tensor.shape();
  std::ranges::copy(shape.sizes(), owner->shape.begin());
  owner->strides = row_major_strides(shape);
  constexpr bool on_host = std::is_same_v<typename Memory::space, HostSpace>;
  DLTensor& given = owner->managed.dl_tensor;
  given.data = owner->tensor.data();
  given.device = {on_host ? kDLCPU : kDLCUDA, owner->tensor.device()};
  given.ndim = static_cast<int>(shape.rank());
  given.dtype = dlpack_dtype<T>();
  given.shape = owner->shape.data();
  given.strides = owner->strides.data();
  if constexpr (VersionedDlpack<Managed>) owner->managed.version.major = dlpack_major;
  owner->managed.manager_ctx = owner.get();
  owner->managed.deleter = [](Managed* self) { delete static_cast<Owner*>(self->manager_ctx); };
  return &owner.release()->managed;
}

}  // namespace detail

/// A tensor as DLPack has it, for a consumer, who calls the deleter once: that frees the tensor. The device
/// of device memory is the one that the tensor was made on, and all writes to it must have finished. It is
/// freed in the order of the stream that the tensor was made on, which waits for no other: before it calls
/// the deleter, a consumer with work on another stream makes that stream wait for this work, or waits for
/// it itself. (PyTorch does neither: synchronize before the last tensor that shares the memory dies.)
template <class T, class Memory>
DLManagedTensor* to_dlpack(Tensor<T, Memory>&& tensor) {
  return detail::given_to_dlpack<DLManagedTensor>(std::move(tensor));
}
/// The same as a DLManagedTensorVersioned, which PyTorch, NumPy and others take since DLPack 1.0:
/// `to_dlpack<DLManagedTensorVersioned>(std::move(tensor))`.
template <VersionedDlpack Managed, class T, class Memory>
Managed* to_dlpack(Tensor<T, Memory>&& tensor) {
  return detail::given_to_dlpack<Managed>(std::move(tensor));
}

}  // namespace precast::interop
