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

#include <casting/layer_order.hpp>

namespace precast::casting {

/// One layer in one format. What was not measured is nothing; what was and is no finite number is infinity or
/// NaN.
struct TypeCost {
  std::optional<double> bits;           ///< of a value, scales of blocks included
  std::optional<double> cost;           ///< mean squared error of the hidden state after the last block
  std::optional<double> loss;           ///< mean squared error of this layer's own output
  std::optional<double> relative_cost;  ///< over the mean square of that hidden state
  std::optional<double> relative_loss;  ///< over the mean square of that output
  /// How large it is as far as weights and the size of inputs tell (LossEstimate).
  std::optional<double> estimate = std::nullopt;

  /// Its numbers, all of them.
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
  std::optional<std::int64_t> parameters;  ///< that the cast reaches
  std::map<std::string, TypeCost> types;   ///< by the format's name

  friend bool operator==(const LayerCost&, const LayerCost&) = default;
};

/// How numbers were measured.
struct CostConditions {
  std::string granularity = {};           ///< what was cast at a time: "layer"
  bool biases = false;                    ///< whether they were cast, too
  std::optional<std::string> patch = {};  ///< the file whose weights took the places of the model's
  /// A hash of the recorded inputs, and the policy that they ran under. Nothing of estimates alone, for which
  /// nothing runs.
  std::optional<std::string> samples = {}, policy = {};
  std::optional<std::string> weights = {};  ///< a hash of those that were cast

  friend bool operator==(const CostConditions&, const CostConditions&) = default;

  CostConditions without_weights() const;
  /// How layers were cast, whatever ran.
  CostConditions of_cast() const;
  /// "samples 0123456789abcdef, quality", or "estimates".
  std::string inputs_in_words() const;
  /// The same, and ", by layer, biases kept".
  std::string in_words() const;
};

/// A whole cost file. Layers stand in the order of the model.
struct CostFile {
  std::optional<std::string> model;
  std::optional<std::int64_t> samples;     ///< recorded inputs that the numbers are averages over
  std::optional<CostConditions> settings;  ///< numbers of other settings are no company
  /// What the estimates were made from: other importances are no company. Nothing where there is no estimate.
  std::optional<std::string> estimates = std::nullopt;
  std::vector<LayerCost> layers;
  /// Names of those that the measurement has as well, and this file does not: it is a part of a sweep, or was
  /// interrupted.
  std::vector<std::string> missing = {};
  /// Names of all layers that the model has, in the order in which they run: files of several parts are put
  /// together by it. Nothing in files of before it was written.
  std::vector<std::string> order = {};

  /// Whether any layer has an estimate.
  bool has_estimates() const;

  friend bool operator==(const CostFile&, const CostFile&) = default;

  /// The formats that any layer has, by falling number of bits; those whose bits nobody says are last.
  std::vector<std::string> types() const;
  /// The bits of a format as the file says them, by parameters the mean of all layers that have it, else as
  /// this build knows them.
  std::optional<double> bits_of(const std::string& type) const;
};

/// Reads {"model": TEXT, "samples": N, "settings": {"granularity": TEXT, "biases": BOOLEAN, "patch": TEXT,
/// "samples": TEXT, "policy": TEXT, "weights": TEXT}, "estimates": TEXT, "missing": [TEXT], "order": [TEXT],
/// "layers": [{"name": TEXT, "parameters": N, "types": {TYPE: {"bits": X, "cost": X, "loss": X,
/// "relative_cost": X, "relative_loss": X, "estimate": X}}}]}. A key that is not there, or null, is unknown;
/// only "layers" and each "name" must be. Keys of other names are ignored. Numbers that are not finite are
/// the texts "inf" and "nan". Throws InputError, which names the file, the layer, the format and the key, for
/// values of another type or out of range, and for names that stand twice.
CostFile read_cost_file(const std::filesystem::path& path);

/// The same from text; `path` is for messages.
CostFile parse_cost_file(std::string_view text, const std::filesystem::path& path);

/// The file as text, which reads back as the same values.
std::string cost_file_text(const CostFile& file);

/// Writes it, whole or not at all. Throws InputError that names the file.
void write_cost_file(const std::filesystem::path& path, const CostFile& file);

}  // namespace precast::casting
