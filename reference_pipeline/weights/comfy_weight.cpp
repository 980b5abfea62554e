// Weights that ComfyUI stores with scales beside them: reads the announcement of their format.
#include <algorithm>
#include <optional>
#include <utility>

#include <weights/comfy_formats.hpp>
#include <weights/comfy_parts.hpp>
#include <weights/layouts.hpp>

namespace precast::weights {

namespace {

/// The announced format of a layer, from a tensor of its own or from the file's header.
struct Announced {
  std::string format;
  std::optional<nlohmann::json> rotated_by;  ///< columns in a group that a rotation was applied to
};

/// Whether a layer is stored as by ComfyUI-INT8-Fast, which does not announce the format.
bool is_int8_with_scale(const Companions& companions, const std::string& layer) {
  return companions.tensors.at(layer + ".weight")->dtype.info == int8_info &&
         companions.tensors.contains(layer + ".weight_scale");
}

/// A layer's format from a JSON object. Throws InputError for an announcement that is not understood.
Announced announced_in(const Companions& companions, const std::string& layer, const nlohmann::json& object) {
  const std::string name = layer + ".weight";
  Announced announced;
  if (const auto format = object.is_object() ? object.find("format") : object.end();
      object.is_object() && format != object.end() && format->is_string())
    announced.format = format->get<std::string>();
  else if (object.is_object() && format == object.end() && is_int8_with_scale(companions, layer))
    announced.format = "int8_tensorwise";
  if (announced.format.empty())
    throw companions.error(name, "is announced without the name of its format: get the file again");
  // A key is beside the format or under `params`; where it is in both, ComfyUI reads the first.
  const auto said = [&](const char* key) -> const nlohmann::json* {
    if (const auto own = object.find(key); own != object.end()) return &*own;
    const auto params = object.find("params");
    if (params == object.end() || !params->is_object()) return nullptr;
    const auto inner = params->find(key);
    return inner == params->end() ? nullptr : &*inner;
  };
  if (const nlohmann::json* const rotated = said("convrot")) {
    if (!rotated->is_boolean())
      throw companions.error(name, "is announced with a convrot of " + io::json_in_words(*rotated) +
                                       " where true or false is expected: get the file again");
    const nlohmann::json* const group = said("convrot_groupsize");
    if (*rotated) announced.rotated_by = group ? *group : nlohmann::json(256);
  }
  return announced;
}

/// "not rotated", or "rotated in groups of N".
std::string rotation_in_words(const Announced& announced) {
  return announced.rotated_by ? "rotated in groups of " + io::json_in_words(*announced.rotated_by)
                              : "not rotated";
}

/// A layer's format by the headers, which have it under its name in the file or without the prefix (readers
/// of a file's tensors as they are do not split it off). A weight of codes may have it under another prefix
/// too.
Announced in_header(Companions& companions, const std::string& layer, const io::TensorEntry& stored) {
  if (!companions.announced) companions.announced.emplace(companions.file);
  const std::string full = companions.prefix + layer;
  const std::string_view plain = without_prefix(full);
  for (const std::string_view name : {std::string_view(full), std::string_view(layer), plain})
    if (const nlohmann::json* const said = companions.announced->of(name))
      return announced_in(companions, layer, *said);
  if (8 * stored.dtype.info.bytes_per_block < 16 * stored.dtype.info.values_per_block)
    if (const nlohmann::json* const said = companions.announced->of_any_prefix(plain))
      return announced_in(companions, layer, *said);
  return {};
}

/// The scale of a weight that NVIDIA's ModelOpt stored in fp8, by which its codes are multiplied; nullptr
/// where it stored none. Its measured largest magnitudes, of weights and activations, do not affect the
/// values.
const io::TensorEntry* take_modelopt_scale(Companions& companions, const std::string& layer,
                                           const io::TensorEntry& stored) {
  const std::string quantizer = layer + ".weight_quantizer.";
  const io::TensorEntry* const scale = companions.take(quantizer + "_scale");
  if (!scale) return nullptr;
  if (stored.dtype.info != dtype_info<fp8_e4m3> || companions.tensors.contains(quantizer + "_double_scale"))
    throw companions.error(layer + ".weight",
                           "is a weight of ModelOpt in another format than fp8, which is not read: get a "
                           "GGUF, fp8 or 16-bit file of this model");
  companions.take(quantizer + "_amax");
  companions.take(layer + ".input_quantizer._amax");
  companions.take(layer + ".output_quantizer._amax");
  return scale;
}

bool is_fp8(const io::TensorEntry& entry) { return entry.dtype.info.name.starts_with("fp8"); }

/// The number of columns in each group that a rotation was applied to.
std::int64_t rotated_columns(const Companions& companions, const std::string& name,
                             const nlohmann::json& given, std::int64_t columns) {
  const std::int64_t group = given.is_number_integer() ? given.get<std::int64_t>() : 0;
  bool power_of_four = group > 0;
  for (std::int64_t left = group; left > 1; left /= 4) power_of_four = power_of_four && left % 4 == 0;
  if (power_of_four && columns != 0 && columns % group == 0) return group;
  throw companions.error(
      name, "was rotated in groups of " + io::json_in_words(given) + " of its " + std::to_string(columns) +
                " columns, which is not a power of 4 that divides them: get the file again");
}

}  // namespace

const io::TensorEntry* take_scale(Companions& companions, const std::string& layer) {
  const io::TensorEntry* old_name = companions.take(layer + ".scale_weight");
  const io::TensorEntry* new_name = companions.take(layer + ".weight_scale");
  if (old_name && new_name)
    throw companions.error(layer + ".weight",
                           "has both a scale_weight and a weight_scale: get the file again");
  return old_name ? old_name : new_name;
}

std::optional<WeightTensor> comfy_weight(Companions& companions, const std::string& layer) {
  const std::string name = layer + ".weight";
  const io::TensorEntry& stored = *companions.tensors.at(name);
  Announced announced = in_header(companions, layer, stored);
  if (const io::TensorEntry* own = companions.take(layer + ".comfy_quant")) {
    Announced by_tensor = announced_in(companions, layer, json_of(companions, *own).json());
    if (!announced.format.empty() && announced.format != by_tensor.format)
      throw companions.error(name, "is announced as " + io::printable(by_tensor.format, 40) +
                                       " beside it and as " + io::printable(announced.format, 40) +
                                       " in the file's header: get the file again");
    if (!announced.format.empty() && announced.rotated_by != by_tensor.rotated_by)
      throw companions.error(name, "is announced as " + rotation_in_words(by_tensor) + " beside it and as " +
                                       rotation_in_words(announced) +
                                       " in the file's header: get the file again");
    announced = std::move(by_tensor);
  }
  companions.take(layer + ".scale_input");  // for activations, which are not quantised here
  companions.take(layer + ".input_scale");

  if (announced.format == comfy_mxfp8.announced) return mxfp8_weight(companions, layer, stored);
  if (announced.format == comfy_nvfp4.announced) return nvfp4_weight(companions, layer, stored);
  const ComfyFormat* const format = comfy_row_format(announced.format);
  if (!announced.format.empty() && !format)
    throw companions.error(name, "is announced as '" + io::printable(announced.format, 40) +
                                     "', which is not read: get a GGUF, fp8 or 16-bit file of this model");
  const bool is_int8 = stored.dtype.info == int8_info;
  if (format && stored.dtype.info.name != format->codes.name)
    throw companions.error(name, "is announced as " + announced.format + " and is " +
                                     std::string(stored.dtype.file_name) + ": get the file again");

  const io::TensorEntry* scale = take_scale(companions, layer);
  if (!scale) scale = take_modelopt_scale(companions, layer, stored);
  if (!scale && !format && !stored.dtype.is_float && stored.dtype.info.values_per_block == 1 &&
      companions.tensors.contains(layer + ".scale"))
    throw companions.error(name,
                           "is a weight in SDNQ's layout, which is not read: get a GGUF, fp8 or 16-bit file "
                           "of this model");
  const bool marked = is_fp8(stored) && std::ranges::any_of(companions.scaled_under, [&](const auto& before) {
                        return layer.starts_with(before);
                      });
  if (!scale && (format || marked || is_int8))
    throw companions.error(name, std::string("has no scale, ") +
                                     (format   ? "which its format announces"
                                      : marked ? "which the file's tensor scaled_fp8 announces"
                                               : "without which integers are not weights") +
                                     ": get the file again");
  if (!scale && is_fp8(stored) && !companions.announced->without_weight().empty())
    throw companions.error(
        name, "has no scale, and the file's header announces the format of '" +
                  io::printable(companions.announced->without_weight(), 80) +
                  "', which is not a layer of the file: it may be this one's. Get the file again");
  if (!scale) return std::nullopt;
  if (stored.dtype.info.values_per_block != 1)
    throw companions.error(name, "has a scale beside blocks that have their own: get the file again");
  if (!holds_numbers(stored) && !is_int8)
    throw companions.error(name, "has a scale and is " + std::string(stored.dtype.file_name) +
                                     " of a format that nothing announces: get the file again");
  if (!announced.rotated_by) return scaled_rows_weight(companions, layer, stored, *scale);
  return rotated_rows_weight(companions, layer, stored, *scale,
                             rotated_columns(companions, name, *announced.rotated_by, stored.shape.back()));
}

}  // namespace precast::weights
