// Facts from a component's tensors, for every family: numbers in names, sizes in shapes, and agreement with
// a config.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <weights/placed_source.hpp>

#include <precast/tensor/shape.hpp>

namespace precast::weights {

/// The number that follows `stem` in a name and ends at a dot; or -1, also for one beyond what a model has.
std::int64_t number_after(std::string_view name, std::string_view stem);

/// "FILE: 2 tensors are not read: 'a', 'b'", with at most three names. `names` must not be empty.
std::string unread_note(const std::filesystem::path& file, std::span<const std::string> names);

/// Whether sizes of one may be missing at a shape's end: convolutions of one pixel are stored as matrices.
enum class LastOnes : bool { stand, may_be_missing };

/// A weight's shape of `rank` sizes. Throws InputError where the weight is missing or has another rank.
Shape required_shape(const PlacedSource& weights, const std::string& name, std::size_t rank,
                     LastOnes ones = LastOnes::stand);

/// Compares numbers of a file and of a config.
class Agreement {
 public:
  /// `cure`: what to do where they differ, "give a file and a folder that belong together".
  Agreement(const PlacedSource& weights, const std::filesystem::path& config, std::string_view cure)
      : weights_(weights), config_(config), cure_(cure) {}

  /// Throws InputError where they differ.
  const Agreement& same(const std::string& what, std::int64_t in_file, std::int64_t in_config) const;
  /// The same where the file has more. What it lacks is named when a module asks for it.
  const Agreement& no_more(const std::string& what, std::int64_t in_file, std::int64_t in_config) const {
    return same(what, std::max(in_file, in_config), in_config);
  }

 private:
  const PlacedSource& weights_;
  const std::filesystem::path& config_;
  std::string_view cure_;
};

}  // namespace precast::weights
