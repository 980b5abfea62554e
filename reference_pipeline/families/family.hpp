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

/// What a component's config alone says of its parameters.
struct ParameterAccounting {
  std::int64_t parameters = 0;
  std::string title;                           ///< "transformer, as casting reports count it"
  std::vector<std::vector<std::string>> rows;  ///< a label, a count, and perhaps a note
  nlohmann::ordered_json json;
};

/// Pipeline classes of a related architecture, by how their names start.
struct RelatedClasses {
  std::string_view start;  ///< "FluxKontext"
  std::string_view words;  ///< what they are, to end a sentence of refusal: "a Flux Kontext model, which …"
};

/// A family of models. All of them live as long as the program.
class Family {
 public:
  /// As people call it: "Flux".
  virtual std::string_view name() const = 0;
  /// The pipeline classes whose folders it opens, as model_index.json names them.
  virtual std::span<const std::string_view> pipeline_classes() const = 0;
  /// Those that it does not, whose weights were made for something else: the longer start first.
  virtual std::span<const RelatedClasses> related_classes() const { return {}; }
  /// The parts of a model folder that hold weights, in the order in which they run.
  virtual std::span<const ComponentInfo> components() const = 0;
  /// Further folders of a model: its scheduler, its tokenizers.
  virtual std::span<const std::string_view> other_folders() const { return {}; }
  /// Keys of configs that say how large a component is, in the order in which they are shown.
  virtual std::span<const std::string_view> config_keys() const { return {}; }
  /// Whether guidance is an input of the model, which was distilled into it, and not a second prediction.
  virtual bool guidance_is_distilled() const { return false; }
  /// The parameters of a component by its class and its config; nothing where it does not count this class.
  virtual std::optional<ParameterAccounting> account(std::string_view, const std::filesystem::path&) const {
    return std::nullopt;
  }
  /// Opens a model folder: reads configs and tokenizers, no weights. `backend` must outlive the pipeline.
  virtual std::unique_ptr<Pipeline> open(const std::filesystem::path& folder, const ComponentChoices& choices,
                                         const Backend& backend) const = 0;
  /// Whether it opens models whose parts are files.
  virtual bool opens_files() const { return false; }
  /// Whether a file holds a denoiser of its models, by its tensors. The first family that opens files gets
  /// those that none knows, and says what is wrong with them.
  virtual bool knows_file(const std::filesystem::path&) const { return false; }
  /// Opens a model from files, or from a folder some parts of which are given as files. Only where it
  /// `opens_files`.
  virtual std::unique_ptr<Pipeline> open_files(const ModelFiles& files, const ComponentChoices& choices,
                                               const Backend& backend) const {
    return open(files.model, choices, backend);
  }
  /// Whether its models are among those of a policy: a preset that a program adds has those alone that it was
  /// compiled with.
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
