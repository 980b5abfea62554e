// ModelConversion: what a command converts: a file, a component's folder or a whole model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <convert/conversion.hpp>

namespace precast::conversion {

/// A file of weights of a model, and what becomes of it.
struct ModelPart {
  std::string component;  ///< "transformer"; "" where the input is no model's folder
  std::unique_ptr<InputWeights> input;
  std::unique_ptr<Conversion> conversion;
};

/// Opening it checks all heads and chooses all types; `write` does the work. `in` is a .safetensors or .gguf
/// file, a component's folder or a model's. `out` is the same kind of file by its suffix, or, where `in` is a
/// folder, a folder that is not there yet or empty: each component's weights become one file, .gguf where
/// they get blocks, and all files that hold no weights are copied. From a model's folder to a file goes its
/// denoiser alone.
class ModelConversion {
 public:
  /// Throws families::RequestError for names and types that do not go together, InputError for what is wrong
  /// with files.
  ModelConversion(const std::filesystem::path& in, const std::filesystem::path& out,
                  const Settings& settings);

  const std::vector<ModelPart>& parts() const { return parts_; }
  std::int64_t values() const;
  /// Things to tell: rules that matched nothing, tensors whose source was quantised.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Writes all of it, or nothing. `written` is told the values of all parts so far.
  void write(const WrittenCallback& written) const;

 private:
  void add_part(const std::string& component, const std::filesystem::path& weights,
                const std::filesystem::path& target);
  void add_folder();
  void add_warnings();
  /// Warns of rules and of a plan that change nothing, or not what they say. Throws RequestError for a plan
  /// of another model.
  void warn_of_choices();
  /// Warns where the input is one of several shards, and the others are not read.
  void warn_of_shards();
  void warn_of_importance();
  /// Warns of columns of zeros that are padding, or may be.
  void warn_of_columns();
  /// Warns of tensors that come out as other programs, or whoever reads the numbers, may not expect.
  void warn_of_tensors();
  /// Warns "3 matrices, such as 'x', WHAT", where there are any.
  void warn_of_several(const std::vector<std::string>& names, const std::string& one,
                       const std::string& several, const std::string& what);
  void copy_others_to(const std::filesystem::path& folder) const;
  void write_parts(const std::filesystem::path& folder, const WrittenCallback& written) const;

  std::filesystem::path in_, out_;
  Settings settings_;
  bool to_folder_ = false;
  std::vector<ModelPart> parts_;
  std::vector<std::filesystem::path> copies_;  ///< files without weights, by their place in `in`
  std::vector<std::string> warnings_;
};

}  // namespace precast::conversion
