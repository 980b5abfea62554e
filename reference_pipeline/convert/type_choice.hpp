// The type that each tensor gets: by what was asked for, by its role, by its rows, and by what the output can
// hold.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <casting/plan_file.hpp>
#include <convert/tensor_role.hpp>
#include <convert/value_type.hpp>

namespace precast::conversion {

/// The kinds of file that are written.
enum class Container : std::uint8_t { safetensors, gguf };

/// Whether a file of that kind can hold a type.
bool holds(Container container, const DtypeInfo& type);

/// A type that GGUF alone holds, and one that safetensors alone does; nothing where these types have not
/// both.
std::optional<std::pair<std::string, std::string>> in_no_file_together(std::span<const DtypeInfo> types);

/// `REGEX=TYPE`: the type of tensors in whose name the expression is found; `keep` for TYPE leaves them as
/// they are. A rule that is found in any text, such as `.*`, names no tensor, and tensors that must stay
/// precise do so in spite of it.
struct TypeRule {
  std::string text;
  std::regex expression;
  std::optional<DtypeInfo> type;  ///< nothing for `keep`
  bool names_tensors = true;
};

/// Reads a rule; the last '=' stands before the type. Throws families::RequestError.
TypeRule parse_rule(const std::string& text);
/// The type of that name. Throws families::RequestError that begins with `option` and lists all types.
DtypeInfo parse_type(std::string_view option, const std::string& name);

/// The types that were asked for. The first of a tensor's rules counts; a rule goes before the plan, the plan
/// before `type`.
struct TypeOptions {
  std::optional<DtypeInfo> type, biases;
  std::vector<TypeRule> rules;
  std::optional<casting::Plan> plan;

  /// All types in it.
  std::vector<DtypeInfo> types() const;
};

/// The names by which rules and plans find a part of an output tensor.
struct PartNames {
  std::string own;           ///< the output tensor's
  std::string source = own;  ///< the input tensor's
  std::string component{};   ///< the folder's in a model, which rules may write before both; or ""
  std::string diffusers{};   ///< by which plans may know it too, or ""

  /// The names that rules are tried on.
  std::vector<std::string> in_rules() const;
};

/// An output tensor as it is known before it has a type.
struct TensorFacts {
  /// The parts for which types may be asked for: the tensors that it is put together from, or is planned as.
  /// There is at least one.
  std::vector<PartNames> parts;
  Shape shape;
  DtypeInfo from;
  bool is_float = false;
  WeightsKind kind = WeightsKind::other;
  bool part_of_small_component = false;  ///< of a whole model: its CLIPs and its VAE
  /// Values that must be whole blocks of the type: those of a row, or of a part of a bias that is put
  /// together.
  std::int64_t values_in_run = shape.rank() > 0 ? shape.back() : 1;

  const std::string& name() const { return parts.front().own; }
};

/// What of the TypeOptions matched a tensor.
struct MatchedRules {
  std::set<std::size_t> rules, deciding_rules;  ///< those found in its names, and each part's first of them
  std::set<std::string> layers;                 ///< of the plan
  bool several_rules = false;    ///< whether a rule has a type for a part that another one makes more precise
  bool several_planned = false;  ///< the same of the plan
};

struct ChosenType {
  DtypeInfo type;
  std::string_view kept_because;        ///< "" where the tensor has the type that was asked for
  std::optional<DtypeInfo> instead_of;  ///< the type that was asked for, where it has another one
  /// How many values its rows, or the parts of a bias, have, where that type's blocks do not divide them.
  std::optional<std::int64_t> undivided{};
  MatchedRules matched{};
};

/// The type of a tensor in a file of that kind.
ChosenType chosen_type(const TypeOptions& type_options, const TensorFacts& facts, Container container);

/// Throws families::RequestError where files of that kind cannot hold a type that is requested.
void check_types(const TypeOptions& type_options, Container container);

}  // namespace precast::conversion
