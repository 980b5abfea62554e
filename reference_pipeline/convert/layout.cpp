// Divides tensors into rows, or puts rows of several together, as the tables of names say.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

#include <convert/layout.hpp>
#include <flux/bfl_names.hpp>
#include <stable_diffusion/ldm_names.hpp>
#include <text/t5_gguf_names.hpp>
#include <weights/placed_source.hpp>

namespace precast::conversion {

namespace {

using Table = std::span<const io::NameLine>;

Table table_of(WeightsKind kind) {
  if (kind == WeightsKind::flux) return flux::bfl_names;
  if (kind == WeightsKind::t5) return text::t5_gguf_names;
  return {};
}

/// No table for a relative of Flux: some of its names are in none, and it would have half of either naming.
Table table_of(const InputWeights& input, WeightsKind kind) {
  return input.differs_from_flux() ? Table{} : table_of(kind);
}

std::int64_t rows_of(const Shape& shape) { return shape.rank() ? shape[0] : 1; }
std::int64_t columns_of(const Shape& shape) { return rows_of(shape) ? shape.elements() / rows_of(shape) : 0; }

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  if (!sizes.empty()) sizes.front() = rows;
  return Shape(std::span<const std::int64_t>(sizes));
}

/// Lists of pieces, with errors that name the input.
class Arrangement {
 public:
  Arrangement(const InputWeights& input, Table table) : input_(input), table_(table) {}

  /// Our names from theirs: each tensor in one or several parts.
  void divide() {
    for (const InputTensor& tensor : input_.tensors()) {
      const std::vector<io::NamedRows> parts =
          weights::our_rows_in(table_, weights::without_prefix(tensor.name));
      if (parts.empty()) keep(tensor);
      for (const io::NamedRows& part : parts) {
        const std::int64_t unit = divided(tensor, rows_of(tensor.shape), part.of);
        OutputTensor& made = tensors_.emplace_back(OutputTensor{
            kept_prefix(tensor) + part.name, with_rows(tensor.shape, unit * part.count), {}, {}});
        add_rows(made, tensor, unit * part.first, unit * part.count, part.halves_swapped);
      }
    }
  }

  /// Their names from ours: several tensors, one above the other, may become one.
  void join() {
    struct Part {
      const InputTensor* tensor;
      io::NamedRows rows;
    };
    std::map<std::string, std::vector<Part>> joined;
    for (const InputTensor& tensor : input_.tensors()) {
      if (const auto rows = io::their_rows(table_, weights::without_prefix(tensor.name)))
        joined[kept_prefix(tensor) + rows->name].push_back({&tensor, *rows});
      else if (const InputTensor* table = table_of_copy(tensor))
        require_same(tensor, *table);  // T5's copy of its embeddings has no other name, and is left out
      else
        keep(tensor);
    }
    for (auto& [name, parts] : joined) {
      std::ranges::sort(parts, {}, [](const Part& part) { return part.rows.first; });
      int reached = 0;
      std::int64_t rows = 0;
      const InputTensor& first = *parts.front().tensor;
      const std::int64_t unit = divided(first, rows_of(first.shape), parts.front().rows.count);
      for (const Part& part : parts) {
        if (part.rows.first != reached || rows_of(part.tensor->shape) != unit * part.rows.count ||
            columns_of(part.tensor->shape) != columns_of(first.shape))
          throw io::tensor_error(input_.path(), part.tensor->name,
                                 "is not next to the other parts of '" + name +
                                     "': the file is incomplete, or of another model");
        reached += part.rows.count;
        rows += rows_of(part.tensor->shape);
      }
      if (reached != parts.front().rows.of)
        throw io::tensor_error(input_.path(), name, "has parts that are missing: get the file again");
      OutputTensor& made = tensors_.emplace_back(OutputTensor{name, with_rows(first.shape, rows), {}, {}});
      for (const Part& part : parts)
        add_rows(made, *part.tensor, 0, rows_of(part.tensor->shape), part.rows.halves_swapped);
    }
  }

  /// Keeps the names as they are, in either layout, and that of T5's copy of its embeddings, which is in no
  /// table.
  void keep_layout() {
    for (const InputTensor& tensor : input_.tensors()) {
      keep(tensor);
      tensors_.back().name = kept_prefix(tensor) + std::string(weights::without_prefix(tensor.name));
    }
  }

  void keep(const InputTensor& tensor) {
    tensors_.push_back({tensor.name, tensor.shape, {{&tensor, 0, tensor.shape.elements()}}, {}});
  }

  std::vector<OutputTensor> sorted() {
    std::ranges::sort(tensors_, {}, &OutputTensor::name);
    const auto twin = std::ranges::adjacent_find(tensors_, {}, &OutputTensor::name);
    if (twin != tensors_.end())
      throw io::tensor_error(input_.path(), twin->name, "appears under two names: get the file again");
    return std::move(tensors_);
  }

 private:
  /// The prefix that a tensor keeps: in a file of several parts, that of its part, or the parts would be one.
  const std::string& kept_prefix(const InputTensor& tensor) {
    const std::string prefix =
        tensor.name.substr(0, tensor.name.size() - weights::without_prefix(tensor.name).size());
    const auto [known, is_new] = kept_prefixes_.try_emplace(prefix, prefix);
    if (is_new && std::ranges::all_of(input_.tensors(), [&](const InputTensor& other) {
          return other.name.starts_with(prefix);
        }))
      known->second.clear();
    return known->second;
  }

  /// T5's first table of embeddings, where the tensor is its second and the first is there; or nullptr.
  const InputTensor* table_of_copy(const InputTensor& tensor) const {
    constexpr std::string_view end = "encoder.embed_tokens.weight";
    if (!tensor.name.ends_with(end)) return nullptr;
    return input_.lookup(tensor.name.substr(0, tensor.name.size() - end.size()) + "shared.weight");
  }
  void require_same(const InputTensor& copy, const InputTensor& table) const {
    if (copy.type == table.type && !are_same(copy.bytes, table.bytes))
      throw io::tensor_error(input_.path(), copy.name,
                             "differs from '" + table.name +
                                 "', and they are one table of T5: get the file again, or leave out the one "
                                 "that is wrong");
  }

  /// T5-XXL's tables take 263 MB each, which do not stay in memory.
  bool are_same(std::span<const std::byte> one, std::span<const std::byte> other) const {
    if (one.size() != other.size()) return false;
    constexpr std::size_t at_once = std::size_t{32} << 20;
    for (std::size_t at = 0; at < one.size(); at += at_once) {
      const std::size_t some = std::min(at_once, one.size() - at);
      if (std::memcmp(one.data() + at, other.data() + at, some) != 0) return false;
      input_.release_pages();
    }
    return true;
  }

  std::int64_t divided(const InputTensor& tensor, std::int64_t rows, std::int64_t parts) const {
    if (rows % parts == 0) return rows / parts;
    throw io::tensor_error(input_.path(), tensor.name,
                           "has " + std::to_string(rows) + " rows, which " + std::to_string(parts) +
                               " parts do not divide: it is of another model");
  }

  void add_rows(OutputTensor& made, const InputTensor& tensor, std::int64_t first, std::int64_t rows,
                bool halves_swapped) const {
    const std::int64_t columns = columns_of(tensor.shape);
    const auto add = [&](std::int64_t from, std::int64_t count) {
      if (from * columns % tensor.type.values_per_block != 0 ||
          count * columns % tensor.type.values_per_block != 0)
        throw io::tensor_error(input_.path(), tensor.name,
                               "has blocks of " + std::string(tensor.type.name) +
                                   " that lie in two parts: convert it with the layout that it has");
      made.pieces.push_back({&tensor, from * columns, count * columns});
    };
    if (!halves_swapped) return add(first, rows);
    const std::int64_t half = divided(tensor, rows, 2);
    add(first + half, half);
    add(first, half);
  }

  const InputWeights& input_;
  Table table_;
  std::vector<OutputTensor> tensors_;
  std::map<std::string, std::string> kept_prefixes_;  ///< by the prefix that names have
};

}  // namespace

bool has_two_layouts(const InputWeights& input) { return !table_of(input, kind_of(input)).empty(); }

std::vector<std::string> diffusers_names(WeightsKind kind, std::string_view name, std::int64_t unet_layers) {
  const std::string_view plain = weights::without_prefix(name);
  if (kind == WeightsKind::ldm_unet) {
    const auto ours = stable_diffusion::diffusers_unet_name(plain, unet_layers);
    return ours ? std::vector{*ours} : std::vector<std::string>{};
  }
  if (io::their_rows(table_of(kind), plain)) return {std::string(plain)};
  std::vector<std::string> names;
  for (io::NamedRows& rows : weights::our_rows_in(table_of(kind), plain))
    names.push_back(std::move(rows.name));
  return names;
}

std::int64_t unet_layers(const InputWeights& input) {
  std::vector<std::string_view> names;
  for (const InputTensor& tensor : input.tensors()) names.push_back(weights::without_prefix(tensor.name));
  return stable_diffusion::ldm_unet_layers(names);
}

std::vector<OutputTensor> arranged(const InputWeights& input, WeightsKind kind,
                                   std::optional<Layout> layout) {
  const Table table = table_of(input, kind);
  Arrangement arrangement(input, table);
  const auto is_ours = [&](const InputTensor& tensor) {
    return io::their_rows(table, weights::without_prefix(tensor.name)).has_value();
  };
  const auto is_theirs = [&](const InputTensor& tensor) {
    return !weights::our_rows_in(table, weights::without_prefix(tensor.name)).empty();
  };
  if (layout == Layout::diffusers && std::ranges::any_of(input.tensors(), is_theirs))
    arrangement.divide();
  else if (layout == Layout::bfl && std::ranges::any_of(input.tensors(), is_ours))
    arrangement.join();
  else if (layout && !table.empty())
    arrangement.keep_layout();
  else
    for (const InputTensor& tensor : input.tensors()) arrangement.keep(tensor);
  return arrangement.sorted();
}

}  // namespace precast::conversion
