// cost.json: what casting each layer of a model to each format costs, as it was measured.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace precast::casting {

/// One layer in one format. A number that was not measured is empty; a measured one that is not finite is
/// infinity or NaN.
struct TypeCost {
  std::optional<double> bits;           ///< per value, scales of blocks included
  std::optional<double> cost;           ///< mean squared error of the hidden state after the last block
  std::optional<double> loss;           ///< mean squared error of this layer's own output
  std::optional<double> relative_cost;  ///< cost over the mean square of that hidden state
  std::optional<double> relative_loss;  ///< loss over the mean square of that output
  /// An estimate of the loss from weights and the size of inputs (LossEstimate).
  std::optional<double> estimate = std::nullopt;

  /// Pointers to all of its numbers.
  static constexpr std::array<std::optional<double> TypeCost::*, 6> numbers() {
    return {&TypeCost::bits,          &TypeCost::cost,          &TypeCost::loss,
            &TypeCost::relative_cost, &TypeCost::relative_loss, &TypeCost::estimate};
  }
  bool measured() const { return cost || loss || relative_cost || relative_loss; }

  friend bool operator==(const TypeCost& a, const TypeCost& b);
};

/// Whether two numbers are the same. NaN equals NaN: both were measured as no number.
inline bool same_number(std::optional<double> a, std::optional<double> b) {
  return a == b || (a && b && std::isnan(*a) && std::isnan(*b));
}

inline bool operator==(const TypeCost& a, const TypeCost& b) {
  return std::ranges::all_of(TypeCost::numbers(),
                             [&](auto number) { return same_number(a.*number, b.*number); });
}

/// A layer, and what each format of it costs.
struct LayerCost {
  std::string name;                        ///< "transformer_blocks.0": what its tensors' names begin with
  std::optional<std::int64_t> parameters;  ///< number of values that are cast
  std::map<std::string, TypeCost> types;   ///< by the format's name

  friend bool operator==(const LayerCost&, const LayerCost&) = default;
};

/// How numbers were measured.
struct CostConditions {
  std::string granularity = {};           ///< what was cast at a time: "layer"
  bool biases = false;                    ///< whether biases were cast, too
  std::optional<std::string> patch = {};  ///< the file whose weights replaced the model's
  /// A hash of the recorded inputs, and the policy that they ran under. Empty for estimates alone, which
  /// run nothing.
  std::optional<std::string> samples = {}, policy = {};
  std::optional<std::string> weights = {};  ///< a hash of the weights that were cast

  friend bool operator==(const CostConditions&, const CostConditions&) = default;

  CostConditions without_weights() const;
  /// The conditions of the cast alone: granularity, biases and patch.
  CostConditions of_cast() const;
  /// "samples 0123456789abcdef, quality", or "estimates".
  std::string inputs_in_words() const;
  /// inputs_in_words() and ", by layer, biases kept".
  std::string in_words() const;
};

/// A whole cost file. Its layers are in the order of the model.
struct CostFile {
  std::optional<std::string> model;
  std::optional<std::int64_t> samples;     ///< recorded inputs that the numbers are averages over
  std::optional<CostConditions> settings;  ///< of all numbers; merged files must agree on them
  /// The importance that estimates were made from; merged files must agree on it. Empty without estimates.
  std::optional<std::string> estimates = std::nullopt;
  std::vector<LayerCost> layers;
  /// Names of the measurement's layers that this file does not have, since it is a part of a sweep or was
  /// interrupted.
  std::vector<std::string> missing = {};
  /// Names of all layers of the model, in the order in which they run; merge_costs sorts by it. Empty in a
  /// file that was written by hand.
  std::vector<std::string> order = {};

  /// Whether any layer has an estimate.
  bool has_estimates() const;

  friend bool operator==(const CostFile&, const CostFile&) = default;

  /// The formats that any layer has, by falling number of bits; formats of unknown bits are last.
  std::vector<std::string> types() const;
  /// The bits per value of a format: the mean over the file's layers that have it, weighted by parameters;
  /// else those of the format in this build.
  std::optional<double> bits_of(const std::string& type) const;
};

/// Reads {"model": TEXT, "samples": N, "settings": {"granularity": TEXT, "biases": BOOLEAN, "patch": TEXT,
/// "samples": TEXT, "policy": TEXT, "weights": TEXT}, "estimates": TEXT, "missing": [TEXT], "order":
/// [TEXT], "layers": [{"name": TEXT, "parameters": N, "types": {TYPE: {"bits": X, "cost": X, "loss": X,
/// "relative_cost": X, "relative_loss": X, "estimate": X}}}]}. A key that is absent or null is unknown;
/// only "layers" and each "name" are required. Keys of other names are ignored, and so are settings that are
/// no object with granularity and biases. Numbers that are not finite are the strings "inf" and "nan". Throws
/// InputError, which names the file, the layer, the format and the key, for values of another type or out of
/// range, and for duplicate names.
CostFile read_cost_file(const std::filesystem::path& path);

/// Reads a cost file's text; `path` is for messages.
CostFile parse_cost_file(std::string_view text, const std::filesystem::path& path);

/// The file as text, which reads back as the same values.
std::string cost_file_text(const CostFile& file);

/// Writes it, whole or not at all. Throws InputError that names the file.
void write_cost_file(const std::filesystem::path& path, const CostFile& file);

}  // namespace precast::casting
