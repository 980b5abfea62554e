// PackedWeight: a weight in the memory of the device. The host's class of this name packs panels; here rows
// lie as files have them, which is how tensor cores, cuBLASLt and our kernels read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

/// Rows that one upload brings, as they are loaded.
inline constexpr std::int64_t widest_panel = 64;

/// A weight [features, columns]. Rows begin on multiples of 16 bytes.
template <ScalarDtype Storage>
class PackedWeight {
 public:
  /// Memory for a weight; `pack` fills it. The last argument is the host's: all products read one layout
  /// here.
  PackedWeight(std::int64_t features, std::int64_t columns, std::int64_t /*columns_at_once*/ = 1)
      : memory_(Shape{features, rounded_up(columns, 16 / sizeof(Storage))}) {
    view_ = std::as_const(memory_).view().columns_between(0, columns);
  }
  /// Rows in the memory of the device as they lie there; they must outlive this.
  PackedWeight(DeviceView<const Storage> weight, std::int64_t /*columns_at_once*/ = 1)
      : view_(weight.data(), Shape{weight.rows(), weight.columns()}, weight.row_stride()) {}

  template <class Types>
  static constexpr std::int64_t columns_at_once_for() {
    return 1;
  }

  /// Uploads rows [count, columns] of the host, from this feature on.
  void pack(std::int64_t first_feature, HostView<const Storage> rows) {
    if (rows.contiguous() && rows.columns() == memory_.columns()) {
      upload(first_feature, rows);
      return;
    }
    HostTensor<Storage> padded_rows(Shape{rows.rows(), memory_.columns()});
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      const auto to = padded_rows.view().row(r);
      const auto end = std::copy(rows.row(r).begin(), rows.row(r).end(), to.begin());
      std::fill(end, to.end(), Storage{});
    }
    upload(first_feature, padded_rows);
  }

  std::int64_t features() const { return view_.rows(); }
  std::int64_t columns() const { return view_.columns(); }
  std::int64_t bytes() const { return bytes_for<Storage>(memory_.elements()); }
  DeviceView<const Storage> view() const { return view_; }

 private:
  void upload(std::int64_t first_feature, HostView<const Storage> padded_rows) {
    DeviceMemory::copy_from_host(memory_.data() + first_feature * memory_.columns(), padded_rows.data(),
                                 padded_rows.values().size_bytes());
  }

  Tensor<Storage, DeviceMemory> memory_;
  DeviceView<const Storage> view_;
};

}  // namespace precast::cuda
