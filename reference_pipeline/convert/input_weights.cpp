// Opens either kind of file and gives both one list of tensors.
#include <array>

#include <convert/input_weights.hpp>
#include <convert/padding.hpp>
#include <convert/value_type.hpp>
#include <weights/layouts.hpp>

#include <precast/io/named_tensor.hpp>
#include <precast/io/suffix.hpp>

namespace precast::conversion {

namespace fs = std::filesystem;

namespace {

/// Endings of tensors that stand beside weights stored as integers, or as floats under scales. A tensor that
/// is left with such a name belongs to no weight that is read.
struct PackedMark {
  std::string_view end, what;
};
constexpr std::array packed_marks{
    PackedMark{".scale_weight", "scaled fp8"},
    PackedMark{".weight_scale", "scaled weights"},
    PackedMark{".weight_scale_2", "nvfp4 weights"},
    PackedMark{".comfy_quant", "ComfyUI's quantised weights"},
    PackedMark{".absmax", "weights of bitsandbytes"},
    PackedMark{".SCB", "int8 weights of bitsandbytes"},
};

}  // namespace

bool names_gguf(const fs::path& path) { return io::suffix_of(path) == ".gguf"; }
bool names_safetensors(const fs::path& path) { return io::suffix_of(path) == ".safetensors"; }

InputWeights::InputWeights(const fs::path& path) : path_(path), source_(path) {
  weights_ = std::make_unique<const weights::WeightTensors>(source_, "");
  std::set<std::int64_t> lengths;
  for (const auto& [name, weight] : weights_->all())
    if (weight.shape.rank() == 1) lengths.insert(weight.shape[0]);
  for (const auto& [name, weight] : weights_->all()) add(name, without_padding(name, weight, lengths));
  for (const io::TensorFile& file : source_.files())
    if (const io::SafetensorsFile* const safetensors = file.safetensors())
      metadata_.insert(safetensors->metadata().begin(), safetensors->metadata().end());
  refuse_packed();
  if (tensors_.empty()) throw io::file_error(path_, "holds no weights: get the file again");
  differs_from_flux_ = weights::differs_from_flux(source_);
  metadata_.erase("_quantization_metadata");  // which says what lies in this file
  release_pages();                            // where zeros were looked for
}

const weights::WeightTensor& InputWeights::without_padding(const std::string& name,
                                                           const weights::WeightTensor& weight,
                                                           const std::set<std::int64_t>& lengths) {
  const Padding padding = padding_of(weight, lengths);
  if (padding.zeros == 0) return weight;
  if (padding.columns == 0) {
    maybe_padded_.push_back(name);
    return weight;
  }
  cut_.push_back(name);
  return cut_weights_.emplace_back(first_columns(weight, padding.columns));
}

void InputWeights::add(const std::string& name, const weights::WeightTensor& weight) {
  const io::TensorEntry& entry = *weight.stored;
  const DtypeInfo& type = entry.dtype.info;
  const bool is_float = is_readable(type);
  if (weight.decoding && !weight.decoding->of_added_dtype) {
    tensors_.push_back({.name = name,
                        .type = dtype_info<f32>,
                        .is_float = true,
                        .shape = weight.shape,
                        .bytes = {},
                        .decoded_by = &weight});
    return;
  }
  if (!is_float && (type.values_per_block > 1 || entry.dtype.is_unread))
    throw io::tensor_error(path_, entry.name,
                           "is of type " + std::string(type.name) +
                               ", whose values are not read here: get a file of another type");
  tensors_.push_back({name, type, is_float, entry.shape, entry.bytes});
}

void InputWeights::refuse_packed() const {
  for (const InputTensor& tensor : tensors_)
    for (const PackedMark& mark : packed_marks)
      if (tensor.name.ends_with(mark.end))
        throw io::tensor_error(
            path_, tensor.name,
            "belongs to " + std::string(mark.what) +
                ", and to no layer that convert reads: get the model in bf16, f16 or GGUF");
}

const InputTensor* InputWeights::lookup(std::string_view name) const {
  return io::find_tensor(tensors_, name);
}

std::span<const io::GgufValue> InputWeights::values() const {
  const io::GgufFile* const gguf = source_.files().front().gguf();
  return gguf ? std::span<const io::GgufValue>(gguf->values()) : std::span<const io::GgufValue>{};
}

void InputWeights::release_pages() const {
  for (const io::TensorFile& file : source_.files()) file.release_pages();
}

}  // namespace precast::conversion
