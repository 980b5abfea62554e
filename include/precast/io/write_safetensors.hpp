// write_safetensors: f32 tensors to a .safetensors file.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/tensor/view.hpp>

namespace precast::io {

/// A tensor and the name that it gets in a file.
struct NamedTensor {
  std::string name;
  HostView<const f32> values;
};

/// Writes tensors in the order of their names, each row-major without gaps, in a file that appears whole or
/// not at all. Throws InputError that names the file: unwritable, there already where that is kept, disk
/// full, or two tensors of one name.
inline void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {},
                              OldFile old = OldFile::replaced) {
  static_assert(std::endian::native == std::endian::little,
                "safetensors files are little endian: swap bytes first");
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, {}, &NamedTensor::name);

  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t begin = 0;
  for (const NamedTensor* tensor : order) {
    if (header.contains(tensor->name))
      throw file_error(path,
                       "tensor '" + printable(tensor->name) + "': was given twice: give it another name");
    const std::int64_t end = begin + bytes_for<f32>(tensor->values.elements());
    header[tensor->name] = {
        {"dtype", "F32"}, {"shape", tensor->values.shape().sizes()}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned in a memory map

  AtomicFile file(path, old);
  const std::uint64_t length = text.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const NamedTensor* tensor : order) {
    if (tensor->values.contiguous()) {
      file.write(std::as_bytes(tensor->values.values()));
      continue;
    }
    for (std::int64_t row = 0; row < tensor->values.rows(); ++row)
      file.write(std::as_bytes(tensor->values.row(row)));
  }
  file.commit();
}

}  // namespace precast::io
