// PackedWeight: a weight in device memory. The host's class of this name packs panels; here rows and blocks
// are stored as files have them, which is how tensor cores, cuBLASLt and our kernels read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/matmul/held_blocks.hpp>
#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/stored_matrix.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// The rows of one upload while a weight is loaded.
inline constexpr std::int64_t rows_per_upload = 64;

/// Whether weights of a storage dtype may be in blocks of any format instead, as a file has them.
template <Dtype Storage>
inline constexpr bool holds_blocks_of_files = ScalarDtype<Storage>;

/// Whether weights of a storage dtype may hold narrower scalars of a file instead: none here.
template <Dtype Storage, ScalarDtype T>
inline constexpr bool holds_scalars_of_files = false;

namespace detail {

/// For successive groups of a matrix's rows, calls `fill(first_row, rows)` with host memory for them, then
/// `take(first_row, rows)` with the same.
template <Dtype Storage, class Fill, class Take>
void fill_by_groups(const Shape& shape, Fill&& fill, Take&& take) {
  HostStoredMatrix<Storage> rows(Shape{std::min(rows_per_upload, shape[0]), shape[1]});
  for (std::int64_t first = 0; first < shape[0] && !DryRun::active(); first += rows_per_upload) {
    const HostStoredView<Storage> group =
        rows.view().rows_between(0, std::min(rows_per_upload, shape[0] - first));
    fill(first, group);
    take(first, group);
  }
}

/// Decodes rows of blocks by a decoder of the host, and rounds them to Storage.
template <class Decoder, ScalarDtype Storage>
void decode_rows(const Decoder& decoder, const std::byte* blocks, std::int64_t bytes_per_row,
                 HostView<Storage> to) {
  HostTensor<f32> values(Shape{to.columns()});
  for (std::int64_t r = 0; r < to.rows(); ++r) {
    decoder.to_f32({blocks + r * bytes_per_row, bytes_per_row}, 1, 0, to.columns(), values.data(),
                   to.columns());
    for (std::int64_t c = 0; c < to.columns(); ++c)
      to.row(r)[static_cast<std::size_t>(c)] = convert_value<Storage>(values.data()[c]);
  }
}

}  // namespace detail

/// A weight of scalars [features, columns], whose rows begin on multiples of 16 bytes. Or a weight in
/// blocks of a format that its file has chosen, stored as in the file: then there are no rows of scalars,
/// and products decode the blocks that they multiply.
template <Dtype Storage>
class PackedWeight {
 public:
  /// Uploads a weight [features, columns] for products with `Types`: calls `fill(first_feature,
  /// HostView<Storage> rows)` for successive groups of rows, which writes them.
  template <class Types, class Fill>
  static PackedWeight filled(const Shape& shape, Fill&& fill) {
    PackedWeight packed(shape);
    if constexpr (holds_weight_in_tf32<Types>) packed.in_tf32_ = memory_for(shape);
    detail::fill_by_groups<Storage>(shape, fill, [&](std::int64_t first, HostView<Storage> rows) {
      upload(rows, first, packed.memory_);
      if constexpr (holds_weight_in_tf32<Types>) {
        for (f32& value : rows.values()) value = convert_value<f32>(convert_value<tf32>(value));
        upload(rows, first, packed.in_tf32_);
      }
    });
    return packed;
  }
  /// A weight in blocks of a file: calls `fill(rows)`, which writes the bytes of all rows, each of which
  /// begins with a block. The blocks are kept where this program has products of the format with `Types`
  /// (block_products.hpp); otherwise `decoder`, the host's, converts them to Storage.
  template <class Types, class Decoder, class Fill>
  static PackedWeight in_blocks(const Decoder& decoder, const Shape& shape, Fill&& fill) {
    const std::int64_t bytes_per_row = decoder.bytes_per_row(shape[1]), bytes = shape[0] * bytes_per_row;
    const BufferIn<HostMemory> rows(static_cast<std::size_t>(bytes));
    fill(std::span<std::byte>(rows.data(), static_cast<std::size_t>(bytes)));
    const BlockMultipliers multipliers(decoder.format.name);
    if (!HeldBlocks::multiplied<Types>(multipliers))
      return filled<Types>(shape, [&](std::int64_t first, HostView<Storage> to) {
        detail::decode_rows(decoder, rows.data() + first * bytes_per_row, bytes_per_row, to);
      });
    PackedWeight packed;
    packed.view_ = {nullptr, shape, shape[1]};
    packed.blocks_ = {decoder.format, multipliers, bytes,
                      BufferIn<DeviceMemory>(static_cast<std::size_t>(bytes))};
    if (!DryRun::active()) packed.blocks_.memory.upload(0, rows.data(), static_cast<std::size_t>(bytes));
    return packed;
  }
  /// A weight in place, for products with `Types`: here without a copy. It must outlive this.
  template <class Types>
  static PackedWeight borrowed(const PendingView<DeviceView<const Storage>, DeviceMemory>& weight) {
    const DeviceView<const Storage>& rows = weight.place();
    PackedWeight packed;
    packed.view_ = {rows.data(), Shape{rows.rows(), rows.columns()}, rows.row_stride()};
    packed.upload_ = weight.upload();
    return packed;
  }
  /// A weight in device memory, which `write(DeviceView<Storage>)` fills there.
  template <class Write>
  static PackedWeight written(const Shape& shape, Write&& write) {
    PackedWeight packed(shape);
    write(packed.memory_.view().columns_between(0, shape[1]));
    packed.memory_.note_written();
    return packed;
  }

  std::int64_t features() const { return view_.rows(); }
  std::int64_t columns() const { return view_.columns(); }
  std::int64_t bytes() const {
    return blocks_.bytes + bytes_for<Storage>(memory_.elements() + in_tf32_.elements());
  }
  /// The blocks of a weight in blocks; else null.
  const HeldBlocks* blocks() const { return blocks_.bytes ? &blocks_ : nullptr; }
  /// The rows, for work of the current stream, which this orders after the upload. Throws InputError for a
  /// weight in blocks, which has no rows of Storage.
  DeviceView<const Storage> view() const {
    if (blocks())
      throw InputError("a weight in " + std::string(blocks_.format.name) +
                       " has no rows of scalars on the device: only linear layers multiply with it");
    (void)memory_.data();
    DeviceMemory::wait_for_upload(upload_);
    return view_;
  }
  /// Its rows where they are borrowed; else no rows.
  DeviceView<const Storage> borrowed_rows() const {
    return memory_.elements() == 0 && !blocks() ? view_ : DeviceView<const Storage>();
  }
  /// The same rows rounded to tf32, in an f32's place, where `filled` made them; else no rows.
  DeviceView<const Storage> in_tf32() const {
    return in_tf32_.elements() == 0 ? DeviceView<const Storage>()
                                    : in_tf32_.view().columns_between(0, columns());
  }

 private:
  using Memory = Tensor<Storage, DeviceMemory>;

  PackedWeight() = default;
  explicit PackedWeight(const Shape& shape) : memory_(memory_for(shape)) {
    view_ = std::as_const(memory_).view().columns_between(0, shape[1]);
  }
  static Memory memory_for(const Shape& shape) {
    return Memory(Shape{shape[0], rounded_up(shape[1], 16 / sizeof(Storage))});
  }
  static void upload(HostView<const Storage> rows, std::int64_t first_feature, Memory& to) {
    const auto copy = [&](HostView<const Storage> padded_rows) {
      to.upload(first_feature * to.columns(), padded_rows.values());
    };
    if (rows.contiguous() && rows.columns() == to.columns()) return copy(rows);
    HostTensor<Storage> padded_rows(Shape{rows.rows(), to.columns()});
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      const auto padded = padded_rows.view().row(r);
      const auto end = std::copy(rows.row(r).begin(), rows.row(r).end(), padded.begin());
      std::fill(end, padded.end(), Storage{});
    }
    copy(padded_rows);
  }

  Memory memory_, in_tf32_;
  HeldBlocks blocks_;
  DeviceView<const Storage> view_;
  DeviceMemory::Upload upload_;  ///< of rows that are borrowed
};

/// A weight in blocks [features, columns], each row of which begins with one.
template <BlockDtype Storage>
class PackedWeight<Storage> {
 public:
  template <class Types, class Fill>
  static PackedWeight filled(const Shape& shape, Fill&& fill) {
    PackedWeight packed;
    packed.memory_ = BlockMatrix<Storage, DeviceMemory>(shape);
    packed.view_ = std::as_const(packed.memory_).view();
    detail::fill_by_groups<Storage>(shape, fill, [&](std::int64_t first, HostStoredView<Storage> rows) {
      packed.memory_.upload(first, rows);
    });
    return packed;
  }
  template <class Types>
  static PackedWeight borrowed(const PendingView<DeviceStoredView<const Storage>, DeviceMemory>& weight) {
    PackedWeight packed;
    packed.view_ = weight.place();
    packed.upload_ = weight.upload();
    return packed;
  }

  std::int64_t features() const { return view_.rows(); }
  std::int64_t columns() const { return view_.columns(); }
  std::int64_t bytes() const { return memory_.bytes(); }
  /// Its rows where they are borrowed; else no rows.
  DeviceStoredView<const Storage> borrowed_rows() const {
    return memory_.bytes() == 0 ? view_ : DeviceStoredView<const Storage>();
  }
  /// The rows, for work of the current stream, which this orders after the upload.
  DeviceStoredView<const Storage> view() const {
    (void)memory_.data();
    DeviceMemory::wait_for_upload(upload_);
    return view_;
  }

 private:
  PackedWeight() = default;

  BlockMatrix<Storage, DeviceMemory> memory_;
  DeviceStoredView<const Storage> view_;
  DeviceMemory::Upload upload_;  ///< of rows that are borrowed
};

}  // namespace precast::gpu
