// Opens a component's weights in any layout.
#include <algorithm>
#include <set>
#include <utility>

#include <flux/bfl_names.hpp>
#include <flux/component_weights.hpp>
#include <text/clip_names.hpp>
#include <text/t5_gguf_names.hpp>
#include <vae/original_names.hpp>
#include <weights/component_facts.hpp>

namespace precast::flux {

namespace {

using weights::FoundPart, weights::Naming, weights::Part;

std::span<const io::NameLine> table_of(Part part) {
  switch (part) {
    case Part::transformer:
      return bfl_names;
    case Part::clip:
      return text::clip_names;
    case Part::t5:
      return text::t5_gguf_names;
    default:
      return vae::original_names;
  }
}

/// The number of a block, or -1.
std::int64_t number_after(std::string_view name, std::string_view stem) {
  constexpr std::int64_t most = 999'999;  // no model has as many
  return weights::number_after(name, stem, most);
}

/// How the names of CLIP's tensors begin: transformers before version 5 put them in "text_model.".
std::string names_within(const weights::WeightTensors& tensors) {
  const std::string stem = "text_model.";
  return tensors.has_names_beginning(stem) ? stem : "";
}

std::int64_t levels_in(const weights::WeightTensors& tensors) {
  std::int64_t levels = 0;
  for (const auto& [name, weight] : tensors.all())
    for (const std::string_view stem : {"decoder.up.", "encoder.down."})
      levels = std::max(levels, number_after(name, stem) + 1);
  return levels;
}

}  // namespace

FoundPart ComponentWeights::found_in(const io::ComponentSource& file, Part part, bool folder) {
  const auto parts = weights::parts_of(file);
  const auto refused = [&](const std::string& problem) {
    return io::file_error(file.description(), problem);
  };
  if (part == Part::transformer) {
    const auto other = weights::other_model(file, parts);
    if (other && other->kind == weights::OtherModel::Kind::lone_unet)
      throw refused("is " + other->in_words +
                    " alone, which is no Flux model: give --model the folder of its model, and this "
                    "file to --transformer");
    if (other)
      throw refused("is " + other->in_words + ", which is not read: give a Flux.1 dev or schnell model");
  }
  if (const auto found = weights::find_part(parts, part)) return *found;
  if (folder) return {part, Naming::ours, ""};  // what is missing is named as it is asked for
  std::string holds;
  for (const FoundPart& other : parts)
    holds += (holds.empty() ? "" : " and ") + std::string(weights::in_words(other.part));
  if (holds.empty())
    if (const auto other = weights::other_model(file, parts)) holds = other->in_words;
  throw refused("does not hold " + std::string(weights::in_words(part)) + " of a Flux model" +
                (holds.empty() ? ", nor anything else that is known here" : " but " + holds) +
                ": give another file");
}

ComponentWeights::ComponentWeights(const std::filesystem::path& path, Part part, io::TakenCallback on_taken)
    : path_(path),
      part_(part),
      file_(path, std::move(on_taken)),
      found_(found_in(file_, part, std::filesystem::is_directory(path))),
      tensors_(file_, found_.prefix),
      table_(found_.naming == Naming::ours ? std::span<const io::NameLine>() : table_of(part)),
      levels_(part == Part::autoencoder ? levels_in(tensors_) : 0),
      within_(part == Part::clip ? names_within(tensors_) : ""),
      renamed_(tensors_, table_, levels_) {}

std::vector<std::string> ComponentWeights::unread() const {
  const std::span<const io::NameLine> table = table_of(part_);
  const auto known = [&](const std::string& name) {
    if (found_.naming != Naming::ours) return !weights::our_rows_in(table, name, levels_).empty();
    if (part_ == Part::t5 &&
        (name == "encoder.embed_tokens.weight" || name.find(".DenseReluDense.wi.") != name.npos))
      return true;
    // Counted from either end, there are as many levels.
    const std::size_t inside = name.starts_with(within_) ? within_.size() : 0;
    return io::their_rows(table, std::string_view(name).substr(inside), 64).has_value();
  };
  std::vector<std::string> names;
  for (const auto& [name, weight] : tensors_.all())
    if (!known(name)) names.push_back(found_.prefix + name);
  // Of a file of several parts the transformer speaks for what is in none of them.
  if (part_ != Part::transformer) return names;
  const auto parts = weights::parts_of(file_);
  for (const io::TensorEntry* entry : file_.tensors())
    if (!entry->name.starts_with(found_.prefix) && !entry->name.ends_with("logit_scale") &&
        std::ranges::none_of(parts,
                             [&](const FoundPart& part) { return entry->name.starts_with(part.prefix); }))
      names.push_back(entry->name);
  return names;
}

std::optional<Shape> ComponentWeights::shape(std::string_view name) const {
  const auto place = io::their_rows(table_, name, levels_);
  std::string stored = place ? place->name : within_ + std::string(name);
  const weights::WeightTensor* weight = tensors_.lookup(stored);
  if (!weight && stored.ends_with("scale"))
    weight = tensors_.lookup(stored.substr(0, stored.size() - 5) + "weight");
  return weight ? std::optional(weight->shape) : std::nullopt;
}

std::int64_t ComponentWeights::blocks(std::string_view stem) const {
  std::set<std::int64_t> numbers;
  for (const auto& [name, weight] : tensors_.all()) {
    if (table_.empty()) {
      numbers.insert(number_after(name, within_ + std::string(stem)));
      continue;
    }
    for (const io::NamedRows& ours : io::our_rows(table_, name, levels_))
      numbers.insert(number_after(ours.name, stem));
  }
  numbers.erase(-1);
  const auto count = std::ssize(numbers);
  if (count && *numbers.rbegin() != count - 1) {
    std::int64_t lacking = 0;
    while (numbers.contains(lacking)) ++lacking;
    throw error("lacks " + std::string(stem) + std::to_string(lacking) + ", of " +
                std::to_string(*numbers.rbegin() + 1) + " such blocks: the file is incomplete, get it anew");
  }
  return count;
}

InputError ComponentWeights::error(const std::string& problem) const {
  return io::file_error(file_.description(), problem);
}

}  // namespace precast::flux
