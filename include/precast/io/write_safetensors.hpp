// write_safetensors: f32 tensors to a .safetensors file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/safetensors_writer.hpp>
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
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, {}, &NamedTensor::name);

  SafetensorsWriter file(path, old);
  for (const auto& [key, text] : metadata) file.set(key, text);
  for (const NamedTensor* tensor : order) file.declare(tensor->name, dtype_info<f32>, tensor->values.shape());
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
