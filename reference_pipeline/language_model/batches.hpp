// The windows of tokens that each step of a training run takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <precast/tensor/shape.hpp>

namespace precast::language_model {

/// The data's order: which tokens a step takes follows from its number alone, so that a run can go on from
/// any step.
class Batches {
 public:
  virtual ~Batches() = default;
  /// [batch, context + 1] tokens of step `step`, counted from 0.
  virtual std::vector<std::int32_t> step(std::int64_t step) const = 0;
  virtual std::int64_t batch() const = 0;
  virtual std::int64_t context() const = 0;
};

/// What one of several ranks takes of each step: the windows behind those of the ranks before it, as many as
/// they. Throws InputError where the windows of a step cannot be shared evenly; `name` is for messages.
std::unique_ptr<Batches> part_of_rank(std::unique_ptr<Batches> all, int rank, int ranks,
                                      const std::string& name);

/// Windows at random places of a text, drawn by splitmix64 from seed, step and row. Throws InputError where
/// the text is shorter than a window; `name` is for messages.
std::unique_ptr<Batches> random_windows(std::vector<std::int32_t> tokens, std::int64_t batch,
                                        std::int64_t context, std::uint64_t seed, const std::string& name);

/// [steps, batch, context + 1], as a file of batches has them for all ranks together. Throws InputError where
/// it is none of `batches_of_file`.
Shape shape_of_batches(const std::filesystem::path& file);

/// Those of a safetensors file with I64 `tokens` [steps, batch, context + 1], read as a whole. Throws
/// InputError where the file is not that, has fewer steps than are asked for, or a token is none of
/// `vocabulary`.
std::unique_ptr<Batches> batches_of_file(const std::filesystem::path& file, std::int64_t steps,
                                         std::int64_t vocabulary);

/// Windows that a model is not trained on, whose loss says what it has learnt: [count, context + 1] tokens,
/// and perhaps one more that is shorter.
struct HeldOut {
  std::vector<std::int32_t> tokens;
  std::int64_t context = 0;
  std::vector<std::int32_t> last{};  ///< empty, or at least two tokens

  std::int64_t count() const { return static_cast<std::int64_t>(tokens.size()) / (context + 1); }
  /// How many tokens are predicted: all but the first of each window.
  std::int64_t predictions() const {
    return count() * context + std::max<std::int64_t>(std::ssize(last) - 1, 0);
  }
  std::span<const std::int32_t> windows(std::int64_t first, std::int64_t rows) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(first * (context + 1)),
                                     static_cast<std::size_t>(rows * (context + 1)));
  }
};

/// A text from its beginning, so that each token but the first is predicted once. Throws InputError where the
/// text is shorter than a window.
HeldOut held_out_text(std::span<const std::int32_t> tokens, std::int64_t context, const std::string& name);
/// All windows of a file of batches, as batches_of_file reads it. Throws what that does.
HeldOut held_out_file(const std::filesystem::path& file, std::int64_t vocabulary);

}  // namespace precast::language_model
