// What is read off a component's tensors, whatever its family: numbers in names, sizes in shapes, whether a
// config says the same. `Weights` is a family's ComponentWeights: shape(name) and error(problem).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/io/message.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::weights {

/// The number that follows `stem` in a name and ends at a dot; or -1, also for one beyond `most`.
std::int64_t number_after(std::string_view name, std::string_view stem, std::int64_t most);

/// "FILE: 2 tensors are not read: 'a', 'b'", of many the first three. There is at least one.
std::string unread_note(const std::filesystem::path& file, std::span<const std::string> names);

/// Whether sizes of one may be missing at a shape's end: convolutions of one pixel are stored as matrices.
enum class LastOnes : bool { stand, may_be_missing };

/// A weight's shape, of so many sizes. Throws InputError where it is not there, or has others.
template <class Weights>
Shape required_shape(const Weights& weights, const std::string& name, std::size_t rank,
                     LastOnes ones = LastOnes::stand) {
  const auto shape = weights.shape(name);
  if (!shape) throw weights.error("lacks " + name + ": the file is incomplete, get it anew");
  const bool fewer = ones == LastOnes::may_be_missing && shape->rank() > 0 && shape->rank() < rank;
  if (shape->rank() != rank && !fewer)
    throw weights.error(name + " has shape " + to_string(*shape) + ", of which " + std::to_string(rank) +
                        " sizes are expected: get the file anew");
  std::vector<std::int64_t> sizes(shape->sizes().begin(), shape->sizes().end());
  sizes.resize(rank, 1);
  return Shape(std::span<const std::int64_t>(sizes));
}

/// Compares what a file and a config say of one thing.
template <class Weights>
class Agreement {
 public:
  /// `cure`: what to do where they differ, "give a file and a folder that are".
  Agreement(const Weights& weights, const std::filesystem::path& config, std::string_view cure)
      : weights_(weights), config_(config), cure_(cure) {}

  /// Throws InputError where they differ.
  const Agreement& same(const std::string& what, std::int64_t in_file, std::int64_t in_config) const {
    if (in_file != in_config)
      throw weights_.error("has " + what + " " + std::to_string(in_file) + " where " + io::shown(config_) +
                           " says " + std::to_string(in_config) + ": they are not of one model; " +
                           std::string(cure_));
    return *this;
  }
  /// The same where the file has more. What it lacks is named when a module asks for it.
  const Agreement& no_more(const std::string& what, std::int64_t in_file, std::int64_t in_config) const {
    return same(what, std::max(in_file, in_config), in_config);
  }

 private:
  const Weights& weights_;
  const std::filesystem::path& config_;
  std::string_view cure_;
};

}  // namespace precast::weights
