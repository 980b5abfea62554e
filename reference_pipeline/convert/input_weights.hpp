// InputWeights: the tensors to convert, from safetensors or GGUF, as they lie in the map; weights that have
// scales beside them as what they stand for.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <convert/value_type.hpp>
#include <families/file_of_weights.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/io/component_source.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::conversion {

/// A tensor of the input; `bytes` lives as long as the weights it came from.
struct InputTensor {
  std::string name;
  DtypeInfo type;         ///< f32 of a weight that has scales beside it
  bool is_float = false;  ///< its values can be read; others are copied
  Shape shape;
  std::span<const std::byte> bytes;                   ///< none of a weight that has scales
  const weights::WeightTensor* decoded_by = nullptr;  ///< such a weight, whose `decoding` makes its values

  /// The format that its values are stored in, and the bytes that they take.
  std::string stored_type() const { return decoded_by ? decoded_by->format : std::string(type.name); }
  std::int64_t stored_bytes() const { return decoded_by ? decoded_by->bytes : std::ssize(bytes); }
  /// The bytes of values [first, first + count), which are whole blocks.
  std::span<const std::byte> bytes_at(std::int64_t first, std::int64_t count) const {
    return bytes.subspan(static_cast<std::size_t>(bytes_of(type, first)),
                         static_cast<std::size_t>(bytes_of(type, count)));
  }
};

/// A file of tensors, safetensors or GGUF by what it begins with, or the folder of a component. Opening
/// checks all heads and reads no values.
class InputWeights {
 public:
  /// Throws InputError where a file is not what it claims to be or one of several parts, where weights are
  /// stored in a layout that is not read, and where scales belong to no weight.
  explicit InputWeights(const std::filesystem::path& path);

  InputWeights(const InputWeights&) = delete;  // tensors refer to what it holds
  InputWeights& operator=(const InputWeights&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// All tensors, sorted by name.
  const std::vector<InputTensor>& tensors() const { return tensors_; }
  const InputTensor* lookup(std::string_view name) const;
  /// The names of matrices of mxfp8 and nvfp4 whose padding of columns is left out, and of those that may
  /// have padding, which stays.
  const std::vector<std::string>& cut() const { return cut_; }
  const std::vector<std::string>& maybe_padded() const { return maybe_padded_; }
  /// The values of a GGUF file's header; empty for safetensors.
  std::span<const io::GgufValue> values() const;
  /// The texts that a safetensors file has in __metadata__.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Whether tensors are there that no Flux transformer has, as FLUX.2 and Stable Diffusion 3 have them
  /// beside some of its names, or none that takes its pooled text.
  bool differs_from_flux() const { return differs_from_flux_; }
  /// Whether that is a file that is read here, under this or another name.
  bool reads(const std::filesystem::path& file) const { return families::is_file_of(source_, file); }
  /// Gives the memory behind bytes that were read back to the system; they stay valid.
  void release_pages() const;

 private:
  void add(const std::string& name, const weights::WeightTensor& weight);
  const weights::WeightTensor& without_padding(const std::string& name, const weights::WeightTensor& weight,
                                               const std::set<std::int64_t>& lengths);
  void refuse_packed() const;

  std::filesystem::path path_;
  io::ComponentSource source_;
  std::unique_ptr<const weights::WeightTensors> weights_;
  std::deque<weights::WeightTensor> cut_weights_;  // which stay where they are
  std::vector<InputTensor> tensors_;
  std::vector<std::string> cut_, maybe_padded_;
  std::map<std::string, std::string> metadata_;
  bool differs_from_flux_ = false;
};

/// Whether a name ends as GGUF files' do.
bool names_gguf(const std::filesystem::path& path);
/// Whether a name ends as safetensors files' do.
bool names_safetensors(const std::filesystem::path& path);

}  // namespace precast::conversion
