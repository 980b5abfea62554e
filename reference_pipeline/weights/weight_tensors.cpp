// Sorts a component's tensors into weights and what belongs to them.
#include <algorithm>
#include <cstring>
#include <utility>

#include <formats/registry.hpp>
#include <weights/layouts.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/io/config.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::weights {

namespace {

/// Layouts of other programs, recognised by the ending of a tensor's name, and what to do about them.
struct Refused {
  std::string_view ending, what;
};
constexpr Refused refused_layouts[] = {
    {".qweight", "is a weight in nunchaku's (SVDQuant) or GPTQ's layout"},
    {"._weight_qdata", "is a weight in torchao's layout"},
    {".weight._data", "is a weight in quanto's layout"},
};

void refuse_layouts(const Companions& companions) {
  for (const auto& [name, entry] : companions.tensors)
    for (const Refused& refused : refused_layouts)
      if (name.ends_with(refused.ending))
        throw companions.error(name, std::string(refused.what) +
                                         ", which is not read: get a GGUF, fp8 or 16-bit file of this model");
}

bool is_quantised(const io::TensorEntry& weight) {
  const DtypeInfo& type = weight.dtype.info;
  return !weight.dtype.is_float || 8 * type.bytes_per_block < 16 * type.values_per_block;
}

/// Refuses tensors that lie beside a quantised weight, under the name of its layer, and belong to no format
/// that is read: scales, zero points, rotations, without which the weight would have other values.
void refuse_unread_companions(const Companions& companions) {
  for (const auto& [name, entry] : companions.tensors) {
    if (companions.used.contains(name) || name.ends_with(".comfy_attention.config")) continue;
    // Companions of LAYER.weight: LAYER.scales and the like, LAYER.weight.scale and LAYER.quantizer.scale.
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      const std::string layer = name.substr(0, dot);
      const auto weight = companions.tensors.find(layer + ".weight");
      if (weight == companions.tensors.end() || weight->first == name || name == layer + ".bias" ||
          !is_quantised(*weight->second))
        continue;
      throw companions.error(name,
                             "belongs to a quantised weight in a way that is not read: get a GGUF, fp8 "
                             "or 16-bit file of this model");
    }
  }
}

/// Finds the tensors `scaled_fp8`, which say that weights of fp8 have scales: those that begin as the mark
/// does, or, where a program has renamed the weights and not the mark, those of the whole component.
void find_marks(Companions& companions) {
  constexpr std::string_view mark = "scaled_fp8";
  const auto has_others = [&](std::string_view before) {
    auto at = companions.tensors.lower_bound(before);
    while (at != companions.tensors.end() && at->first.starts_with(before) && at->first.ends_with(mark)) ++at;
    return at != companions.tensors.end() && at->first.starts_with(before);
  };
  for (const io::TensorEntry* const entry : companions.file.tensors()) {
    const std::string_view name = entry->name;
    if (!name.ends_with(mark)) continue;
    const std::string_view before = name.substr(0, name.size() - mark.size());
    if (!before.empty() && !before.ends_with('.')) continue;
    const bool of_component = before.starts_with(companions.prefix);
    const std::string_view within = of_component ? before.substr(companions.prefix.size()) : "";
    if (of_component) companions.take(std::string(name.substr(companions.prefix.size())));
    if (of_component && has_others(within))
      companions.scaled_under.emplace_back(within);
    else if (before.empty() || are_prefixes_of_one_part(before, companions.prefix))
      companions.scaled_under.emplace_back();
  }
}

/// The decoding of a tensor in a format that this program added; nothing for others, which ops read.
std::optional<Decoding> added_decoding(const io::TensorEntry& entry) {
  for (const formats::StoredFormat& format : formats::added_formats())
    if (format.info == entry.dtype.info) {
      const auto decode = [format, bytes = entry.bytes](std::int64_t first, std::span<f32> values) {
        const auto bytes_of = [&](std::int64_t count) {
          return static_cast<std::size_t>(count / format.info.values_per_block * format.info.bytes_per_block);
        };
        format.decode(bytes.subspan(bytes_of(first), bytes_of(std::ssize(values))), values);
      };
      return Decoding{.decode = decode, .of_added_dtype = true};
    }
  return {};
}

}  // namespace

const io::TensorEntry* Companions::take(const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return nullptr;
  used.insert(name);
  return found->second;
}

InputError Companions::error(std::string_view name, const std::string& problem) const {
  return InputError(file.description() + ": tensor '" + io::printable(prefix + std::string(name)) +
                    "': " + problem);
}

WeightTensors::WeightTensors(const io::ComponentSource& file, std::string prefix)
    : file_(file), prefix_(std::move(prefix)) {
  Companions companions{file_, prefix_, {}, {}};
  for (const io::TensorEntry* entry : file_.tensors())
    if (entry->name.starts_with(prefix_))
      companions.tensors.emplace(entry->name.substr(prefix_.size()), entry);
  refuse_layouts(companions);
  find_marks(companions);

  constexpr std::string_view ending = ".weight";
  for (const auto& [name, entry] : companions.tensors) {
    if (!name.ends_with(ending)) continue;
    const std::string layer = name.substr(0, name.size() - ending.size());
    auto weight = bitsandbytes_weight(companions, layer);
    if (!weight) weight = comfy_weight(companions, layer);
    if (weight) weights_.emplace(name, std::move(*weight));
  }
  refuse_unread_companions(companions);
  for (const auto& [name, entry] : companions.tensors)
    if (!companions.used.contains(name))
      weights_.try_emplace(name, WeightTensor{entry, entry->shape, std::string(entry->dtype.info.name),
                                              std::ssize(entry->bytes), added_decoding(*entry)});
}

nn::Parameter WeightTensors::find(std::string_view name) const {
  const WeightTensor* weight = lookup(name);
  if (!weight || !weight->decoding) {
    nn::Parameter found = file_.find(prefix_ + std::string(name));
    if (weight) found.shape = weight->shape;
    return found;
  }
  const auto bytes = static_cast<std::size_t>(weight->given_bytes());
  if (last_name_ != name || !last_) {
    last_.reset();  // before the next is there too
    if (DryRun::active()) {
      last_ = std::make_shared<DryHold>(weight->given_bytes());
      last_bytes_ = {weight->stored->bytes.data(), bytes};  // which nobody reads in a dry run
    } else if (weight->held) {
      const auto blocks = std::make_shared<std::vector<std::byte>>(bytes);
      weight->held->arrange(*blocks);
      last_bytes_ = *blocks;
      last_ = blocks;
    } else {
      const auto values = std::make_shared<std::vector<f32>>(bytes / sizeof(f32));
      weight->decoding->decode(0, *values);
      last_bytes_ = std::as_bytes(std::span(*values));
      last_ = values;
    }
    last_name_ = name;
  }
  return {weight->held ? weight->held->dtype : dtype_info<f32>,
          weight->shape,
          last_bytes_,
          {},
          last_,
          weight->decoding->padded_to};
}

std::int64_t WeightTensor::row_values() const {
  const std::int64_t rows = shape.rank() ? shape[0] : 1;
  return shape.elements() / std::max<std::int64_t>(rows, 1);
}

std::int64_t WeightTensor::given_bytes() const {
  if (held) return held->bytes;
  return decoding ? shape.elements() * std::int64_t{sizeof(f32)} : std::ssize(stored->bytes);
}

std::size_t WeightTensors::bytes_to_take() const {
  std::size_t total = 0;
  for (const auto& [name, weight] : weights_) total += static_cast<std::size_t>(weight.given_bytes());
  return total;
}

bool holds_numbers(const io::TensorEntry& entry) {
  return any_dtype(ScalarDtypes{}, [&]<class T>() { return entry.dtype.info == dtype_info<T>; });
}

void read_values(const io::TensorEntry& entry, std::int64_t first, std::span<f32> to) {
  const bool known = any_dtype(ScalarDtypes{}, [&]<class T>() {
    if (entry.dtype.info != dtype_info<T>) return false;
    constexpr std::size_t chunk = 1024;
    std::array<T, chunk> aligned;
    const std::byte* bytes = entry.bytes.data() + static_cast<std::size_t>(first) * sizeof(T);
    for (std::size_t i = 0; i < to.size(); i += chunk) {
      const std::size_t some = std::min(chunk, to.size() - i);
      std::memcpy(aligned.data(), bytes + i * sizeof(T), some * sizeof(T));
      host::convert_row<f32>(std::span<const T>(aligned).first(some), to.subspan(i, some));
    }
    return true;
  });
  if (!known) throw Error("weights::read_values: '" + io::printable(entry.name) + "' holds no numbers");
}

std::vector<f32> values_of(const io::TensorEntry& entry) {
  std::vector<f32> values(static_cast<std::size_t>(entry.shape.elements()));
  read_values(entry, 0, values);
  return values;
}

void for_rows(std::int64_t rows, std::int64_t columns,
              const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t at_once = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(columns, 1));
  host::parallel_for(ceil_divide(rows, at_once), [&](std::int64_t task) {
    body(task * at_once, std::min(at_once, rows - task * at_once));
  });
}

void for_rows_in(std::span<f32> values, std::int64_t columns,
                 const std::function<void(std::int64_t, std::int64_t, std::span<f32>)>& body) {
  if (values.empty()) return;
  for_rows(std::ssize(values) / columns, columns, [&](std::int64_t first, std::int64_t count) {
    body(
        first, count,
        values.subspan(static_cast<std::size_t>(first * columns), static_cast<std::size_t>(count * columns)));
  });
}

io::Config json_of(const Companions& companions, const io::TensorEntry& entry) {
  std::string_view text(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
  text = text.substr(0, text.find_last_not_of('\0') + 1);  // which some programs fill a fixed size with
  const std::string file = companions.file.description(),
                    tensor = "tensor '" + io::printable(entry.name) + "'";
  if (entry.dtype.info.name != "u8")
    throw InputError(file + ": " + tensor + ": must be U8 that is JSON, not " +
                     std::string(entry.dtype.file_name) + ": get the file again");
  return io::Config::of_part(text, file, tensor);
}

}  // namespace precast::weights
