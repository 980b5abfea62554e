// plan.json: the format of each layer, as `precast plan` writes it and `convert` and `generate` take it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <casting/layer_order.hpp>

namespace precast::casting {

/// A plan. Numbers that a file does not have are empty.
struct Plan {
  std::map<std::string, std::string, LayerOrder> types;  ///< the format name of each planned layer
  std::optional<std::string> model = std::nullopt;       ///< the model whose costs it was made from
  std::optional<double> bits;                            ///< per parameter, on average
  std::optional<std::int64_t> bytes;                     ///< of the planned layers
  std::optional<double> error;                           ///< predicted error: the sum of its layers' costs
  std::optional<double> gap;  ///< relative gap to the solver's lower bound; 0 for an optimal plan

  friend bool operator==(const Plan&, const Plan&) = default;

  /// "the model 'FLUX.1-dev'", or that it names none, for messages.
  std::string model_in_words() const;

  /// The planned layer that a tensor belongs to, and its format: the longest planned name that is the
  /// tensor's own, or its prefix before a dot ("blocks.1" has "blocks.1.to_q.weight", and not
  /// "blocks.10.to_q.weight"). Nothing where no layer has it.
  std::optional<std::pair<std::string, std::string>> layer_of(std::string_view tensor) const;
  /// The format of layer_of() alone.
  std::optional<std::string> type_of(std::string_view tensor) const;

  /// The formats of the layers, in the layers' order.
  std::vector<std::string> formats() const;
};

/// Reads {"types": {LAYER: TYPE}, "model": TEXT, "bits": X, "bytes": N, "error": X, "gap": X}. All but
/// "types" may be missing, or null, and other keys are ignored. Throws InputError, which names the file,
/// the layer and the key, for values of another type or out of range, for formats that this build does not
/// have, and for duplicate layers.
Plan read_plan(const std::filesystem::path& path);

/// Reads a plan's text; `path` is for messages.
Plan parse_plan(std::string_view text, const std::filesystem::path& path);

/// The plan as text, which reads back as the same values.
std::string plan_text(const Plan& plan);

/// Writes it, whole or not at all. Throws InputError that names the file.
void write_plan(const std::filesystem::path& path, const Plan& plan);

}  // namespace precast::casting
