// Conversion: one file of weights becomes another, a piece at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <convert/importance.hpp>
#include <convert/layout.hpp>
#include <convert/output_tensor.hpp>
#include <convert/type_choice.hpp>

#include <precast/quant/encode_options.hpp>

namespace precast::conversion {

/// The options of a conversion.
struct Settings {
  TypeOptions type_options;
  std::optional<Layout> layout;
  quant::EncodeOptions encoder;
  std::shared_ptr<const Importance> importance = nullptr;  ///< for the search encoder
};

/// Is told the values that were written so far, after each piece. May throw to cancel.
using WrittenCallback = std::function<void(std::int64_t values)>;

/// Tensors of one type.
struct TypeShare {
  std::int64_t tensors = 0, values = 0, bytes = 0;
};

/// A file of weights to convert, with the type of each of its tensors. `input` must outlive it.
class Conversion {
 public:
  /// Chooses the type of every tensor; reads no values. `component` is the name of a model folder's part,
  /// which rules may name in front of a tensor's, or "".
  Conversion(const InputWeights& input, const std::filesystem::path& target, Container container,
             const Settings& settings, const std::string& component = "", bool is_small_component = false);

  /// Throws InputError that names the first tensor whose type this kind of file cannot hold.
  void check_types() const;

  const std::filesystem::path& target() const { return target_; }
  Container container() const { return container_; }
  const InputWeights& input() const { return input_; }
  const std::vector<OutputTensor>& tensors() const { return tensors_; }
  WeightsKind kind() const { return kind_; }
  /// All values of all tensors: what progress counts to.
  std::int64_t values() const;
  std::int64_t bytes() const;
  /// The shares of the types, by name, before and after.
  std::map<std::string, TypeShare> input_types() const;
  std::map<std::string, TypeShare> output_types() const;

  /// Whether any tensor gets blocks that it does not have already.
  bool encodes_blocks() const;
  /// The number of matrices that get blocks; and the names of those that an importance has no row for.
  std::int64_t encoded_matrices() const;
  std::vector<std::string> without_importance(const Importance& importance) const;

  /// Writes the file, at `target()` or elsewhere: whole or, where anything is thrown, not at all. Keeps no
  /// more than some tens of MiB of values at a time. Throws InputError that names tensor and index for a
  /// value that is infinite, NaN, or beyond what its type holds, and that names the file where it cannot be
  /// written.
  void write(const std::filesystem::path& target, const Settings& settings,
             const WrittenCallback& written) const;

 private:
  const InputWeights& input_;
  std::filesystem::path target_;
  Container container_;
  WeightsKind kind_;
  std::vector<OutputTensor> tensors_;
};

}  // namespace precast::conversion
