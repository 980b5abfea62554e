// Rules, plans and fallbacks become one type for each tensor.
#include <algorithm>
#include <array>

#include <convert/type_choice.hpp>
#include <families/request_error.hpp>

#include <precast/io/gguf_types.hpp>
#include <precast/io/message.hpp>
#include <precast/io/safetensors.hpp>

namespace precast::convert {

namespace {

constexpr std::size_t longest_expression = 1000, longest_name = 1000;
constexpr std::string_view keep = "keep";

/// No tensor has this name: an expression that is found in it says nothing of names.
constexpr const char* any_text = "~";

/// What has blocks of 32 values, by rising size: each is better than those before it.
constexpr std::array<std::string_view, 4> stand_ins{"iq4_nl", "q5_0", "q5_1", "q8_0"};

/// From 16 bits on a type is asked for to have a file of it, and loses too little to make exceptions.
bool is_precise(const DtypeInfo& type) { return bits_per_value(type) >= 16; }

std::string all_type_names() {
  std::string names;
  for (const DtypeInfo& type : value_types()) names += (names.empty() ? "" : " ") + std::string(type.name);
  return names;
}

bool found_in(const TypeRule& rule, std::string_view name) {
  try {
    const std::string_view part = name.substr(0, longest_name);
    return std::regex_search(part.begin(), part.end(), rule.expression);
  } catch (const std::regex_error&) {
    throw families::RequestError("--rule '" + io::printable(rule.text) +
                                 "' takes too long to match: write a simpler expression");
  }
}

bool is_under(std::string_view name, std::string_view layer) {
  return name.starts_with(layer) && (name.size() == layer.size() || name[layer.size()] == '.');
}

}  // namespace

bool holds(Container container, const DtypeInfo& type) {
  if (container == Container::safetensors)
    return std::ranges::find(io::file_dtypes, type, &io::FileDtype::info) != io::file_dtypes.end();
  const io::GgufType* known = io::gguf_type(type.name);
  return known && known->info == type;
}

DtypeInfo parse_type(std::string_view option, const std::string& name) {
  if (const auto type = find_type(name)) return *type;
  throw families::RequestError(std::string(option) + ": there is no type '" + io::printable(name) +
                               "': it is one of " + all_type_names());
}

TypeRule parse_rule(const std::string& text) {
  const auto refuse = [&](const std::string& problem) {
    return families::RequestError("--rule '" + io::printable(text) + "' " + problem);
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) throw refuse("has no '=': write REGEX=TYPE, such as 'img_mlp=q5_k'");
  TypeRule rule{text, {}, std::nullopt, true};
  const std::string expression = text.substr(0, equals), type = text.substr(equals + 1);
  if (expression.empty()) throw refuse("has no expression before '=': write '.*' for all tensors");
  if (type.empty()) throw refuse("has no type after '='");
  if (expression.size() > longest_expression)
    throw refuse("has an expression of more than " + std::to_string(longest_expression) + " characters");
  if (type != keep) rule.type = parse_type("--rule '" + io::printable(text) + "'", type);
  try {
    rule.expression = std::regex(expression, std::regex::ECMAScript);
  } catch (const std::regex_error& wrong) {
    throw refuse(std::string("is no regular expression: ") + io::printable(wrong.what()));
  }
  rule.names_tensors = !found_in(rule, any_text);
  return rule;
}

std::vector<DtypeInfo> TypeWishes::types() const {
  std::vector<DtypeInfo> all;
  if (type) all.push_back(*type);
  if (biases) all.push_back(*biases);
  for (const TypeRule& rule : rules)
    if (rule.type) all.push_back(*rule.type);
  for (const auto& [layer, planned] : plan) all.push_back(planned);
  return all;
}

std::optional<DtypeInfo> dividing_type(const DtypeInfo& wanted, std::int64_t columns) {
  for (const std::string_view name : stand_ins) {
    const DtypeInfo type = *find_type(name);
    if (bits_per_value(type) >= bits_per_value(wanted) && columns % type.values_per_block == 0) return type;
  }
  return std::nullopt;
}

TypeChooser::Wish TypeChooser::wish_for(const TensorFacts& facts) {
  std::optional<Wish> wish;
  for (std::size_t i = 0; i < wishes_.rules.size(); ++i) {
    const TypeRule& rule = wishes_.rules[i];
    if (std::ranges::none_of(facts.names, [&](const std::string& name) { return found_in(rule, name); }))
      continue;
    ++rule_matches_[i];
    if (!wish) wish = Wish{rule.type, rule.names_tensors};
  }
  // Of a tensor that is put together from several, the most precise of their types is wanted.
  std::optional<DtypeInfo> planned;
  for (const std::string& name : facts.names) {
    const std::pair<const std::string, DtypeInfo>* longest = nullptr;
    for (const auto& layer : wishes_.plan)
      if (is_under(name, layer.first) && (!longest || layer.first.size() > longest->first.size()))
        longest = &layer;
    if (!longest || facts.shape.rank() < 2) continue;
    ++layer_matches_[longest->first];
    if (!planned || bits_per_value(longest->second) > bits_per_value(*planned)) planned = longest->second;
  }
  if (wish) return *wish;
  if (planned) return {planned, true};
  if (wishes_.biases && is_bias(facts.names.front(), facts.shape)) return {wishes_.biases, true};
  return {wishes_.type, false};
}

DtypeInfo TypeChooser::kept_type(const TensorFacts& facts) const {
  const DtypeInfo exact = *find_type("f32");
  if (!facts.is_float) return facts.from;
  // Other readers of GGUF expect f32 in what is no matrix.
  if (container_ == Container::gguf && facts.shape.rank() <= 1 && !is_block(facts.from)) return exact;
  if (holds(container_, facts.from) && facts.from.name != "f64") return facts.from;
  if (bits_per_value(facts.from) == 8 && !is_block(facts.from)) return *find_type("f16");  // holds every fp8
  return exact;
}

ChosenType TypeChooser::choose(const TensorFacts& facts) {
  const Wish wish = wish_for(facts);
  const DtypeInfo kept = kept_type(facts);
  if (!facts.is_float) return {kept, "not of floating point", {}};
  if (!wish.type) return {kept, "as it is", {}};
  std::string_view because = precise_because(facts.kind, facts.names.front(), facts.shape);
  if (because.empty() && facts.part_of_small_component) because = "small component";
  if (!wish.names_tensor && !because.empty()) {
    if (!is_precise(*wish.type)) return {kept, because, {}};
    if (container_ == Container::gguf && facts.shape.rank() <= 1) return {kept, because, {}};
  }
  if (facts.shape.back() % wish.type->values_per_block == 0) return {*wish.type, {}, {}};
  if (const auto other = dividing_type(*wish.type, facts.shape.back())) return {*other, {}, wish.type};
  return {kept, "no block divides its rows", wish.type};
}

std::vector<std::string> TypeChooser::unmatched_rules() const {
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < rule_matches_.size(); ++i)
    if (rule_matches_[i] == 0) rules.push_back(wishes_.rules[i].text);
  return rules;
}

std::vector<std::string> TypeChooser::unmatched_layers() const {
  std::vector<std::string> layers;
  for (const auto& [layer, type] : wishes_.plan)
    if (!layer_matches_.contains(layer)) layers.push_back(layer);
  return layers;
}

}  // namespace precast::convert
