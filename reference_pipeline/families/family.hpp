// Family: models of one architecture, how they are recognised on disk, and how they are opened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <families/backend.hpp>
#include <families/choices.hpp>
#include <families/model_files.hpp>
#include <families/pipeline.hpp>
#include <nlohmann/json.hpp>

namespace precast::families {

/// A part of a model that holds weights: its folder's name, and its role.
struct ComponentInfo {
  std::string_view name;  ///< "text_encoder_2"
  Role role;
};

/// A component's parameter counts, from its config alone.
struct ParameterAccounting {
  std::int64_t parameters = 0;
  std::string title;                           ///< "transformer, as casting reports count it"
  std::vector<std::vector<std::string>> rows;  ///< a label, a count, and perhaps a note
  nlohmann::ordered_json json;
};

/// Pipeline classes of a related architecture, by the prefix of their names.
struct RelatedClasses {
  std::string_view start;  ///< "FluxKontext"
  std::string_view words;  ///< what they are, to end a sentence of refusal: "a Flux Kontext model, which …"
};

/// A family of models. All of them live as long as the program.
class Family {
 public:
  /// The family's usual name: "Flux".
  virtual std::string_view name() const = 0;
  /// The pipeline classes whose folders it opens, as model_index.json names them.
  virtual std::span<const std::string_view> pipeline_classes() const = 0;
  /// Related classes that it refuses: their weights were made for something else. Longer prefixes first.
  virtual std::span<const RelatedClasses> related_classes() const { return {}; }
  /// The parts of a model folder that hold weights, in the order in which they run.
  virtual std::span<const ComponentInfo> components() const = 0;
  /// Further folders of a model: its scheduler, its tokenizers.
  virtual std::span<const std::string_view> other_folders() const { return {}; }
  /// Keys of configs that say how large a component is, in the order in which they are shown.
  virtual std::span<const std::string_view> config_keys() const { return {}; }
  /// Whether guidance was distilled into the model as an input, so that it takes no second prediction.
  virtual bool guidance_is_distilled() const { return false; }
  /// The parameter counts of a component by its class and config; nothing for a class that is not counted.
  virtual std::optional<ParameterAccounting> account(std::string_view, const std::filesystem::path&) const {
    return std::nullopt;
  }
  /// Opens a model folder: reads configs and tokenizers, no weights. `backend` must outlive the pipeline.
  virtual std::unique_ptr<Pipeline> open(const std::filesystem::path& folder, const ComponentChoices& choices,
                                         const Backend& backend) const = 0;
  /// Whether it opens models whose parts are files.
  virtual bool opens_files() const { return false; }
  /// Whether a file's tensors are those of a denoiser of this family. Files that no family knows go to the
  /// first that opens files, which reports what is wrong with them.
  virtual bool knows_file(const std::filesystem::path&) const { return false; }
  /// Opens a model from files, or from a folder with some parts given as files. Only called if
  /// `opens_files()`.
  virtual std::unique_ptr<Pipeline> open_files(const ModelFiles& files, const ComponentChoices& choices,
                                               const Backend& backend) const {
    return open(files.model, choices, backend);
  }
  /// Whether a policy's models include this family's: a preset that a program adds has only the models that
  /// it was compiled with.
  virtual bool has_models(std::span<const FamilyModels>) const { return true; }

  bool recognises(std::string_view pipeline_class) const {
    return std::ranges::find(pipeline_classes(), pipeline_class) != pipeline_classes().end();
  }
  /// The words for a related class, or "".
  std::string_view relative(std::string_view pipeline_class) const {
    for (const RelatedClasses& related : related_classes())
      if (pipeline_class.starts_with(related.start)) return related.words;
    return {};
  }

 protected:
  ~Family() = default;
};

}  // namespace precast::families
