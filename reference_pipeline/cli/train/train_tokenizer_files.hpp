// The tokenizer files that transformers writes into a model's folder.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace precast::cli {

/// transformers' names of vocabularies, for every kind of tokenizer, and of the files that accompany
/// them.
inline constexpr std::array names_of_tokenizer{"tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "tokenizer.model",
                                               "vocab.json",
                                               "merges.txt",
                                               "vocab.txt",
                                               "spiece.model",
                                               "sentencepiece.bpe.model",
                                               "sentencepiece.model",
                                               "spm.model",
                                               "bpe.codes",
                                               "tekken.json",
                                               "chat_template.jinja"};
/// The folder of chat templates other than the default one.
inline constexpr const char* folder_of_templates = "additional_chat_templates";

/// The tokenizer files in a folder, by their names relative to it.
inline std::vector<std::string> tokenizer_files_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder / folder_of_templates, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (at->path().extension() == ".jinja" && at->is_regular_file(ignored))
      names.push_back((folder_of_templates / at->path().filename()).string());
  }
  std::ranges::sort(names);
  for (const char* name : names_of_tokenizer)
    if (std::error_code ignored; fs::is_regular_file(folder / name, ignored)) names.emplace_back(name);
  return names;
}

}  // namespace precast::cli
