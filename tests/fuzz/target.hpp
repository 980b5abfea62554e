// Fuzz targets: what reads bytes that a stranger may have made. Each takes any bytes, and ends or throws
// precast::Error. Everything else (another exception, a crash, a sanitizer's report, no end) is a defect.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::testing {

struct FuzzTarget {
  std::string_view name;
  void (*read)(std::span<const std::byte> input);
  /// Inputs to start from, made of files of the repository.
  std::vector<std::string> (*seeds)();
};

/// All of them, in the order of their names.
std::span<const FuzzTarget> fuzz_targets();

/// The target of that name; nullptr where there is none.
const FuzzTarget* find_fuzz_target(std::string_view name);

/// Files of the repository (PRECAST_SOURCE_DIR) whose path ends like this, largest_seed bytes at most.
std::vector<std::string> files_ending(std::string_view end);
inline constexpr std::size_t largest_seed = 64 << 10;

/// Runs what a target reads: a refusal is as good as an answer.
template <class Read>
void answer_or_refusal(Read&& read) {
  try {
    std::forward<Read>(read)();
  } catch (const Error& error) {
    // Names of a file among them: a line break would begin a line of its own.
    const std::string_view words = error.what();
    if (words.empty()) throw std::logic_error("an error without words");
    for (std::size_t at = 0; at < words.size(); ++at)
      if (io::control_at(words, at))
        throw std::logic_error("an error with a control character: " + io::printable(words, 400));
  }
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The targets, a file each.
void fuzz_gguf(std::span<const std::byte> input);
void fuzz_safetensors(std::span<const std::byte> input);
void fuzz_shards(std::span<const std::byte> input);
void fuzz_comparison_part(std::span<const std::byte> input);
void fuzz_config(std::span<const std::byte> input);
void fuzz_clip_tokenizer_json(std::span<const std::byte> input);
void fuzz_clip_vocabulary(std::span<const std::byte> input);
void fuzz_clip_merges(std::span<const std::byte> input);
void fuzz_clip_settings(std::span<const std::byte> input);
void fuzz_t5_tokenizer_json(std::span<const std::byte> input);
void fuzz_t5_gguf(std::span<const std::byte> input);
void fuzz_t5_pieces(std::span<const std::byte> input);
void fuzz_t5_settings(std::span<const std::byte> input);
void fuzz_prompt(std::span<const std::byte> input);
void fuzz_picture(std::span<const std::byte> input);
void fuzz_picture_text(std::span<const std::byte> input);
void fuzz_cost(std::span<const std::byte> input);
void fuzz_plan(std::span<const std::byte> input);
void fuzz_importance(std::span<const std::byte> input);

}  // namespace precast::testing
