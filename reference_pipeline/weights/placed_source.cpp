// Finds parameters in stored tensors, and cuts rows out of stored matrices.
#include <algorithm>
#include <cstring>
#include <utility>

#include <formats/registry.hpp>
#include <weights/changed_copy.hpp>
#include <weights/component_facts.hpp>
#include <weights/placed_source.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::weights {

namespace {

/// The ending of a norm's scale in BFL's names, and that of some programs.
constexpr std::string_view norm_scale = "scale", norm_weight = "weight";

InputError broken(const nn::ParameterSource& source, const std::string& name, const std::string& problem) {
  return InputError(source.description() + ": tensor '" + io::printable(name) + "': " + problem +
                    ": get the file again");
}

/// Rows [first, first + count) of `of` equal parts of a parameter.
nn::Parameter part_of(const nn::ParameterSource& source, const io::NamedRows& place, nn::Parameter whole) {
  const std::int64_t rows = whole.shape.rank() ? whole.shape[0] : 0;
  if (rows == 0 || rows % place.of != 0)
    throw broken(
        source, place.name,
        "its " + std::to_string(rows) + " rows are not " + std::to_string(place.of) + " equal parts");
  // Where a program has quantised a bias, too, blocks lie in its parts as in the rows of a matrix.
  const std::int64_t in_line = whole.shape.rank() == 1 ? rows / place.of : whole.shape.back();
  const auto parts = static_cast<std::size_t>(place.of);
  if (whole.bytes.size() % parts != 0 || in_line % whole.dtype.values_per_block != 0)
    throw broken(source, place.name,
                 "its blocks of " + std::string(whole.dtype.name) + " do not end with its rows, so that " +
                     std::to_string(place.of) + " tensors in it cannot be separated");
  const std::size_t part_bytes = whole.bytes.size() / parts;
  std::vector<std::int64_t> sizes(whole.shape.sizes().begin(), whole.shape.sizes().end());
  sizes[0] = rows / place.of * place.count;
  whole.shape = Shape(std::span<const std::int64_t>(sizes));
  whole.bytes = whole.bytes.subspan(static_cast<std::size_t>(place.first) * part_bytes,
                                    static_cast<std::size_t>(place.count) * part_bytes);
  return whole;
}

/// A copy with the two halves of its rows swapped.
nn::Parameter with_halves_swapped(const nn::ParameterSource& source, const std::string& name,
                                  nn::Parameter whole) {
  const auto half = whole.bytes.size() / 2;
  if (whole.shape.rank() == 0 || whole.shape[0] % 2 != 0 || whole.bytes.size() % 2 != 0 ||
      half % static_cast<std::size_t>(whole.dtype.bytes_per_block) != 0)
    throw broken(source, name, "its rows are not two halves");
  return with_own_bytes(whole, whole.bytes.size(), [&](std::span<std::byte> swapped) {
    std::ranges::copy(whole.bytes.subspan(half), swapped.begin());
    std::ranges::copy(whole.bytes.first(half), swapped.subspan(half).begin());
  });
}

/// A transposed copy of a matrix; one in blocks, which are along rows, is decoded first.
nn::Parameter with_rows_and_columns_exchanged(const nn::ParameterSource& source, const std::string& name,
                                              nn::Parameter matrix) {
  if (matrix.dtype.values_per_block != 1) matrix = decoded(std::move(matrix));
  const auto rows = static_cast<std::size_t>(matrix.shape.rank() == 2 ? matrix.shape[0] : 0);
  const auto columns = static_cast<std::size_t>(rows ? matrix.shape[1] : 0);
  const auto size = static_cast<std::size_t>(matrix.dtype.bytes_per_block);
  if (rows * columns * size != matrix.bytes.size())
    throw InputError(source.description() + ": tensor '" + io::printable(name) + "' is stored as " +
                     std::string(matrix.dtype.name) + " of shape " + to_string(matrix.shape) +
                     ", of which rows and columns cannot be exchanged: store it as a scalar dtype");
  matrix.shape = Shape{static_cast<std::int64_t>(columns), static_cast<std::int64_t>(rows)};
  return with_own_bytes(matrix, matrix.bytes.size(), [&](std::span<std::byte> turned) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        std::memcpy(turned.data() + (c * rows + r) * size, matrix.bytes.data() + (r * columns + c) * size,
                    size);
  });
}

}  // namespace

nn::Parameter decoded(nn::Parameter blocks) {
  const auto count = static_cast<std::size_t>(blocks.shape.elements());
  const DtypeInfo stored = std::exchange(blocks.dtype, dtype_info<f32>);
  return with_own_bytes(blocks, count * sizeof(f32), [&](std::span<std::byte> values) {
    // Files hold no other blocks than those of the formats that there are.
    formats::format_named(stored.name)->decode(blocks.bytes, {reinterpret_cast<f32*>(values.data()), count});
  });
}

std::vector<io::NamedRows> our_rows_in(std::span<const io::NameLine> table, std::string_view name,
                                       std::int64_t levels) {
  auto rows = io::our_rows(table, name, levels);
  if (!rows.empty() || !name.ends_with(norm_weight)) return rows;
  name.remove_suffix(norm_weight.size());
  return io::our_rows(table, std::string(name).append(norm_scale), levels);
}

void PlacedSource::place(const std::string& stored, std::vector<io::NamedRows> ours) {
  if (ours.empty()) add_unread(found_.prefix + stored);
  for (io::NamedRows& one : ours) {
    std::string name = std::exchange(one.name, stored);
    places_.emplace(std::move(name), std::move(one));
  }
}

void PlacedSource::place_all(std::span<const io::NameLine> table) {
  table_ = table;
  for (const auto& [name, weight] : tensors_.all())
    for (const std::string_view levels : {"decoder.up.", "encoder.down."})
      levels_ = std::max(levels_, number_after(name, levels) + 1);
  for (const auto& [name, weight] : tensors_.all()) place(name, our_rows_in(table, name, levels_));
}

nn::Parameter PlacedSource::find(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return tensors_.find(absent_name(name));  // which says that it is missing
  const io::NamedRows& place = found->second;
  nn::Parameter parameter = tensors_.find(place.name);
  if (place.of > 1) parameter = part_of(tensors_, place, std::move(parameter));
  if (place.halves_swapped) parameter = with_halves_swapped(tensors_, place.name, std::move(parameter));
  if (place.transposed)
    parameter = with_rows_and_columns_exchanged(tensors_, place.name, std::move(parameter));
  return parameter;
}

std::vector<std::string> PlacedSource::names() const {
  std::vector<std::string> all;
  for (const auto& [name, place] : places_) all.push_back(name);
  return all;
}

std::string PlacedSource::stored_name(std::string_view name) const {
  const auto found = places_.find(name);
  return found_.prefix + (found == places_.end() ? absent_name(name) : found->second.name);
}

std::string PlacedSource::absent_name(std::string_view name) const {
  auto rows = io::their_rows(table_, name, levels_);
  return rows ? std::move(rows->name) : std::string(name);
}

std::optional<Shape> PlacedSource::shape(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::nullopt;
  const io::NamedRows& place = found->second;
  const Shape& stored = tensors_.lookup(place.name)->shape;
  std::vector<std::int64_t> sizes(stored.sizes().begin(), stored.sizes().end());
  if (place.of > 1 && !sizes.empty()) sizes[0] = sizes[0] / place.of * place.count;
  if (place.transposed) std::ranges::reverse(sizes);
  return Shape(std::span<const std::int64_t>(sizes));
}

std::int64_t PlacedSource::end_of_blocks(std::string_view stem) const {
  std::int64_t end = 0;
  for (auto at = places_.lower_bound(stem); at != places_.end() && at->first.starts_with(stem); ++at)
    end = std::max(end, number_after(at->first, stem) + 1);
  return end;
}

bool PlacedSource::has_names_beginning(std::string_view start) const {
  const auto at = places_.lower_bound(start);
  return at != places_.end() && at->first.starts_with(start);
}

}  // namespace precast::weights
