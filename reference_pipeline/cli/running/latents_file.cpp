// Reads latents of any floating-point dtype, and writes f32.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include <cli/running/latents_file.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/write_safetensors.hpp>

namespace precast::cli {

namespace {

template <class T, class ToF32>
void widen(std::span<const std::byte> bytes, std::span<f32> to, ToF32&& to_f32) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;  // a file's bytes may be unaligned
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    to[i] = to_f32(value);
  }
}

/// If the entry has dtype T, converts its values to f32 into `to`; returns whether it has.
template <class T>
bool widened(const io::TensorEntry& entry, std::span<f32> to) {
  if (entry.dtype.info != dtype_info<T>) return false;
  widen<T>(entry.bytes, to, [](T value) { return convert<f32>(value); });
  return true;
}

}  // namespace

Tensor<f32> read_latents(const std::filesystem::path& file) {
  const io::SafetensorsFile source(file);
  const io::TensorEntry* entry = source.lookup("latents");
  if (!entry)
    throw io::file_error(file,
                         "has no tensor 'latents': give a file that --save-latents wrote, or one like it");
  if (source.tensors().size() != 1)
    throw io::file_error(file, "holds " + std::to_string(source.tensors().size()) +
                                   " tensors: a latents file holds 'latents' alone");
  if (entry->shape.rank() != 3 && entry->shape.rank() != 4)
    throw io::tensor_error(file, "latents",
                           "has shape " + to_string(entry->shape) +
                               ": Flux's latents are packed, [pictures, tokens, channels], and Stable "
                               "Diffusion's [pictures, channels, height, width]");
  Tensor<f32> latents(entry->shape);
  const std::span<f32> values = latents.values();
  const bool known = any_dtype(ScalarDtypes{}, [&]<class T>() { return widened<T>(*entry, values); });
  if (!known && entry->dtype.is_float)
    widen<double>(entry->bytes, values, [](double value) { return static_cast<f32>(value); });
  else if (!known)
    throw io::tensor_error(file, "latents",
                           "has dtype " + std::string(entry->dtype.file_name) +
                               ": latents are numbers such as F32, BF16 or F16");
  const auto lost = std::ranges::find_if(values, [](f32 value) { return !std::isfinite(value); });
  if (lost != values.end())
    throw io::tensor_error(file, "latents",
                           "value " + std::to_string(lost - values.begin()) + " is " + std::to_string(*lost) +
                               ": noise to start from must be finite: save it again");
  return latents;
}

void write_latents(const std::filesystem::path& file, HostView<const f32> latents, io::OldFile old) {
  const std::array tensors{io::NamedTensor{"latents", latents}};
  io::write_safetensors(file, tensors, {}, old);
}

}  // namespace precast::cli
