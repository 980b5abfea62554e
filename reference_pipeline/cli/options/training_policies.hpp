// Lists of training policies as values of options.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <language_model/trained_model.hpp>

namespace precast::cli {

/// The canonical names of the training policies in a list, such as "f32+flash". Throws UsageError if two
/// texts name the same policy, and what training_policy throws.
inline std::vector<std::string> training_policies_named(std::string_view option,
                                                        std::vector<std::string> names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string given = std::exchange(*name, language_model::training_policy(*name).name);
    if (std::find(names.begin(), name, *name) != name)
      throw UsageError(std::string(option) + ": " + given + " is " + *name + ", which is listed already");
  }
  return names;
}

}  // namespace precast::cli
