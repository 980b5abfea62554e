// What files of tensors share: how a tensor is found by its name, and what is said of a wrong one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/io/message.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::io {

/// "PATH: tensor 'x.y': problem".
inline FileError tensor_error(const std::filesystem::path& path, std::string_view name,
                              const std::string& problem) {
  return file_error(path, "tensor '" + printable(name) + "': " + problem);
}

/// The tensor of that name, or nullptr. `tensors` are sorted by their member `name`.
template <class Tensor>
const Tensor* find_tensor(const std::vector<Tensor>& tensors, std::string_view name) {
  const auto found = std::ranges::lower_bound(tensors, name, {}, &Tensor::name);
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

/// The tensor of that name. Throws InputError where the file at `path` has none.
template <class Tensor>
const Tensor& tensor_at(const std::vector<Tensor>& tensors, std::string_view name,
                        const std::filesystem::path& path) {
  if (const Tensor* const tensor = find_tensor(tensors, name)) return *tensor;
  throw tensor_error(path, name, "is missing: the file is incomplete or belongs to another model");
}

/// A tensor's shape from the sizes that a file says. Throws InputError where they are none.
inline Shape stated_shape(std::span<const std::int64_t> sizes, std::string_view name,
                          const std::filesystem::path& path) {
  try {
    return Shape(sizes);
  } catch (const ShapeError& error) {
    throw tensor_error(path, name, std::string(error.what()) + ": get the file again");
  }
}

}  // namespace precast::io
