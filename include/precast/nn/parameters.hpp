// ParameterPath: a place in a ParameterSource, and the one conversion from a file's dtype to a policy's
// storage.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/blocks/decode_blocks.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/scalar_reader.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/nn/without_padding.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/stored_matrix.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::nn {

/// Whether a module has a bias.
enum class Bias : bool { absent, present };

inline namespace PRECAST_BACKEND {

/// A dotted path in a source: `place / "attn" / "to_q"` names the parameters under "attn.to_q".
class ParameterPath {
 public:
  explicit ParameterPath(const ParameterSource& source, std::string path = {})
      : source_(&source), path_(std::move(path)) {}

  ParameterPath operator/(std::string_view name) const {
    return ParameterPath(*source_, path_.empty() ? std::string(name) : path_ + '.' + std::string(name));
  }
  ParameterPath operator/(std::int64_t index) const {
    return *this / std::string_view(std::to_string(index));
  }

  bool contains(std::string_view name) const { return source_->contains((*this / name).path_); }
  const ParameterSource& source() const { return *source_; }
  const std::string& path() const { return path_; }

  /// The parameter at this place, which must have the shape. Trailing sizes of 1 may be missing or
  /// superfluous, as in GGUF files and BFL's autoencoder, and padding is removed. Throws InputError that
  /// names the file and the tensor.
  Parameter find(const Shape& shape) const {
    Parameter found = source_->find(path_);
    found.name = path_;
    if (source_->takes_any_shape() || same_but_for_ones(found.shape, shape)) found.shape = shape;
    if (is_padded(found, shape)) found = without_padding(std::move(found), shape);
    if (!(found.shape == shape))
      throw InputError(source_->description() + ": tensor '" + path_ + "' has shape " +
                       to_string(found.shape) + " where the config asks for " + to_string(shape) +
                       ": the weights and the config belong to different models");
    return found;
  }

 private:
  static bool same_but_for_ones(const Shape& a, const Shape& b) {
    for (std::size_t i = 0; i < std::max(a.rank(), b.rank()); ++i)
      if ((i < a.rank() ? a[i] : 1) != (i < b.rank() ? b[i] : 1)) return false;
    return true;
  }

  const ParameterSource* source_;
  std::string path_;
};

namespace detail {

/// The names of the scalar dtypes that files hold, as in a list.
inline std::string names_of_file_dtypes() {
  std::string names;
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>) names += (names.empty() ? "" : ", ") + std::string(dtype_traits<T>::name);
    return false;
  });
  return names;
}

/// The bytes that hold `values` values of a parameter. In f64, since the product of two sizes may overflow.
inline std::size_t bytes_of_values(const Parameter& parameter, std::size_t values) {
  const auto all = static_cast<double>(std::max<std::int64_t>(parameter.shape.elements(), 1));
  return static_cast<std::size_t>(
      std::llround(static_cast<double>(values) * static_cast<double>(parameter.bytes.size()) / all));
}

/// The blocks of a parameter whose dtype is a block dtype of the library; `to_f32` is nullptr for others.
inline host::StoredBlocks blocks_of(const Parameter& parameter) {
  const DtypeInfo& dtype = parameter.dtype;
  const std::int64_t columns = parameter.shape.back();
  const std::int64_t packed = ceil_divide(parameter.shape.elements(), dtype.values_per_block);
  return {dtype, host::rows_decoder<f32>(dtype.name), parameter.bytes, columns,
          std::ssize(parameter.bytes) != packed * dtype.bytes_per_block};
}

/// Decodes to f32 and rounds once, in tasks cut by size.
template <ScalarDtype T>
void decode_values(const host::StoredBlocks& blocks, std::int64_t first, std::span<T> out) {
  constexpr std::int64_t in_task = 16384;
  const std::int64_t count = std::ssize(out);
  host::parallel_for(ceil_divide(count, in_task), [&](std::int64_t task) {
    const std::int64_t begin = task * in_task;
    const auto here = out.subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(std::min(in_task, count - begin)));
    host::store_decoded(
        here, [&](std::int64_t from, std::span<f32> values) { blocks.decode(first + begin + from, values); });
  });
}

}  // namespace detail

/// Writes values [first, first + out.size()) of a parameter, rounded to T once; those of blocks are decoded
/// to f32 before. File bytes need not be aligned. Throws InputError for a dtype that holds no weights, and
/// PathNotCompiled for blocks that PRECAST_QUANT leaves out.
template <ScalarDtype T>
void read_values(const ParameterPath& place, const Parameter& parameter, std::int64_t first,
                 std::span<T> out) {
  const std::size_t taken = detail::bytes_of_values(parameter, out.size());
  if (const host::StoredBlocks blocks = detail::blocks_of(parameter); blocks.to_f32) {
    if (!DryRun::active()) detail::decode_values(blocks, first, out);
    place.source().taken(taken);
    return;
  }
  const host::ReadScalars<T> read = host::scalar_reader<T>(parameter.dtype.name);
  if (!read)
    throw InputError(place.source().description() + ": tensor '" + place.path() + "' has dtype " +
                     std::string(parameter.dtype.name) + ", which holds no weights; " +
                     detail::names_of_file_dtypes() + " and blocks do" +
                     (parameter.dtype.name == "f64" ? ": convert it to f32" : ""));
  if (!DryRun::active()) {
    const std::int64_t size = parameter.dtype.bytes_per_block;
    const std::byte* const bytes = parameter.bytes.data() + first * size;
    host::for_each_chunk(out.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      read(bytes + static_cast<std::int64_t>(begin) * size, out.subspan(begin, end - begin));
    });
  }
  place.source().taken(taken);
}

/// Writes rows of a matrix, from `first_row` on, as T: scalars are rounded to it once, blocks are copied.
/// Throws InputError where a file holds something else than the requested blocks, or blocks that cross
/// rows.
template <Dtype T>
void read_rows(const ParameterPath& place, const Parameter& parameter, std::int64_t first_row,
               HostStoredView<T> rows) {
  if constexpr (ScalarDtype<T>) {
    read_values<T>(place, parameter, first_row * rows.columns(), rows.values());
  } else {
    if (parameter.dtype != dtype_info<T>)
      throw InputError(
          place.source().description() + ": tensor '" + place.path() + "' has dtype " +
          std::string(parameter.dtype.name) + ", and " + std::string(dtype_traits<T>::name) +
          " is asked for: blocks are read as a file has them. Give it a policy that stores scalars, "
          "under which linear layers keep what their file has, or a file in " +
          std::string(dtype_traits<T>::name));
    if (std::ssize(parameter.bytes) !=
        parameter.shape.elements() / std::max<std::int64_t>(rows.columns(), 1) * bytes_for<T>(rows.columns()))
      throw InputError(place.source().description() + ": tensor '" + place.path() + "' of shape " +
                       to_string(parameter.shape) + " does not begin each row with a block of " +
                       std::string(dtype_traits<T>::name) + ": store it as a scalar dtype");
    const std::int64_t bytes = rows.bytes(), first = first_row * bytes_for<T>(rows.columns());
    if (!DryRun::active())
      std::memcpy(rows.data(), parameter.bytes.data() + first, static_cast<std::size_t>(bytes));
    place.source().taken(static_cast<std::size_t>(bytes));
  }
}

/// Copies a whole parameter as its file has it: `out` has its size.
inline void read_bytes(const ParameterPath& place, const Parameter& parameter, std::span<std::byte> out) {
  constexpr std::size_t at_once = std::size_t{4} << 20;  // between which a load can be cancelled
  for (std::size_t first = 0; first < out.size(); first += at_once) {
    const std::size_t count = std::min(at_once, out.size() - first);
    if (!DryRun::active()) std::memcpy(out.data() + first, parameter.bytes.data() + first, count);
    place.source().taken(count);
  }
}

/// A fill of weights (ops/linear.hpp) that reads a parameter's rows as T.
template <Dtype T>
auto rows_of_parameter(const ParameterPath& place, const Parameter& parameter) {
  return [&place, &parameter](std::int64_t first, HostStoredView<T> rows) {
    read_rows<T>(place, parameter, first, rows);
  };
}

/// Loads a matrix stored as T, for ops to read rows of.
template <Dtype T>
StoredMatrix<T> load_matrix(const ParameterPath& place, const Shape& shape) {
  const Parameter parameter = place.find(shape);
  HostStoredMatrix<T> matrix(shape);
  read_rows<T>(place, parameter, 0, matrix.view());
  return arrived(std::move(matrix));
}

/// Loads a whole parameter of the given shape as T, for the host to read.
template <ScalarDtype T>
HostTensor<T> load_host_tensor(const ParameterPath& place, const Shape& shape) {
  const Parameter parameter = place.find(shape);
  HostTensor<T> tensor(shape);
  read_values<T>(place, parameter, 0, tensor.values());
  return tensor;
}

/// Loads a whole parameter of the given shape as T, for ops to read.
template <ScalarDtype T>
Tensor<T> load_tensor(const ParameterPath& place, const Shape& shape) {
  return arrived(load_host_tensor<T>(place, shape));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
