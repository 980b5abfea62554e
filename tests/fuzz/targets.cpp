// The list of the targets, and what each starts from.
#include <algorithm>
#include <array>
#include <fstream>

#include <fuzz/target.hpp>
#include <nlohmann/json.hpp>
#include <support/temporary_folder.hpp>

namespace precast::testing {

namespace {

const std::filesystem::path repository = PRECAST_SOURCE_DIR;

/// The files in hexadecimal digits of a golden: {NAME: {key: "89504e…"}}.
std::vector<std::string> pictures_in(const std::filesystem::path& golden, const char* key) {
  const auto number = [](const std::string& digits, std::size_t at) {
    return static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  };
  std::vector<std::string> files;
  const auto cases = nlohmann::json::parse(read_text(golden));
  for (const auto& [name, picture] : cases.items()) {
    const auto digits = picture.at(key).get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) bytes += number(digits, i);
    files.push_back(std::move(bytes));
  }
  return files;
}

std::vector<std::string> pictures() {
  auto files = pictures_in(repository / "tests/image/png_golden.json", "png");
  for (auto& file : pictures_in(repository / "tests/image/formats_golden.json", "file"))
    files.push_back(std::move(file));
  return files;
}

std::vector<std::string> importances() {
  auto files = files_ending(".imatrix.dat");
  for (auto& file : files_ending(".imatrix.gguf")) files.push_back(std::move(file));
  return files;
}

constexpr std::array targets{
    FuzzTarget{"clip_merges", &fuzz_clip_merges, [] { return files_ending("tokenizer/merges.txt"); }},
    FuzzTarget{"clip_settings", &fuzz_clip_settings,
               [] { return files_ending("tokenizer/tokenizer_config.json"); }},
    FuzzTarget{"clip_tokenizer_json", &fuzz_clip_tokenizer_json,
               [] { return files_ending("tokenizer/tokenizer.json"); }},
    FuzzTarget{"clip_vocabulary", &fuzz_clip_vocabulary, [] { return files_ending("tokenizer/vocab.json"); }},
    FuzzTarget{"comparison_part", &fuzz_comparison_part, [] { return files_ending(".compare.json"); }},
    FuzzTarget{"config", &fuzz_config, [] { return files_ending("config.json"); }},
    FuzzTarget{"cost", &fuzz_cost, [] { return files_ending(".cost.json"); }},
    FuzzTarget{"gguf", &fuzz_gguf, [] { return files_ending(".gguf"); }},
    FuzzTarget{"importance", &fuzz_importance, &importances},
    FuzzTarget{"picture", &fuzz_picture, &pictures},
    FuzzTarget{"picture_text", &fuzz_picture_text, [] { return files_ending(".settings.txt"); }},
    FuzzTarget{"plan", &fuzz_plan, [] { return files_ending(".plan.json"); }},
    FuzzTarget{"prompt", &fuzz_prompt, [] { return files_ending(".settings.txt"); }},
    FuzzTarget{"safetensors", &fuzz_safetensors, [] { return files_ending(".safetensors"); }},
    FuzzTarget{"shards", &fuzz_shards, [] { return files_ending("model.safetensors.index.json"); }},
    FuzzTarget{"t5_gguf", &fuzz_t5_gguf, [] { return files_ending(".tokenizer.gguf"); }},
    FuzzTarget{"t5_pieces", &fuzz_t5_pieces, [] { return files_ending("spiece.model"); }},
    FuzzTarget{"t5_settings", &fuzz_t5_settings,
               [] { return files_ending("tokenizer_2/tokenizer_config.json"); }},
    FuzzTarget{"t5_tokenizer_json", &fuzz_t5_tokenizer_json,
               [] { return files_ending("tokenizer_2/tokenizer.json"); }},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return targets; }

const FuzzTarget* find_fuzz_target(std::string_view name) {
  const auto found = std::ranges::find(targets, name, &FuzzTarget::name);
  return found == targets.end() ? nullptr : &*found;
}

std::vector<std::string> files_ending(std::string_view end) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"tests/golden", "tests/fuzz", "reference_pipeline/shapes/model"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(repository / folder))
      if (entry.is_regular_file() && entry.file_size() <= largest_seed &&
          entry.path().string().ends_with(end))
        paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> files;
  for (const auto& path : paths) files.push_back(read_text(path));
  return files;
}

}  // namespace precast::testing
