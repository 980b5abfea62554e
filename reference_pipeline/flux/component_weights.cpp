// Finds a component of a Flux model, and places its parameters, in any layout.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <flux/bfl_names.hpp>
#include <flux/component_weights.hpp>
#include <text/clip_names.hpp>
#include <text/t5_gguf_names.hpp>
#include <vae/original_names.hpp>

#include <precast/io/message.hpp>

namespace precast::flux {

namespace {

using weights::FoundComponent, weights::Naming, weights::Part;

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

FoundComponent part_found(const io::ComponentSource& file, Part part, bool folder) {
  const auto parts = weights::parts_of(file);
  const auto refused = [&](const std::string& problem) {
    return io::file_error(file.description(), problem);
  };
  if (part == Part::transformer) {
    const auto other = weights::other_model(file, parts);
    if (other && other->kind == weights::OtherModel::Kind::lone_unet)
      throw refused("is " + other->in_words +
                    " alone, which is not a Flux model: give --model the folder of its model, and this "
                    "file to --transformer");
    if (other)
      throw refused("is " + other->in_words + ", which is not read: give a Flux.1 dev or schnell model");
  }
  if (const FoundComponent* found = weights::find_component(parts, weights::folder_of(part))) return *found;
  // What a folder lacks is named as it is asked for.
  if (folder) return {std::string(weights::folder_of(part)), Naming::ours, ""};
  std::string holds;
  for (const FoundComponent& other : parts)
    holds += (holds.empty() ? "" : " and ") + std::string(in_words(weights::part_in(other.component)));
  if (holds.empty())
    if (const auto other = weights::other_model(file, parts)) holds = other->in_words;
  throw refused("does not hold " + std::string(weights::in_words(part)) + " of a Flux model" +
                (holds.empty() ? ", nor anything else that is supported" : " but " + holds) +
                ": give another file");
}

/// Whether a module reads a parameter of that name (Naming::ours), or deliberately ignores it.
bool is_known(Part part, std::string_view name) {
  if (part == Part::t5 &&
      (name == "encoder.embed_tokens.weight" || name.find(".DenseReluDense.wi.") != std::string_view::npos))
    return true;
  // Counted from either end, there are as many levels.
  return io::their_rows(table_of(part), name, 64).has_value();
}

}  // namespace

ComponentWeights::ComponentWeights(const std::filesystem::path& path, Part part, io::TakenCallback on_taken)
    : PlacedSource(path, std::move(on_taken), [&](const io::ComponentSource& opened) {
        return part_found(opened, part, std::filesystem::is_directory(path));
      }) {
  if (naming() != Naming::ours) {
    place_all(table_of(part));
  } else {
    for (const auto& [name, weight] : tensors().all()) {
      const std::string plain(part == Part::clip ? text::without_text_model(name) : name);
      place(name, {{name}, {plain}});
      if (!is_known(part, plain)) add_unread(prefix() + name);
    }
  }
  // In a file of several parts, the transformer reports the tensors that are in none of them.
  if (part != Part::transformer) return;
  const auto parts = weights::parts_of(source());
  for (const io::TensorEntry* entry : source().tensors())
    if (!entry->name.starts_with(prefix()) && !entry->name.ends_with("logit_scale") &&
        std::ranges::none_of(parts,
                             [&](const FoundComponent& one) { return entry->name.starts_with(one.prefix); }))
      add_unread(entry->name);
}

std::int64_t ComponentWeights::blocks(std::string_view stem) const {
  const std::int64_t count = end_of_blocks(stem);
  for (std::int64_t i = 0; i < count; ++i)
    if (const std::string block = std::string(stem) + std::to_string(i); !has_names_beginning(block + "."))
      throw error("lacks " + block + ", of " + std::to_string(count) +
                  " such blocks: the file is incomplete, get it again");
  return count;
}

}  // namespace precast::flux
