// WeightTensors: the weights of one component as they lie in a file, those that a program stored with scales
// beside them made whole.
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

/// Writes values [first, first + values.size()) of a weight as f32, each computed in f32: whole runs of it
/// (WeightTensor::run_values). Several threads may call it.
using Decode = std::function<void(std::int64_t first, std::span<f32> values)>;
/// Writes a weight's bytes in a block format.
using Arrange = std::function<void(std::span<std::byte>)>;

/// The codes of a matrix with their scales beside them, as they lie in a file: for those who write the same
/// format, and move them.
struct StoredCodes {
  std::string_view announced;                  ///< ComfyUI's name of the format; empty of all others
  const io::TensorEntry* scales = nullptr;     ///< one, one a row, or one for each block of a row, swizzled
  const io::TensorEntry* of_scales = nullptr;  ///< nvfp4: the one by which all of these are multiplied
};

/// A weight, and what it lies as.
struct WeightTensor {
  const io::TensorEntry* stored = nullptr;
  Shape shape;             ///< of the weight, which packed values hide
  std::string format;      ///< "bf16", "fp8_e4m3 with a scale", "nf4"
  Decode decode;           ///< empty where the bytes are values or blocks of a dtype
  std::int64_t bytes = 0;  ///< with its scales
  /// A block format that holds the same values, in so many bytes, where there is one in this build.
  DtypeInfo held{};
  std::int64_t held_bytes = 0;
  Arrange arrange{};
  /// Rows and columns may have been padded to multiples of this.
  std::int64_t padded_to = 1;
  /// Of matrices that ComfyUI stores, `stored` being the codes; not of those that were rotated.
  StoredCodes codes{};

  /// How many values `decode` writes at a time, which divides a row; 0: whole rows.
  std::int64_t run = 0;

  /// Values in a row.
  std::int64_t row_values() const;
  /// Values in a run, of which `decode` writes whole ones.
  std::int64_t run_values() const { return run > 0 ? run : row_values(); }
  /// Bytes that WeightTensors::find gives for it where it has scales.
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
  /// Whether a weight's name begins so.
  bool has_names_beginning(std::string_view start) const {
    const auto at = weights_.lower_bound(start);
    return at != weights_.end() && at->first.starts_with(start);
  }
  /// A matrix that has scales is given in blocks where a block format of this build holds the same values, so
  /// that a linear layer keeps it as it is; else it is decoded to f32. The last one stays, for those who take
  /// it in parts.
  nn::Parameter find(std::string_view name) const override;
  std::string description() const override { return file_.description(); }
  void taken(std::size_t bytes) const override { file_.taken(bytes); }
  /// Bytes of all that `find` gives: what progress counts to.
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
  /// What the headers of the files announce of layers, by their names; read when it is first asked for.
  std::optional<HeaderAnnouncements> announced{};
  /// How names begin under which a tensor `scaled_fp8` says that weights of fp8 have scales.
  std::vector<std::string> scaled_under{};

  /// The tensor of that name, which is from now on no weight; nullptr where there is none.
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
/// The values of a tensor as f32. Throws Error where holds_numbers says no, which callers, who know the file,
/// refuse first.
std::vector<f32> values_of(const io::TensorEntry& entry);
/// Values [first, first + to.size()) of it.
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
