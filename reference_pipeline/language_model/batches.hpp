// The windows of tokens for each step of a training run.
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

/// The order of the data: the tokens of a step depend only on its number, so that a run can resume at any
/// step.
class Batches {
 public:
  virtual ~Batches() = default;
  /// The [batch, context + 1] tokens of step `step`, counted from 0.
  virtual std::vector<std::int32_t> step(std::int64_t step) const = 0;
  virtual std::int64_t batch() const = 0;
  virtual std::int64_t context() const = 0;
};

/// One rank's windows of each step: those after the windows of lower ranks, the same number for each rank.
/// Throws InputError if the ranks cannot share a step's windows evenly; `name` is for messages.
std::unique_ptr<Batches> part_of_rank(std::unique_ptr<Batches> all, int rank, int ranks,
                                      const std::string& name);

/// Windows at random positions of a text, drawn by splitmix64 from seed, step and row. Throws InputError if
/// the text is shorter than a window; `name` is for messages.
std::unique_ptr<Batches> random_windows(std::vector<std::int32_t> tokens, std::int64_t batch,
                                        std::int64_t context, std::uint64_t seed, const std::string& name);

/// The shape [steps, batch, context + 1] of a file of batches, for all ranks together. Throws InputError if
/// `batches_of_file` cannot read it.
Shape shape_of_batches(const std::filesystem::path& file);

/// The batches of a safetensors file with I64 `tokens` [steps, batch, context + 1], read as a whole. Throws
/// InputError for another kind of file, for fewer steps than requested, and for a token outside
/// `vocabulary`.
std::unique_ptr<Batches> batches_of_file(const std::filesystem::path& file, std::int64_t steps,
                                         std::int64_t vocabulary);

/// Held-out windows for the validation loss: [count, context + 1] tokens, and optionally a shorter last
/// one.
struct HeldOut {
  std::vector<std::int32_t> tokens;
  std::int64_t context = 0;
  std::vector<std::int32_t> last{};  ///< empty, or at least two tokens

  std::int64_t count() const { return static_cast<std::int64_t>(tokens.size()) / (context + 1); }
  /// The number of predicted tokens: all but the first of each window.
  std::int64_t predictions() const {
    return count() * context + std::max<std::int64_t>(std::ssize(last) - 1, 0);
  }
  std::span<const std::int32_t> windows(std::int64_t first, std::int64_t rows) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(first * (context + 1)),
                                     static_cast<std::size_t>(rows * (context + 1)));
  }
};

/// Consecutive windows from the start of a text, so that each token but the first is predicted once. Throws
/// InputError if the text is shorter than a window.
HeldOut held_out_text(std::span<const std::int32_t> tokens, std::int64_t context, const std::string& name);
/// All windows of a file of batches. Throws what batches_of_file throws.
HeldOut held_out_file(const std::filesystem::path& file, std::int64_t vocabulary);

}  // namespace precast::language_model
