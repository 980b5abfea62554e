// Finds renamed parameters, and cuts rows out of stored matrices.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <formats/registry.hpp>
#include <weights/changed_copy.hpp>
#include <weights/renamed_source.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::weights {

namespace {

/// How BFL's names of a norm's scale end, and how some programs have them.
constexpr std::string_view norm_scale = "scale", norm_weight = "weight";

InputError broken(const nn::ParameterSource& source, const std::string& name, const std::string& problem) {
  return InputError(source.description() + ": tensor '" + io::printable(name) + "': " + problem +
                    ": get the file anew");
}

/// Rows [first, first + count) of `of` equal parts of a parameter.
nn::Parameter part_of(const nn::ParameterSource& source, const io::NamedRows& place, nn::Parameter whole) {
  const std::int64_t rows = whole.shape.rank() ? whole.shape[0] : 0;
  if (rows == 0 || rows % place.of != 0)
    throw broken(source, place.name,
                 "its " + std::to_string(rows) + " rows are no " + std::to_string(place.of) + " equal parts");
  // Where a program has quantised a bias, too, blocks lie in its parts as in the rows of a matrix.
  const std::int64_t in_line = whole.shape.rank() == 1 ? rows / place.of : whole.shape.back();
  const auto parts = static_cast<std::size_t>(place.of);
  if (whole.bytes.size() % parts != 0 || in_line % whole.dtype.values_per_block != 0)
    throw broken(source, place.name,
                 "its blocks of " + std::string(whole.dtype.name) + " do not end with its rows, so that " +
                     std::to_string(place.of) + " tensors in it cannot be told apart");
  const std::size_t part_bytes = whole.bytes.size() / parts;
  std::vector<std::int64_t> sizes(whole.shape.sizes().begin(), whole.shape.sizes().end());
  sizes[0] = rows / place.of * place.count;
  whole.shape = Shape(std::span<const std::int64_t>(sizes));
  whole.bytes = whole.bytes.subspan(static_cast<std::size_t>(place.first) * part_bytes,
                                    static_cast<std::size_t>(place.count) * part_bytes);
  return whole;
}

/// A copy whose halves of rows have changed places.
nn::Parameter with_halves_swapped(const nn::ParameterSource& source, const std::string& name,
                                  nn::Parameter whole) {
  const auto half = whole.bytes.size() / 2;
  if (whole.shape.rank() == 0 || whole.shape[0] % 2 != 0 || whole.bytes.size() % 2 != 0 ||
      half % static_cast<std::size_t>(whole.dtype.bytes_per_block) != 0)
    throw broken(source, name, "its rows are no two halves");
  return with_own_bytes(whole, whole.bytes.size(), [&](std::span<std::byte> swapped) {
    std::ranges::copy(whole.bytes.subspan(half), swapped.begin());
    std::ranges::copy(whole.bytes.first(half), swapped.subspan(half).begin());
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

io::NamedRows RenamedSource::place_of(std::string_view name) const {
  auto place = io::their_rows(table_, name, levels_);
  if (!place) return {std::string(name)};
  if (!original().contains(place->name) && place->name.ends_with(norm_scale)) {
    const std::string other =
        place->name.substr(0, place->name.size() - norm_scale.size()).append(norm_weight);
    if (original().contains(other)) place->name = other;
  }
  return *place;
}

std::vector<io::NamedRows> our_rows_in(std::span<const io::NameLine> table, std::string_view name,
                                       std::int64_t levels) {
  auto rows = io::our_rows(table, name, levels);
  if (!rows.empty() || !name.ends_with(norm_weight)) return rows;
  name.remove_suffix(norm_weight.size());
  return io::our_rows(table, std::string(name).append(norm_scale), levels);
}

nn::Parameter parameter_at(const nn::ParameterSource& source, const io::NamedRows& place) {
  nn::Parameter found = source.find(place.name);
  if (place.of > 1) found = part_of(source, place, std::move(found));
  if (place.halves_swapped) found = with_halves_swapped(source, place.name, std::move(found));
  return found;
}

nn::Parameter RenamedSource::find(std::string_view name) const {
  return parameter_at(original(), place_of(name));
}

}  // namespace precast::weights
