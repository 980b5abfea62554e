#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include <text/tokenizer_settings.hpp>

#include <precast/io/number_text.hpp>

namespace precast::text {
namespace {

constexpr std::array roles = {"bos_token", "eos_token", "unk_token", "sep_token",
                              "pad_token", "cls_token", "mask_token"};

AddedToken read_token(const io::Config& fields) {
  return {.content = fields.string("content"),
          .single_word = fields.boolean_or("single_word", false),
          .left_strip = fields.boolean_or("lstrip", false),
          .right_strip = fields.boolean_or("rstrip", false),
          .normalized = fields.boolean_or("normalized", false)};
}

/// A token given as a string or as an object. A special token's string is matched in the original
/// text.
AddedToken read_token(const io::Config& config, const std::string& place, const nlohmann::json& value) {
  if (value.is_string()) return {.content = value.get<std::string>()};
  if (!value.is_object()) throw config.wrong(place, "must be a token", value);
  return read_token(config.as_object(place, value));
}

std::vector<AddedToken> read_tokens(const io::Config& config, const char* key) {
  return config.list(key, [&](auto& place, auto& item) { return read_token(config, place, item); });
}

std::int64_t read_id(const io::Config& config, std::string_view key, const std::string& text) {
  const auto id = io::number_in<std::int64_t>(text);
  if (!id || *id < 0 || *id > largest_token_id)
    throw config.error(key, "'" + io::printable(text) + "' is not a token id: get the file again");
  return *id;
}

/// Special tokens with names of the model's own: "image_token", or those listed in an object. add_bos_token
/// and the like are not tokens.
std::vector<AddedToken> read_named(const io::Config& config) {
  std::vector<AddedToken> tokens;
  for (const char* key :
       {"extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"})
    if (config.has(key) && config.value(key).is_object()) {
      const io::Config named = config.object(key);
      for (const auto& [name, value] : named.json().items()) tokens.push_back(read_token(named, name, value));
    }
  for (const auto& [name, value] : config.json().items())
    if (name.ends_with("_token") && std::ranges::find(roles, name) == roles.end() &&
        (value.is_string() || value.contains("content")))
      tokens.push_back(read_token(config, name, value));
  return tokens;
}

/// Throws InputError if `key` of a file asks for padding or truncation on the left; the file's word for the
/// default is `right`.
void require_right(const io::Config& config, const char* key, const char* right) {
  const std::string side = config.string_or(key, right);
  if (side != right)
    throw config.error(key, "is '" + io::printable(side) +
                                "', and texts are padded and truncated on the right only: write " + right +
                                " there, or use the tokenizer that the model was trained with");
}

}  // namespace

void TokenizerSettings::read_config(const io::Config& config) {
  config.refuse_null({"padding_side", "truncation_side", "split_special_tokens", "added_tokens_decoder"});
  for (const char* side : {"padding_side", "truncation_side"}) require_right(config, side, "right");
  if (config.boolean_or("split_special_tokens", false))
    throw config.error("split_special_tokens",
                       "is true, and special tokens in texts are never split here: set it to false");
  if (config.has("added_tokens_decoder")) {
    const io::Config list = config.object("added_tokens_decoder");
    for (const auto& [id, value] : list.json().items())
      listed_[read_id(config, "added_tokens_decoder", id)] = read_token(list, id, value);
  }
  for (const char* name : roles)
    if (config.has(name)) roles_[name] = read_token(config, name, config.value(name));
  named_ = read_named(config);
  for (const char* key : {"extra_special_tokens", "additional_special_tokens"})
    if (config.has_list(key) && (!extra_ || extra_->empty())) extra_ = read_tokens(config, key);
  if (config.has("model_max_length")) {
    // transformers writes 1e30 for "no limit".
    const double length = config.number("model_max_length", 1, std::numeric_limits<double>::max());
    if (length <= static_cast<double>(std::numeric_limits<std::int32_t>::max()))
      model_max_length_ = static_cast<std::int64_t>(length);
  }
  extra_ids_ = config.integer_or("extra_ids", extra_ids_, 0, 10'000);
}

void TokenizerSettings::read_special_tokens_map(const io::Config& config) {
  for (const char* name : roles)
    if (config.has(name)) roles_[name] = read_token(config, name, config.value(name));
  for (AddedToken& token : read_named(config)) named_.push_back(std::move(token));
  for (const char* key : {"extra_special_tokens", "additional_special_tokens"})
    if (config.has_list(key) && !extra_) extra_ = read_tokens(config, key);
}

TokenizerSettings TokenizerSettings::read(const std::filesystem::path& folder,
                                          const std::optional<io::Config>& tokenizer_json) {
  TokenizerSettings settings;
  std::optional<io::Config>& config = settings.config_;
  if (io::is_there(folder / "tokenizer_config.json"))
    settings.read_config(config.emplace(io::Config::load(folder / "tokenizer_config.json")));
  if (tokenizer_json)
    for (const auto& [part, side] :
         {std::pair("padding", "padding_side"), std::pair("truncation", "truncation_side")})
      if (tokenizer_json->has(part) && !(config && config->has(side)))
        require_right(tokenizer_json->object(part), "direction", "Right");
  if (config && config->has("added_tokens_decoder")) return settings;

  if (io::is_there(folder / "special_tokens_map.json"))
    settings.read_special_tokens_map(io::Config::load(folder / "special_tokens_map.json"));
  if (io::is_there(folder / "added_tokens.json")) {
    const io::Config added = io::Config::load(folder / "added_tokens.json");
    for (const auto& [content, value] : added.json().items())
      settings.listed_[added.integer(content, 0, largest_token_id)] =
          AddedToken{.content = content, .normalized = !settings.is_special(content)};
  }
  if (tokenizer_json && tokenizer_json->has("added_tokens"))
    for (const io::Config& token : tokenizer_json->objects("added_tokens"))
      settings.listed_[token.integer("id", 0, largest_token_id)] = read_token(token);
  return settings;
}

void TokenizerSettings::require_roles(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (config_ && !roles_.contains(name)) config_->refuse_null({name});
}

bool TokenizerSettings::is_special(std::string_view content) const {
  return std::ranges::any_of(roles_, [&](const auto& role) { return role.second.content == content; }) ||
         (extra_ && std::ranges::find(*extra_, content, &AddedToken::content) != extra_->end());
}

void TokenizerSettings::set_usual_roles(const std::map<std::string, std::string>& usual) {
  for (const auto& [role, content] : usual) roles_.emplace(role, AddedToken{.content = content});
}

std::vector<AddedToken> TokenizerSettings::added_tokens(
    const std::vector<std::string>& usual_extra, std::size_t vocabulary_size,
    const std::function<std::optional<std::int32_t>(std::string_view)>& lookup) const {
  std::vector<AddedToken> tokens;
  std::map<std::string, std::size_t> places;
  // A token that is declared again keeps its position and gets the later flags; but the tokens of a list
  // are final.
  const auto add = [&](std::size_t settled, const AddedToken& token) {
    const auto [known, is_new] = places.emplace(token.content, tokens.size());
    if (is_new)
      tokens.push_back(token);
    else if (known->second >= settled)
      tokens[known->second] = token;
  };
  for (const auto& [id, token] : listed_) add(0, token);
  const std::size_t settled = tokens.size();
  for (const char* name : roles)
    if (const auto found = roles_.find(name); found != roles_.end()) add(settled, found->second);
  for (const AddedToken& token : named_) add(settled, token);
  if (extra_) {
    for (const AddedToken& token : *extra_) add(settled, token);
  } else {
    for (const std::string& content : usual_extra) add(settled, AddedToken{.content = content});
  }
  auto next = static_cast<std::int32_t>(vocabulary_size);
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    token.id = lookup(token.content).value_or(next);
    // In a vocabulary with gaps, ids exceed its size: a new token must not reuse one.
    next = std::max(next, token.id + 1);
  }
  return tokens;
}

std::int32_t TokenizerSettings::id_of(const std::string& role, const std::vector<AddedToken>& added,
                                      const std::filesystem::path& folder) const {
  const auto found = std::ranges::find(added, roles_.at(role).content, &AddedToken::content);
  if (found == added.end() || found->id < 0)
    throw io::file_error(folder, role + " is empty: get the tokenizer's files again");
  return found->id;
}

}  // namespace precast::text
