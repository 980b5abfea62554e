// The warnings of a conversion before it begins: of options that matched nothing, and of types that other
// programs do not expect.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <convert/model_conversion.hpp>
#include <convert/scaled_weight.hpp>
#include <families/request_error.hpp>
#include <formats/stored_format.hpp>

#include <precast/io/config.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>

namespace precast::conversion {

namespace {

/// GGML_MAX_NAME, as ggml itself defines it: a name and the zero behind it.
constexpr std::int64_t ggml_name_bytes = 64;

/// The index beside a file that names it as one of several shards, and how many they are; 0 where there is
/// none.
std::pair<std::filesystem::path, std::size_t> index_of_shard(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.find(".safetensors.index") == std::string::npos || !name.ends_with(".json")) continue;
    try {
      std::set<std::string> shards;
      const io::Config map = io::Config::load(at->path()).object("weight_map");
      for (const auto& [tensor, shard] : map.json().items()) shards.insert(map.string(tensor));
      if (shards.size() > 1 && shards.contains(file.filename().string())) return {at->path(), shards.size()};
    } catch (const InputError&) {  // which says nothing of the file
    }
  }
  return {};
}

}  // namespace

void ModelConversion::add_warnings() {
  warn_of_choices();
  warn_of_shards();
  if (settings_.encoder.encoder == quant::Encoder::search && !settings_.importance &&
      std::ranges::none_of(parts_, [](const ModelPart& part) { return part.conversion->encodes_blocks(); }))
    warnings_.emplace_back("--encoder changes nothing: no tensor is encoded to a type of blocks");
  if (settings_.importance) warn_of_importance();
  warn_of_columns();
  warn_of_tensors();
}

void ModelConversion::warn_of_choices() {
  std::string example;
  if (!parts_.empty() && !parts_.front().conversion->tensors().empty())
    example = ", whose tensors have names such as '" +
              io::printable(parts_.front().conversion->tensors().front().name) + "'";
  MatchedRules matched;
  std::vector<std::string> of_several_rules, of_several_types;
  for (const ModelPart& part : parts_)
    for (const OutputTensor& tensor : part.conversion->tensors()) {
      const MatchedRules& here = tensor.chosen.matched;
      matched.rules.insert(here.rules.begin(), here.rules.end());
      matched.deciding_rules.insert(here.deciding_rules.begin(), here.deciding_rules.end());
      matched.layers.insert(here.layers.begin(), here.layers.end());
      if (here.several_rules) of_several_rules.push_back(tensor.name);
      if (here.several_planned) of_several_types.push_back(tensor.name);
    }
  const auto warn_of_rules = [&](const auto& is_wrong, const std::string& what) {
    for (std::size_t i = 0; i < settings_.type_options.rules.size(); ++i)
      if (is_wrong(i))
        warnings_.push_back("--rule '" + io::printable(settings_.type_options.rules[i].text) + "' matches " +
                            what + ": it changes nothing");
  };
  warn_of_rules([&](std::size_t i) { return !matched.rules.contains(i); }, "no name of this model" + example);
  warn_of_rules(
      [&](std::size_t i) { return matched.rules.contains(i) && !matched.deciding_rules.contains(i); },
      "only names that an earlier rule matches, which takes precedence");
  std::vector<std::string> layers;
  if (settings_.type_options.plan)
    for (const auto& [layer, type] : settings_.type_options.plan->types)
      if (!matched.layers.contains(layer)) layers.push_back(layer);
  if (!layers.empty() && layers.size() == settings_.type_options.plan->types.size())
    throw families::RequestError("--plan is of " + settings_.type_options.plan->model_in_words() +
                                 ": none of its " + io::counted(std::ssize(layers), "layer") + ", such as " +
                                 io::printable(layers.front()) + ", is in " + io::shown(in_) + example +
                                 ": give the plan of this model");
  if (!layers.empty())
    warnings_.push_back("--plan: " + std::to_string(layers.size()) + " of its layers, " +
                        io::printable(layers.front()) + " among them, are not in this model");
  if (!of_several_types.empty())
    warnings_.push_back(
        "--plan has several types for the parts of " + std::to_string(of_several_types.size()) +
        (of_several_types.size() == 1 ? " matrix" : " matrices") + ", such as '" +
        io::printable(of_several_types.front()) +
        "', and each gets the most precise: the file is larger than the plan says; --layout diffusers "
        "keeps parts apart");
  if (!of_several_rules.empty())
    warnings_.push_back("--rule has a type for some parts of " +
                        io::counted(std::ssize(of_several_rules), "tensor") + ", such as '" +
                        io::printable(of_several_rules.front()) +
                        "', whose other parts get a more precise one, which counts for all; --layout "
                        "diffusers keeps parts apart");
}

void ModelConversion::warn_of_shards() {
  const auto [index, shards] = index_of_shard(in_);
  if (shards > 0)
    warnings_.push_back(io::shown(in_) + " is one of " + std::to_string(shards) + " shards of " +
                        io::shown(index.filename()) +
                        ", and the tensors of the others are left out: give the index to convert all");
}

void ModelConversion::warn_of_several(const std::vector<std::string>& names, const std::string& one,
                                      const std::string& several, const std::string& what) {
  if (!names.empty())
    warnings_.push_back(std::to_string(names.size()) + " " + (names.size() == 1 ? one : several) +
                        ", such as '" + io::printable(names.front()) + "', " + what);
}

void ModelConversion::warn_of_columns() {
  for (const ModelPart& part : parts_) {
    warn_of_several(part.input->cut(), "matrix", "matrices",
                    "lost columns of zeros that were padding: another tensor of the file is as long as what "
                    "is left");
    warn_of_several(part.input->maybe_padded(), "matrix", "matrices",
                    "kept columns of zeros at the end, which may be padding: no tensor of the file says how "
                    "many columns there were");
  }
}

void ModelConversion::warn_of_tensors() {
  std::int64_t again = 0;
  std::vector<std::string> vectors, long_names, scaled_anew;
  std::string types;
  for (const ModelPart& part : parts_)
    for (const OutputTensor& tensor : part.conversion->tensors()) {
      if (tensor.shape.rank() <= 1 && is_block(tensor.chosen.type)) vectors.push_back(tensor.name);
      if (part.conversion->container() == Container::gguf && std::ssize(tensor.name) >= ggml_name_bytes)
        long_names.push_back(tensor.name);
      if (needs_new_scales(tensor, part.conversion->container())) scaled_anew.push_back(tensor.name);
      const DtypeInfo& from = tensor.pieces.front().from->type;
      if (!is_block(from) || from == tensor.chosen.type || formats::bits_per_value(tensor.chosen.type) >= 16)
        continue;
      ++again;
      if (types.empty()) types = std::string(from.name) + " to " + std::string(tensor.chosen.type.name);
    }
  warn_of_several(
      vectors, "tensor of one dimension", "tensors of one dimension",
      "in blocks, which other programs do not expect: a --rule NAME=keep before the others leaves "
      "them as they are");
  const std::string bytes = std::to_string(ggml_name_bytes) + " bytes or more";
  warn_of_several(long_names, "tensor has a name of " + bytes, "tensors have names of " + bytes,
                  "which programs that use unmodified ggml refuse: stable-diffusion.cpp reads up to 127, "
                  "ComfyUI any");
  warn_of_several(scaled_anew, "matrix", "matrices",
                  "under several scales in IN, get one scale and are quantised again: both errors add up");
  if (again)
    warnings_.push_back(io::counted(again, "tensor") + " of a quantised type " + (again == 1 ? "is" : "are") +
                        " quantised again (" + types + "): both errors add up");
}

void ModelConversion::warn_of_importance() {
  std::int64_t matrices = 0;
  std::vector<std::string> without;
  for (const ModelPart& part : parts_) {
    matrices += part.conversion->encoded_matrices();
    for (std::string& name : part.conversion->without_importance(*settings_.importance))
      without.push_back(std::move(name));
  }
  const std::string file = "--importance " + io::shown(settings_.importance->path());
  if (matrices == 0)
    throw families::RequestError(
        file + ": no matrix gets blocks, whose errors it would weight: choose a type of blocks");
  if (static_cast<std::int64_t>(without.size()) == matrices)
    throw families::RequestError(file + " has none of the " + std::to_string(matrices) +
                                 " matrices that get blocks, such as " + io::printable(without.front()) +
                                 ": give the importance of this model");
  if (!without.empty())
    warnings_.push_back(file + " lacks " + std::to_string(without.size()) + " of the " +
                        std::to_string(matrices) + " matrices that get blocks, " +
                        io::printable(without.front()) + " among them: their columns have equal weights");
}

}  // namespace precast::conversion
