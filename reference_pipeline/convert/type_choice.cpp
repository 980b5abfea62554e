// Rules, plans and fallbacks become one type for each tensor.
#include <algorithm>
#include <array>
#include <utility>

#include <convert/layout.hpp>
#include <convert/scaled_weight.hpp>
#include <convert/type_choice.hpp>
#include <families/request_error.hpp>
#include <formats/fitting.hpp>
#include <formats/registry.hpp>

#include <precast/io/file_dtypes.hpp>
#include <precast/io/gguf_types.hpp>
#include <precast/io/message.hpp>

namespace precast::conversion {

namespace {

constexpr std::size_t longest_expression = 1000, longest_name = 1000;
constexpr std::string_view keep = "keep";

/// libstdc++ matches without going back then, and refuses back-references, which need that: '(.*)*x' would
/// go on for days.
constexpr auto in_bounded_time = std::regex::ECMAScript
#if defined(__GLIBCXX__)
                                 | std::regex_constants::__polynomial
#endif
    ;

/// No tensor has this name: an expression that is found in it says nothing of names.
constexpr const char* any_text = "~";

/// From 16 bits on a type is asked for to have a file of it, and loses too little to make exceptions.
bool is_precise(const DtypeInfo& type) { return formats::bits_per_value(type) >= 16; }

bool found_in(const TypeRule& rule, std::string_view name) {
  try {
    const std::string_view part = name.substr(0, longest_name);
    return std::regex_search(part.begin(), part.end(), rule.expression);
  } catch (const std::regex_error&) {
    throw families::RequestError("--rule '" + io::printable(rule.text) +
                                 "' takes too long to match: write a simpler expression");
  }
}

/// The fault of an expression in libstdc++'s words, which speak of parentheses where it begins with a
/// repetition.
std::string what_is_wrong(const std::string& expression, const std::regex_error& wrong) {
  if (std::string_view("*+?").find(expression.front()) != std::string_view::npos)
    return std::string("nothing precedes '") + expression.front() +
           "' that it could repeat: write '.*' for any text";
  return io::printable(wrong.what());
}

bool is_under(std::string_view name, std::string_view layer) {
  return name.starts_with(layer) && (name.size() == layer.size() || name[layer.size()] == '.');
}

/// Whether every value of a type of 8 bits, such as each fp8, is one of f16.
bool f16_holds(const DtypeInfo& type) {
  const formats::StoredFormat* const format = formats::format_named(type.name);
  if (!format || !format->scalar || formats::bits_per_value(type) > 8) return false;
  const FloatFormat& scalar = *format->scalar;
  constexpr FloatFormat f16_format = dtype_traits<f16>::format;
  return scalar.max() <= f16_format.max() && scalar.min_subnormal() >= f16_format.min_subnormal() &&
         scalar.mantissa_bits <= f16_format.mantissa_bits;
}

/// The type of a tensor that stays as it is: the same where the file can hold it, else one that holds all of
/// its values.
DtypeInfo kept_type(const TensorFacts& facts, Container container) {
  const DtypeInfo exact = dtype_info<f32>;
  if (!facts.is_float) return facts.from;
  // Other readers of GGUF expect f32 in what is no matrix.
  if (container == Container::gguf && facts.shape.rank() <= 1 && !is_block(facts.from)) return exact;
  const bool whole = facts.values_in_run % facts.from.values_per_block == 0;
  const bool fits = !is_scaled(facts.from, container) || can_be_scaled(facts.from, facts.name(), facts.shape);
  if (whole && fits && holds(container, facts.from) && facts.from != f64_info) return facts.from;
  return f16_holds(facts.from) ? dtype_info<f16> : exact;
}

/// The type that is requested for a tensor, or for a part of it.
struct RequestedType {
  std::optional<DtypeInfo> type;
  bool names_tensor = false, of_rule = false, of_plan = false;
};

/// The most precise type that the plan has under these names.
std::optional<DtypeInfo> planned_type(const casting::Plan& plan, const std::vector<std::string>& names,
                                      MatchedRules& matched) {
  std::optional<DtypeInfo> planned;
  for (const std::string& name : names)
    if (const auto type_name = plan.type_of(name)) {
      const DtypeInfo type = *formats::find_type(*type_name);
      if (!planned || formats::bits_per_value(type) > formats::bits_per_value(*planned)) planned = type;
      for (const auto& [layer, ignored] : plan.types)
        if (is_under(name, layer)) matched.layers.insert(layer);
    }
  return planned;
}

RequestedType requested_type_of_part(const TypeOptions& type_options, const TensorFacts& facts,
                                     const PartNames& part, MatchedRules& matched) {
  std::vector<std::string> names = part.in_rules();
  const TypeRule* deciding = nullptr;
  for (std::size_t i = 0; i < type_options.rules.size(); ++i) {
    const TypeRule& rule = type_options.rules[i];
    if (std::ranges::none_of(names, [&](const std::string& name) { return found_in(rule, name); })) continue;
    matched.rules.insert(i);
    if (deciding) continue;
    deciding = &rule;
    matched.deciding_rules.insert(i);
  }
  if (!part.diffusers.empty()) names.push_back(part.diffusers);
  std::optional<DtypeInfo> planned;
  if (type_options.plan && facts.shape.rank() > 1) planned = planned_type(*type_options.plan, names, matched);
  if (deciding) return {.type = deciding->type, .names_tensor = deciding->names_tensors, .of_rule = true};
  if (planned) return {.type = planned, .names_tensor = true, .of_plan = true};
  if (type_options.biases && is_bias(part.own, facts.shape))
    return {.type = type_options.biases, .names_tensor = true};
  return {.type = type_options.type};
}

/// The most precise type requested for the parts of a tensor.
RequestedType requested_type(const TypeOptions& type_options, const TensorFacts& facts,
                             MatchedRules& matched) {
  std::vector<RequestedType> of_parts;
  for (const PartNames& part : facts.parts)
    of_parts.push_back(requested_type_of_part(type_options, facts, part, matched));
  const auto type_of = [&](const RequestedType& requested) { return requested.type.value_or(facts.from); };
  const RequestedType best = *std::ranges::max_element(of_parts, {}, [&](const RequestedType& requested) {
    return formats::bits_per_value(type_of(requested));
  });
  for (const RequestedType& requested : of_parts) {
    if (type_of(requested) == type_of(best)) continue;
    matched.several_rules = matched.several_rules || requested.of_rule;
    matched.several_planned = matched.several_planned || requested.of_plan;
  }
  return best;
}

/// The type that a tensor gets by that request.
ChosenType type_for(const RequestedType& requested, const TensorFacts& facts, Container container) {
  const DtypeInfo kept = kept_type(facts, container);
  if (!facts.is_float) return {kept, "not of floating point", {}};
  if (!requested.type) return {kept, requested.of_rule ? "as a rule says" : "no type asked for", {}};
  std::string_view because = precise_because(facts.kind, facts.name(), facts.shape);
  if (because.empty() && facts.part_of_small_component) because = "small component";
  if (!requested.names_tensor && !because.empty()) {
    if (!is_precise(*requested.type)) return {kept, because, {}};
    if (container == Container::gguf && facts.shape.rank() <= 1) return {kept, because, {}};
  }
  // The type that takes the place of nvfp4 may be one that safetensors does not have.
  const Shape run = facts.shape.rank() > 1 ? facts.shape : Shape{facts.values_in_run};
  if (const auto type = formats::fitting_type(*requested.type, run);
      type && (*type == *requested.type || holds(container, *type))) {
    const bool divides = type->name == requested.type->name;
    const auto undivided = divides ? std::nullopt : std::optional(facts.values_in_run);
    if (is_scaled(*type, container) && !can_be_scaled(*type, facts.name(), facts.shape))
      return {kept, "not a matrix of a layer", requested.type, undivided};
    return {*type, {}, divides ? std::nullopt : requested.type, undivided};
  }
  if (formats::divides(*requested.type, facts.values_in_run))
    return {kept, "not a matrix of a layer", requested.type};
  return {kept, "no block divides its rows", requested.type, facts.values_in_run};
}

}  // namespace

bool holds(Container container, const DtypeInfo& type) {
  if (container == Container::safetensors)
    return io::file_dtype(type).has_value() || is_scaled(type, container);
  const io::GgufType* known = io::gguf_type(type.name);
  return known && known->info == type;
}

DtypeInfo parse_type(std::string_view option, const std::string& name) {
  if (const auto type = formats::find_type(name)) return *type;
  throw families::RequestError(std::string(option) + ": there is no type '" + io::printable(name) +
                               "': it is one of " + formats::format_list());
}

TypeRule parse_rule(const std::string& text) {
  const auto refuse = [&](const std::string& problem) {
    return families::RequestError("--rule '" + io::printable(text) + "' " + problem);
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos)
    throw refuse("has no '=': write REGEX=TYPE, such as 'img_mlp.*weight=q5_k'");
  TypeRule rule{text, {}, std::nullopt};
  const std::string expression = text.substr(0, equals), type = text.substr(equals + 1);
  if (expression.empty()) throw refuse("has no expression before '=': write '.*' for all tensors");
  if (type.empty()) throw refuse("has no type after '='");
  if (expression.size() > longest_expression)
    throw refuse("has an expression of more than " + std::to_string(longest_expression) + " characters");
  if (type != keep) rule.type = parse_type("--rule '" + io::printable(text) + "'", type);
  try {
    rule.expression = std::regex(expression, in_bounded_time);
  } catch (const std::regex_error& wrong) {
    throw refuse("is not a regular expression: " + what_is_wrong(expression, wrong));
  }
  rule.names_tensors = !found_in(rule, any_text);
  return rule;
}

std::vector<DtypeInfo> TypeOptions::types() const {
  std::vector<DtypeInfo> all;
  if (type) all.push_back(*type);
  if (biases) all.push_back(*biases);
  for (const TypeRule& rule : rules)
    if (rule.type) all.push_back(*rule.type);
  if (plan)
    for (const auto& [layer, planned] : plan->types) all.push_back(*formats::find_type(planned));
  return all;
}

std::optional<std::pair<std::string, std::string>> in_no_file_together(std::span<const DtypeInfo> types) {
  const auto only_in = [&](Container one, Container other) {
    return std::ranges::find_if(
        types, [&](const DtypeInfo& type) { return holds(one, type) && !holds(other, type); });
  };
  const auto in_gguf = only_in(Container::gguf, Container::safetensors),
             in_safetensors = only_in(Container::safetensors, Container::gguf);
  if (in_gguf == types.end() || in_safetensors == types.end()) return std::nullopt;
  return std::pair(std::string(in_gguf->name), std::string(in_safetensors->name));
}

void check_types(const TypeOptions& type_options, Container container) {
  const std::vector<DtypeInfo> types = type_options.types();
  if (const auto both = in_no_file_together(types))
    throw families::RequestError("no file has both " + both->first + ", which needs .gguf, and " +
                                 both->second +
                                 ", which needs .safetensors: ask for types of one kind of file, of a plan "
                                 "by precast plan --types");
  for (const DtypeInfo& type : types) {
    if (holds(container, type)) continue;
    if (container == Container::gguf)
      throw families::RequestError(
          "GGUF has no " + std::string(type.name) +
          (holds(Container::safetensors, type) ? ": write .safetensors, or choose q8_0" : ": choose q8_0"));
    throw families::RequestError(
        "safetensors has no " + std::string(type.name) + ": " +
        (holds(Container::gguf, type)
             ? "write .gguf, or choose f32, bf16, f16, mxfp8, mxfp6_e2m3, nvfp4, or a type of fp8 or int8"
             : "no kind of file has it: choose fp8_e4m3 or q8_0"));
  }
}

std::vector<std::string> PartNames::in_rules() const {
  std::vector<std::string> names{own};
  if (source != own) names.push_back(source);
  if (!component.empty())
    for (std::size_t i = 0, plain = names.size(); i < plain; ++i) names.push_back(component + '.' + names[i]);
  return names;
}

ChosenType chosen_type(const TypeOptions& type_options, const TensorFacts& facts, Container container) {
  MatchedRules matched;
  const RequestedType requested = requested_type(type_options, facts, matched);
  ChosenType chosen = type_for(requested, facts, container);
  chosen.matched = std::move(matched);
  return chosen;
}

}  // namespace precast::conversion
