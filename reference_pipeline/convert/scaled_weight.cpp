// Codes are written as they are made, scales and the announcement after them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include <convert/scaled_weight.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/parallel.hpp>
#include <precast/quant/encode.hpp>
#include <precast/quant/scaled.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::conversion {

namespace {

constexpr std::string_view weight_end = ".weight";
/// Values that are encoded between two writes.
constexpr std::int64_t values_at_once = std::int64_t{1} << 22;

bool is_mxfp8(const DtypeInfo& type) { return type.name == dtype_traits<mxfp8>::name; }

/// How a format is announced, and what its codes are for safetensors.
struct Announced {
  std::string_view format;
  DtypeInfo codes;
  bool one_scale = false;
};

Announced announced_as(const DtypeInfo& type) {
  if (is_mxfp8(type)) return {"mxfp8", dtype_info<fp8_e4m3>};
  Announced announced;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    using Code = scaled_code_of<Format>;
    announced.one_scale = scale_of<Format> == ScaleOf::tensor;
    if constexpr (std::is_same_v<Code, std::int8_t>) {
      announced.format = "int8_tensorwise";
      announced.codes = {"i8", 1, 1};
    } else {
      announced.format = std::is_same_v<Code, fp8_e4m3> ? "float8_e4m3fn" : "float8_e5m2";
      announced.codes = dtype_info<Code>;
    }
  });
  return announced;
}

std::string announcement(const DtypeInfo& type) {
  return "{\"format\": \"" + std::string(announced_as(type).format) + "\"}";
}

/// Where the scale of row r and block c lies among those of a matrix: in tiles of 128 by 4, as tensor cores
/// want them.
std::size_t swizzled(std::int64_t r, std::int64_t c, std::int64_t padded_blocks) {
  return static_cast<std::size_t>((r / 128 * (padded_blocks / 4) + c / 4) * 512 + r % 32 * 16 +
                                  r % 128 / 32 * 4 + c % 4);
}

/// Calls `encode(row, count, values, codes)` for groups of rows on all threads, and writes their codes.
template <class Encode>
void write_codes(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write,
                 Encode&& encode) {
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, values_at_once / columns),
                     in_task = std::max<std::int64_t>(1, 65536 / columns);
  std::vector<std::byte> codes;
  for (std::int64_t first = 0; first < rows; first += rows_at_once) {
    const std::int64_t some = std::min(rows_at_once, rows - first);
    codes.resize(static_cast<std::size_t>(some * columns));
    host::parallel_for(ceil_divide(some, in_task), [&](std::int64_t task) {
      static thread_local std::vector<f32> memory;
      const std::int64_t row = task * in_task, count = std::min(in_task, some - row);
      memory.resize(static_cast<std::size_t>(count * columns));
      read((first + row) * columns, memory);
      for (std::int64_t r = 0; r < count; ++r)
        encode(first + row + r,
               std::span<const f32>(memory).subspan(static_cast<std::size_t>(r * columns),
                                                    static_cast<std::size_t>(columns)),
               std::span(codes).subspan(static_cast<std::size_t>((row + r) * columns),
                                        static_cast<std::size_t>(columns)));
    });
    write(codes, some * columns);
  }
}

f32 largest_of(std::span<const f32> values) {
  f32 most = 0;
  for (const f32 value : values) most = std::max(most, std::fabs(value));
  return most;
}

f32 largest_in(const OutputTensor& tensor, const ReadValues& read) {
  constexpr std::int64_t in_task = 65536;
  const std::int64_t count = tensor.shape.elements();
  std::vector<f32> largest(static_cast<std::size_t>(ceil_divide(count, in_task)));
  host::parallel_for(std::ssize(largest), [&](std::int64_t task) {
    static thread_local std::vector<f32> memory;
    memory.resize(static_cast<std::size_t>(std::min(in_task, count - task * in_task)));
    read(task * in_task, memory);
    largest[static_cast<std::size_t>(task)] = largest_of(memory);
  });
  return largest_of(largest);
}

template <ScaledRowDtype Format>
std::vector<f32> write_rows(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write) {
  using Code = scaled_code_of<Format>;
  constexpr bool one_scale = scale_of<Format> == ScaleOf::tensor;
  std::vector<f32> scales(one_scale ? 1 : static_cast<std::size_t>(tensor.shape[0]));
  if (one_scale) scales.front() = quant::scale_for<Code>(largest_in(tensor, read));
  write_codes(tensor, read, write,
              [&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
                f32& scale = scales[one_scale ? 0 : static_cast<std::size_t>(row)];
                if (!one_scale) scale = quant::scale_for<Code>(largest_of(values));
                quant::encode_under_scale<Code>(
                    values, scale, std::span(reinterpret_cast<Code*>(codes.data()), codes.size()));
              });
  return scales;
}

std::vector<std::byte> write_mxfp8(const OutputTensor& tensor, const ReadValues& read,
                                   const WriteBytes& write) {
  const std::int64_t blocks = tensor.shape[1] / 32, padded_blocks = rounded_up(blocks, 4);
  std::vector<std::byte> scales(static_cast<std::size_t>(rounded_up(tensor.shape[0], 128) * padded_blocks));
  write_codes(
      tensor, read, write, [&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
        for (std::int64_t b = 0; b < blocks; ++b) {
          mxfp8 block;
          quant::encode<mxfp8>(values.subspan(static_cast<std::size_t>(32 * b), 32), std::span(&block, 1));
          std::memcpy(codes.data() + 32 * b, block.codes, 32);
          scales[swizzled(row, b, padded_blocks)] = std::byte{block.scale};
        }
      });
  return scales;
}

}  // namespace

bool is_scaled(const DtypeInfo& type) {
  return is_mxfp8(type) || visit_scaled_row_dtype(type.name, [](auto) {});
}

bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape) {
  return shape.rank() == 2 && shape.elements() > 0 && name.ends_with(weight_end) &&
         (!is_mxfp8(type) || (shape[0] % 32 == 0 && shape[1] % 32 == 0));
}

void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor) {
  const DtypeInfo& type = tensor.chosen.type;
  const Announced announced = announced_as(type);
  const std::string layer = tensor.name.substr(0, tensor.name.size() - weight_end.size());
  writer.declare(tensor.name, announced.codes, tensor.shape);
  const DtypeInfo byte{"u8", 1, 1};
  if (is_mxfp8(type))
    writer.declare(layer + ".weight_scale", byte,
                   Shape{rounded_up(tensor.shape[0], 128), rounded_up(tensor.shape[1] / 32, 4)});
  else
    writer.declare(layer + ".weight_scale", dtype_info<f32>,
                   announced.one_scale ? Shape{} : Shape{tensor.shape[0], 1});
  writer.declare(layer + ".comfy_quant", byte, Shape{std::ssize(announcement(type))});
}

void write_scaled(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write) {
  const DtypeInfo& type = tensor.chosen.type;
  if (is_mxfp8(type))
    write(write_mxfp8(tensor, read, write), 0);
  else
    visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
      const std::vector<f32> scales = write_rows<Format>(tensor, read, write);
      write(std::as_bytes(std::span(scales)), 0);
    });
  const std::string text = announcement(type);
  write(std::as_bytes(std::span(text)), 0);
}

}  // namespace precast::conversion
