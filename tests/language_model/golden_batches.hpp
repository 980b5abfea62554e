// The batches and models of tests/golden/make_training.py.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <language_model/batches.hpp>
#include <language_model/shipped_text.hpp>
#include <language_model/trainer.hpp>
#include <support/golden.hpp>

namespace precast::language_model {

/// Windows of the shipped text's bytes at places that a formula says, from its step `first` on.
class GoldenBatches final : public Batches {
 public:
  explicit GoldenBatches(std::int64_t first = 0) : first_(first) {}

  std::vector<std::int32_t> step(std::int64_t step) const override {
    const std::string_view text = shipped_text();
    std::vector<std::int32_t> windows;
    for (std::int64_t row = 0; row < batch(); ++row) {
      const auto start = static_cast<std::size_t>(((first_ + step) * batch() + row) * 67 %
                                                  (static_cast<std::int64_t>(text.size()) - context()));
      for (const char c : text.substr(start, static_cast<std::size_t>(context() + 1)))
        windows.push_back(static_cast<unsigned char>(c));
    }
    return windows;
  }
  std::int64_t batch() const override { return 4; }
  std::int64_t context() const override { return 24; }

 private:
  std::int64_t first_;
};

inline std::filesystem::path golden_folder(const std::string& model) {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/language_models" / model;
}

inline Trainer golden_trainer(const std::string& model, const TrainingOptions& options) {
  const auto folder = golden_folder(model);
  const LanguageModelConfig config = LanguageModelConfig::load(folder / "config.json");
  return Trainer(config, options, read_values(folder, config));
}

/// A column of a golden run: loss, grad_norm, scale, skipped, lr.
inline std::vector<double> golden_column(const testing::Golden& golden, const std::string& run,
                                         std::size_t column) {
  const std::vector<double> all = golden.doubles(run);
  std::vector<double> values;
  for (std::size_t i = column; i < all.size(); i += 5) values.push_back(all[i]);
  return values;
}

}  // namespace precast::language_model
