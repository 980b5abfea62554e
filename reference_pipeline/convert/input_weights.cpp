// Opens either kind of file and gives both one list of tensors.
#include <algorithm>
#include <array>

#include <convert/input_weights.hpp>
#include <convert/value_type.hpp>

namespace precast::conversion {

namespace fs = std::filesystem;

namespace {

/// How names end of what stands beside weights that are stored as integers, or as floats under scales.
struct PackedMark {
  std::string_view end, what;
};
constexpr std::array packed_marks{
    PackedMark{"scaled_fp8", "scaled fp8"},
    PackedMark{".scale_weight", "scaled fp8"},
    PackedMark{".weight_scale", "scaled weights"},
    PackedMark{".weight_scale_2", "nvfp4 weights"},
    PackedMark{".comfy_quant", "ComfyUI's quantised weights"},
    PackedMark{".absmax", "weights of bitsandbytes"},
    PackedMark{".SCB", "int8 weights of bitsandbytes"},
    PackedMark{"._weight_qdata", "weights of torchao"},
    PackedMark{".weight._data", "weights of quanto"},
    PackedMark{".qweight", "packed integer weights"},
};

/// GGUF drops trailing sizes of 1 and knows rows of whole blocks alone; what a tensor's shape was stands
/// beside it then.
constexpr std::string_view shape_key = "comfy.gguf.orig_shape.";

}  // namespace

bool names_gguf(const fs::path& path) { return path.extension() == ".gguf"; }
bool names_safetensors(const fs::path& path) {
  return path.extension() == ".safetensors" || path.string().ends_with(".safetensors.index.json");
}

InputWeights::InputWeights(const fs::path& path) : path_(path) {
  if (names_gguf(path))
    open_gguf();
  else
    open_safetensors();
  refuse_packed();
}

void InputWeights::open_gguf() {
  gguf_.emplace(path_);
  for (const io::GgufTensor& tensor : gguf_->tensors()) {
    Shape shape = tensor.shape;
    if (const io::GgufValue* stated = gguf_->value(std::string(shape_key) + tensor.name);
        stated && stated->is_array()) {
      const std::vector<std::int64_t> sizes = stated->integers();
      if (sizes.size() > Shape::max_rank ||
          std::ranges::any_of(sizes, [](std::int64_t s) { return s < 0; }) ||
          Shape(std::span(sizes)).elements() != shape.elements())
        throw io::tensor_error(path_, tensor.name,
                               "key '" + std::string(stated->key()) +
                                   "' says another number of values than " + to_string(shape) +
                                   ": get the file anew");
      shape = Shape(std::span(sizes));
    }
    const bool is_float = is_readable(tensor.type.info);
    const std::string_view type = tensor.type.info.name;
    const bool is_integer = type.starts_with('i') && type.find_first_not_of("i0123456789") == type.npos;
    if (!is_float && !is_integer)
      throw io::tensor_error(path_, tensor.name,
                             "is of type " + io::gguf_name(tensor.type) +
                                 ", whose values are not read here: get a file of another type");
    tensors_.push_back({tensor.name, tensor.type.info, is_float, shape, tensor.bytes});
  }
}

void InputWeights::open_safetensors() {
  safetensors_.emplace(path_);
  for (const io::TensorEntry* entry : safetensors_->tensors())
    tensors_.push_back(
        {entry->name, entry->dtype.info, is_readable(entry->dtype.info), entry->shape, entry->bytes});
  for (const io::SafetensorsFile& file : safetensors_->files())
    metadata_.insert(file.metadata().begin(), file.metadata().end());
}

void InputWeights::refuse_packed() const {
  for (const InputTensor& tensor : tensors_)
    for (const PackedMark& mark : packed_marks)
      if (tensor.name.ends_with(mark.end))
        throw io::tensor_error(path_, tensor.name,
                               "belongs to " + std::string(mark.what) +
                                   ", which convert does not read: get the model in "
                                   "bf16, f16 or GGUF");
  if (metadata_.contains("_quantization_metadata"))
    throw io::file_error(path_,
                         "says in its __metadata__ that its weights are quantised, which convert does "
                         "not read: get the model in bf16, f16 or GGUF");
}

const InputTensor* InputWeights::lookup(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &InputTensor::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

std::span<const io::GgufValue> InputWeights::values() const {
  return gguf_ ? std::span<const io::GgufValue>(gguf_->values()) : std::span<const io::GgufValue>{};
}

std::vector<fs::path> InputWeights::files() const {
  if (gguf_) return {gguf_->path()};
  std::vector<fs::path> files;
  for (const io::SafetensorsFile& file : safetensors_->files()) files.push_back(file.path());
  return files;
}

void InputWeights::release_pages() const {
  if (gguf_) gguf_->release_pages();
  if (safetensors_)
    for (const io::SafetensorsFile& file : safetensors_->files()) file.release_pages();
}

}  // namespace precast::conversion
