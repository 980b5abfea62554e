// PackedWeight: a weight in device memory, as products read it: row by row.
#pragma once

#include <cstdint>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

/// How many features are uploaded at a time.
inline constexpr std::int64_t widest_panel = 256;

/// A weight [features, columns] in device memory, filled panel by panel from the host's. The host's
/// PackedWeight has the same members and another order; the device's products take rows as files have them.
template <ScalarDtype Storage>
class PackedWeight {
 public:
  /// Memory for a weight; `pack` fills it.
  PackedWeight(std::int64_t features, std::int64_t columns, std::int64_t /*columns_at_once*/)
      : rows_(Shape{features, columns}), view_(rows_.view()) {}
  /// A weight that is in device memory already, and stays where it is: it must outlive this.
  PackedWeight(View<const Storage> weight, std::int64_t /*columns_at_once*/) : view_(weight) {}

  /// Products take columns one at a time.
  template <class Types>
  static constexpr std::int64_t columns_at_once_for() {
    return 1;
  }

  /// Fills the rows from `first_feature` on with rows of the host's, which lie one after another.
  void pack(std::int64_t first_feature, View<const Storage> rows) {
    DeviceMemory::copy_from_host(rows_.data() + first_feature * columns(), rows.values().data(),
                                 rows.values().size_bytes());
  }

  std::int64_t features() const { return view_.rows(); }
  std::int64_t columns() const { return view_.columns(); }
  std::int64_t bytes() const { return bytes_for<Storage>(features() * columns()); }
  View<const Storage> view() const { return view_; }

 private:
  Tensor<Storage, DeviceMemory> rows_;
  View<const Storage> view_;
};

}  // namespace precast::cuda
