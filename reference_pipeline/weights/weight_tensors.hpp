// WeightTensors: the weights of one component in a file. Weights that a program stored with separate scales
// are combined with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weights/header_announcements.hpp>

#include <precast/io/component_source.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::weights {

/// The codes of a matrix and their scales, as stored in a file, for writers of the same format, which copy
/// them.
struct StoredCodes {
  std::string_view announced;                  ///< ComfyUI's name of the format
  const io::TensorEntry* scales = nullptr;     ///< one, one a row, or one for each block of a row, swizzled
  const io::TensorEntry* of_scales = nullptr;  ///< nvfp4: the scale that multiplies all of these
};

/// How a weight that ops cannot read as stored is decoded to f32.
struct Decoding {
  /// Writes values [first, first + values.size()) of the weight, each computed in f32: whole runs of it.
  /// Several threads may call it.
  std::function<void(std::int64_t first, std::span<f32> values)> decode;
  std::int64_t run = 0;         ///< values that it writes at a time, a divisor of a row; 0: whole rows
  std::int64_t padded_to = 1;   ///< rows and columns may have been padded to multiples of this
  bool of_added_dtype = false;  ///< whether the weight is in a dtype that a program added, without scales
  std::optional<StoredCodes> codes{};  ///< of ComfyUI's matrices, except rotated ones
};

/// A weight's values in a block format of this build.
struct HeldBlocks {
  DtypeInfo dtype;
  std::int64_t bytes = 0;
  std::function<void(std::span<std::byte>)> arrange;  ///< writes the blocks
};

/// A weight, and how it is stored.
struct WeightTensor {
  const io::TensorEntry* stored = nullptr;
  Shape shape;                         ///< of the weight, which packed values hide
  std::string format;                  ///< "bf16", "fp8_e4m3 with a scale", "nf4"
  std::int64_t bytes = 0;              ///< with its scales
  std::optional<Decoding> decoding{};  ///< nothing where ops read the bytes as stored
  std::optional<HeldBlocks> held{};    ///< where a block format holds the decoded values

  /// Values in a row.
  std::int64_t row_values() const;
  /// Values in a run; `decode` writes whole runs.
  std::int64_t run_values() const { return decoding->run > 0 ? decoding->run : row_values(); }
  /// Bytes that WeightTensors::find returns for it.
  std::int64_t given_bytes() const;
};

/// The weights whose names begin with a prefix, by what follows it. Tensors that belong to a weight (scales,
/// maps, descriptions) are no weights of their own. Opening reads heads and descriptions, no values.
class WeightTensors final : public nn::ParameterSource {
 public:
  /// `file` must outlive it. Throws InputError, which names file and tensor, for a scale that is announced
  /// and missing or of the wrong size, and for formats that are not read.
  WeightTensors(const io::ComponentSource& file, std::string prefix);

  const std::map<std::string, WeightTensor, std::less<>>& all() const { return weights_; }
  /// The weight of that name, or nullptr.
  const WeightTensor* lookup(std::string_view name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : &found->second;
  }

  bool contains(std::string_view name) const override { return lookup(name); }
  /// Whether any weight's name begins with `start`.
  bool has_names_beginning(std::string_view start) const {
    const auto at = weights_.lower_bound(start);
    return at != weights_.end() && at->first.starts_with(start);
  }
  /// Returns a matrix with scales in blocks where a block format of this build holds the same values, so
  /// that a linear layer keeps it encoded; else decoded to f32. The last result is cached for callers that
  /// read it in parts.
  nn::Parameter find(std::string_view name) const override;
  std::string description() const override { return file_.description(); }
  void taken(std::size_t bytes) const override { file_.taken(bytes); }
  /// Bytes of all that `find` returns: the total of progress.
  std::size_t bytes_to_take() const;

 private:
  const io::ComponentSource& file_;
  std::string prefix_;
  std::map<std::string, WeightTensor, std::less<>> weights_;
  mutable std::string last_name_;
  mutable std::shared_ptr<const void> last_;
  mutable std::span<const std::byte> last_bytes_;
};

/// A component's tensors by name without the prefix, and which of them were found to belong to others.
struct Companions {
  const io::ComponentSource& file;
  std::string prefix;
  std::map<std::string, const io::TensorEntry*, std::less<>> tensors;
  std::set<std::string, std::less<>> used;
  /// The announcements in the headers of the files, read when one is first asked for.
  std::optional<HeaderAnnouncements> announced{};
  /// Prefixes of names under which a tensor `scaled_fp8` says that weights of fp8 have scales.
  std::vector<std::string> scaled_under{};

  /// The tensor of that name, which is marked as no weight; nullptr where there is none.
  const io::TensorEntry* take(const std::string& name);
  /// "FILE: tensor 'x': problem".
  InputError error(std::string_view name, const std::string& problem) const;
};

/// Weights that ComfyUI stores: fp8 with scales in both spellings, int8, mxfp8, nvfp4. Nothing where
/// `name`.weight is stored without.
std::optional<WeightTensor> comfy_weight(Companions& companions, const std::string& layer);
/// Weights that bitsandbytes stores: nf4, fp4, int8 by rows.
std::optional<WeightTensor> bitsandbytes_weight(Companions& companions, const std::string& layer);

/// Whether a tensor is of scalars that read_values and values_of read.
bool holds_numbers(const io::TensorEntry& entry);
/// The values of a tensor as f32. Throws Error where holds_numbers says no, which callers, who know the
/// file, refuse first.
std::vector<f32> values_of(const io::TensorEntry& entry);
/// Values [first, first + to.size()) of a tensor as f32.
void read_values(const io::TensorEntry& entry, std::int64_t first, std::span<f32> to);
/// Calls body(first_row, rows) for groups of a matrix's rows, on all threads.
void for_rows(std::int64_t rows, std::int64_t columns,
              const std::function<void(std::int64_t, std::int64_t)>& body);
/// Calls body(first_row, rows, values) for groups of the rows that `values` are, on all threads.
void for_rows_in(std::span<f32> values, std::int64_t columns,
                 const std::function<void(std::int64_t, std::int64_t, std::span<f32>)>& body);
/// A U8 tensor that is a JSON object.
io::Config json_of(const Companions& companions, const io::TensorEntry& entry);

}  // namespace precast::weights
