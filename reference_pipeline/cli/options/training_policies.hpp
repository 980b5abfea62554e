// Lists of policies of training, as options of commands have them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cli/options/arguments.hpp>
#include <language_model/trained_model.hpp>

namespace precast::cli {

/// The names of the policies that texts name, "f32+flash" of "balanced". Throws UsageError where two name one
/// policy, and what training_policy does.
inline std::vector<std::string> training_policies_named(std::string_view option,
                                                        std::vector<std::string> names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string given = std::exchange(*name, language_model::training_policy(*name).name);
    if (std::find(names.begin(), name, *name) != name)
      throw UsageError(std::string(option) + ": " + given + " is " + *name + ", which stands there already");
  }
  return names;
}

}  // namespace precast::cli
