#include <cstring>
#include <limits>

#include <language_model/batches.hpp>
#include <language_model/splitmix64.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/safetensors.hpp>

namespace precast::language_model {

namespace {

class RandomWindows final : public Batches {
 public:
  RandomWindows(std::vector<std::int32_t> tokens, std::int64_t batch, std::int64_t context,
                std::uint64_t seed)
      : tokens_(std::move(tokens)), batch_(batch), context_(context), seed_(seed) {}

  std::vector<std::int32_t> step(std::int64_t step) const override {
    std::vector<std::int32_t> windows;
    const std::uint64_t places = tokens_.size() - static_cast<std::size_t>(context_);
    for (std::int64_t row = 0; row < batch_; ++row) {
      const auto number = static_cast<std::uint64_t>(step * batch_ + row);
      const std::uint64_t place = splitmix64(splitmix64(seed_) + number) % places;
      const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(place);
      windows.insert(windows.end(), first, first + context_ + 1);
    }
    return windows;
  }
  std::int64_t batch() const override { return batch_; }
  std::int64_t context() const override { return context_; }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t batch_, context_;
  std::uint64_t seed_;
};

class GivenBatches final : public Batches {
 public:
  GivenBatches(std::vector<std::int32_t> tokens, std::int64_t batch, std::int64_t context)
      : tokens_(std::move(tokens)), batch_(batch), context_(context) {}

  std::vector<std::int32_t> step(std::int64_t step) const override {
    const std::int64_t size = batch_ * (context_ + 1);
    const auto first = tokens_.begin() + step * size;
    return {first, first + size};
  }
  std::int64_t batch() const override { return batch_; }
  std::int64_t context() const override { return context_; }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t batch_, context_;
};

class PartOfRank final : public Batches {
 public:
  PartOfRank(std::unique_ptr<Batches> all, int rank, int ranks)
      : all_(std::move(all)), rank_(rank), ranks_(ranks) {}

  std::vector<std::int32_t> step(std::int64_t step) const override {
    const std::vector<std::int32_t> windows = all_->step(step);
    const auto size = static_cast<std::ptrdiff_t>(windows.size()) / ranks_;
    const auto first = windows.begin() + rank_ * size;
    return {first, first + size};
  }
  std::int64_t batch() const override { return all_->batch() / ranks_; }
  std::int64_t context() const override { return all_->context(); }

 private:
  std::unique_ptr<Batches> all_;
  int rank_, ranks_;
};

void require_window(std::int64_t tokens, std::int64_t context, const std::string& name) {
  if (tokens < context + 1)
    throw InputError(name + ": has " + io::counted(tokens, "token") + ", fewer than the " +
                     std::to_string(context + 1) + " that a context of " + std::to_string(context) +
                     " needs: give more text, or a smaller --context");
}

/// Opens a file of batches. Its errors do not speak of downloads, as those of weights do: batches are never
/// downloaded.
io::SafetensorsFile open_batches(const std::filesystem::path& file) {
  constexpr std::size_t header = 8;  // the header's offset
  const io::MappedFile mapped(file);
  if (mapped.text().size() <= header || mapped.text()[header] != '{')
    throw io::file_error(
        file, "is not a safetensors file: give one that has 'tokens', I64 [steps, batch, context + 1]");
  return io::SafetensorsFile(file);
}

const io::TensorEntry& tokens_of(const io::SafetensorsFile& opened, const std::filesystem::path& file) {
  const io::TensorEntry& entry = opened.at("tokens");
  const Shape& shape = entry.shape;
  if (entry.dtype.file_name != "I64" || shape.rank() != 3 || shape.elements() == 0 || shape[2] < 2)
    throw io::tensor_error(file, "tokens",
                           "is " + std::string(entry.dtype.file_name) + " " + to_string(shape) +
                               " where I64 [steps, batch, context + 1] is expected: write it again");
  return entry;
}

/// The tokens of a file's first `steps` steps. Throws InputError if one is outside `vocabulary`.
std::vector<std::int32_t> first_steps(const io::TensorEntry& entry, const std::filesystem::path& file,
                                      std::int64_t steps, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(steps * entry.shape[1] * entry.shape[2]));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::int64_t token = 0;
    std::memcpy(&token, entry.bytes.data() + i * sizeof token, sizeof token);
    if (token < 0 || token >= vocabulary)
      throw io::tensor_error(file, "tokens",
                             "holds " + std::to_string(token) + " at place " + std::to_string(i) +
                                 ", which is not one of the model's " + std::to_string(vocabulary) +
                                 " tokens: use the model's tokenizer");
    tokens[i] = static_cast<std::int32_t>(token);
  }
  return tokens;
}

}  // namespace

std::unique_ptr<Batches> part_of_rank(std::unique_ptr<Batches> all, int rank, int ranks,
                                      const std::string& name) {
  if (all->batch() % ranks != 0)
    throw InputError(name + ": has steps of " + std::to_string(all->batch()) + " windows, which " +
                     std::to_string(ranks) + " ranks cannot share evenly: start another number of ranks");
  if (ranks == 1) return all;
  return std::make_unique<PartOfRank>(std::move(all), rank, ranks);
}

std::unique_ptr<Batches> random_windows(std::vector<std::int32_t> tokens, std::int64_t batch,
                                        std::int64_t context, std::uint64_t seed, const std::string& name) {
  if (tokens.empty()) throw InputError(name + ": is empty: give a text to train on");
  require_window(std::ssize(tokens), context, name);
  return std::make_unique<RandomWindows>(std::move(tokens), batch, context, seed);
}

Shape shape_of_batches(const std::filesystem::path& file) {
  const io::SafetensorsFile opened = open_batches(file);
  return tokens_of(opened, file).shape;
}

std::unique_ptr<Batches> batches_of_file(const std::filesystem::path& file, std::int64_t steps,
                                         std::int64_t vocabulary) {
  const io::SafetensorsFile opened = open_batches(file);
  const io::TensorEntry& entry = tokens_of(opened, file);
  const Shape& shape = entry.shape;
  if (shape[0] < steps)
    throw io::tensor_error(file, "tokens",
                           "has the batches of " + io::counted(shape[0], "step") + ", fewer than " +
                               std::to_string(steps) + ": lower --steps, or give more");
  return std::make_unique<GivenBatches>(first_steps(entry, file, steps, vocabulary), shape[1], shape[2] - 1);
}

HeldOut held_out_text(std::span<const std::int32_t> tokens, std::int64_t context, const std::string& name) {
  require_window(std::ssize(tokens), context, name);
  HeldOut all{{}, context};
  // Windows overlap by one token, the last input's target and the next window's first input.
  for (; std::ssize(tokens) > context; tokens = tokens.subspan(static_cast<std::size_t>(context))) {
    const auto window = tokens.first(static_cast<std::size_t>(context + 1));
    all.tokens.insert(all.tokens.end(), window.begin(), window.end());
  }
  if (tokens.size() > 1) all.last.assign(tokens.begin(), tokens.end());
  return all;
}

HeldOut held_out_file(const std::filesystem::path& file, std::int64_t vocabulary) {
  const io::SafetensorsFile opened = open_batches(file);
  const io::TensorEntry& entry = tokens_of(opened, file);
  return {first_steps(entry, file, entry.shape[0], vocabulary), entry.shape[2] - 1};
}

}  // namespace precast::language_model
