// The benchmark of language models: its cases, and its table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <timing/language_models.hpp>
#include <timing/suite.hpp>

namespace precast::timing {

/// What is measured: each size at each context under each policy after each warm-up.
struct ModelGrid {
  std::vector<std::string> sizes{"S", "M"};
  std::vector<std::int64_t> contexts{128, 256, 512};
  std::vector<std::int64_t> warmups{5};
  std::vector<std::string> policies{"f32", "bf16"};
  std::vector<language_model::Architecture> architectures{language_model::Architecture::llama};
  std::int64_t steps = 10, batch = 4;
  Parts parts{};

  /// All cases: policies, architectures, sizes, contexts, warm-ups, the last of them changing first.
  std::vector<ModelCase> cases() const;
  /// All of that in words.
  std::string settings() const;
};

/// Its cases and its table, whose columns are named as in the source's: averages and standard deviations in
/// seconds. Throws what sizes and policies do that there are not.
Suite model_suite(const ModelGrid& grid, const TimedDevice& device);

}  // namespace precast::timing
