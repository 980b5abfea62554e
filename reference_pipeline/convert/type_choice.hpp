// Which type each tensor gets: what was asked for, what must stay precise, what divides its rows, and what
// the output can hold.
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

/// Of the types one that GGUF alone holds, and one that safetensors alone does; nothing where there are none.
std::optional<std::pair<std::string, std::string>> in_no_file_together(std::span<const DtypeInfo> types);

/// `REGEX=TYPE`: the type of tensors in whose name the expression is found; `keep` for TYPE leaves them as
/// they are. One that is found in any text, such as `.*`, names no tensor: what must stay precise does.
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

/// What was asked for. Of a tensor's rules the first counts; a rule goes before the plan, the plan before
/// `type`.
struct TypeWishes {
  std::optional<DtypeInfo> type, biases;
  std::vector<TypeRule> rules;
  std::optional<casting::Plan> plan;

  /// All types in it.
  std::vector<DtypeInfo> types() const;
};

/// What is known of an output tensor before it has a type.
struct TensorFacts {
  std::vector<std::string> names;  ///< the output's own, and those of the tensors that it is made of
  Shape shape;
  DtypeInfo from;
  bool is_float = false;
  WeightsKind kind = WeightsKind::other;
  bool part_of_small_component = false;            ///< of a whole model: its CLIPs and its VAE
  std::vector<std::string> more_names_in_plans{};  ///< diffusers', by which layers are planned
  /// Of a tensor that is put together from several: the names of each part, the output's own among them.
  std::vector<std::vector<std::string>> parts{};
  /// What must be whole blocks of the type: rows, or, of a bias that is put together, its parts.
  std::int64_t values_in_run = shape.rank() > 0 ? shape.back() : 1;
};

struct ChosenType {
  DtypeInfo type;
  std::string_view kept_because;        ///< "" where the tensor has the type that was asked for
  std::optional<DtypeInfo> instead_of;  ///< the type that was asked for, where it has another one
  /// How many values its rows, or the parts of a bias, have, where that type's blocks do not divide them.
  std::optional<std::int64_t> undivided{};
};

/// Chooses types, and counts what rules and the plan matched.
class TypeChooser {
 public:
  explicit TypeChooser(const TypeWishes& wishes)
      : wishes_(wishes), rule_matches_(wishes.rules.size()), rule_counts_(wishes.rules.size()) {}

  /// The type of a tensor in a file of that kind.
  ChosenType choose(const TensorFacts& facts, Container container);

  /// The rules and the plan's layers that no tensor matched so far; and the rules that matched, but never
  /// before another one.
  std::vector<std::string> unmatched_rules() const;
  std::vector<std::string> hidden_rules() const;
  std::vector<std::string> unmatched_layers() const;
  /// The tensors so far of which the plan has a type for a part that another part made more precise, and
  /// those of which a rule has.
  const std::vector<std::string>& of_several_types() const { return of_several_types_; }
  const std::vector<std::string>& of_several_rules() const { return of_several_rules_; }

 private:
  struct Wish {
    std::optional<DtypeInfo> type;
    bool names_tensor = false, planned = false;
    std::optional<std::size_t> rule{};
  };
  Wish wish_for(const TensorFacts& facts);
  Wish wish_for_part(const TensorFacts& facts, const std::vector<std::string>& names,
                     const std::vector<std::string>& more_names_in_plans);

  const TypeWishes& wishes_;
  std::vector<std::int64_t> rule_matches_, rule_counts_;  ///< tensors of each, and those that it decides
  std::set<std::string> matched_layers_;
  std::vector<std::string> of_several_types_, of_several_rules_;
};

/// Throws families::RequestError where files of that kind cannot hold a type that is wished for.
void check_types(const TypeWishes& wishes, Container container);

}  // namespace precast::conversion
