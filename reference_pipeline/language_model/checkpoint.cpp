// Files that a training run writes and reads: checkpoints, and models for transformers.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>

#include <language_model/trainer.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/content_hash.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>
#include <precast/io/safetensors_writer.hpp>

namespace precast::language_model {

namespace {

constexpr std::string_view kind = "precast training checkpoint";
constexpr std::size_t kinds = 3;  // of state per parameter: the parameter and two moments

template <class Number>
std::string text_of(Number value) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

/// A number in a checkpoint's metadata. Throws InputError if it is missing or not a number.
template <class Number>
Number number_of(const io::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found != file.metadata().end())
    if (const auto value = io::number_in<Number>(found->second)) return *value;
  throw io::file_error(file.path(),
                       "the checkpoint's " + key + " is missing or not a number: use another one");
}

/// A parameter's bytes in a file's layout: transposed if transformers stores it so.
std::vector<std::byte> stored_bytes(const StateTensor& tensor, bool transposed) {
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  if (!transposed) return bytes;
  const auto rows = static_cast<std::size_t>(tensor.shape[0]),
             columns = static_cast<std::size_t>(tensor.shape[1]);
  const auto size = static_cast<std::size_t>(tensor.dtype.bytes_per_block);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      std::memcpy(bytes.data() + (column * rows + row) * size,
                  tensor.bytes.data() + (row * columns + column) * size, size);
  return bytes;
}

using Facts = std::map<std::string, std::string>;
constexpr const char* checksum_key = "checksum";
/// The keys of a checkpoint's metadata, except the checksum.
constexpr std::array<std::string_view, 10> keys_of_facts{"kind",    "policy",          "config", "settings",
                                                         "step",    "optimiser_steps", "scale",  "ranks",
                                                         "windows", "growth_tracker"};

/// A checksum of everything in a checkpoint but the checksum.
std::string checksum_of(const Facts& facts,
                        const std::map<std::string, std::span<const std::byte>>& tensors) {
  io::ContentHash hash;
  const auto add = [&](std::string_view text) { hash.add(std::as_bytes(std::span(text))); };
  for (const auto& [key, value] : facts) {
    if (key == checksum_key) continue;
    add(key);
    add(value);
  }
  for (const auto& [name, bytes] : tensors) {
    add(name);
    hash.add(bytes);
  }
  return io::hash_text(hash.value());
}

bool is_checkpoint(const io::SafetensorsFile& file) {
  const auto stated = file.metadata().find("kind");
  return stated != file.metadata().end() && stated->second == kind;
}

void require_checkpoint(const io::SafetensorsFile& file) {
  if (!is_checkpoint(file))
    throw io::file_error(file.path(),
                         "is not a checkpoint that precast train wrote: name one, or train again");
}

std::string fact_of(const io::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

/// Throws if the configs differ: heads, epsilons and the like are not visible in shapes.
void require_config(const io::SafetensorsFile& file, const LanguageModelConfig& config,
                    const std::string& remedy) {
  if (fact_of(file, "config") != config.json())
    throw io::file_error(file.path(), "was written by a model of another config.json: " + remedy);
}

/// Whether a file matches its checksum; earlier versions wrote none. In a checkpoint, a key that no version
/// wrote may be the checksum's, damaged.
bool is_undamaged(const io::SafetensorsFile& file) {
  const auto written = file.metadata().find(checksum_key);
  if (written == file.metadata().end()) {
    const auto is_known = [](const auto& fact) {
      return std::ranges::find(keys_of_facts, fact.first) != keys_of_facts.end();
    };
    return !is_checkpoint(file) || std::ranges::all_of(file.metadata(), is_known);
  }
  std::map<std::string, std::span<const std::byte>> tensors;
  for (const io::TensorEntry& entry : file.tensors()) tensors.emplace(entry.name, entry.bytes);
  return checksum_of(file.metadata(), tensors) == written->second;
}

}  // namespace

io::SafetensorsFile open_checkpoint(const std::filesystem::path& path) {
  const std::size_t size = io::MappedFile(path).text().size();  // throws if the file cannot be read
  try {
    io::SafetensorsFile file(path);
    if (is_undamaged(file)) return file;
  } catch (const InputError&) {
    // The error of a damaged header advises a download, which does not apply to a checkpoint.
  }
  throw io::file_error(path, "its " + std::to_string(size) +
                                 " bytes are not a whole checkpoint: it was cut off or damaged; put an "
                                 "earlier copy in its place, or train again with --overwrite");
}

ParameterValues values_of_checkpoint(const std::filesystem::path& path, const LanguageModelConfig& config) {
  const io::SafetensorsFile file = open_checkpoint(path);
  require_checkpoint(file);
  require_config(file, config, "put the one back that it was trained with");
  ParameterValues all;
  for (const ParameterFacts& facts : parameters_of(config)) {
    const io::TensorEntry& entry = file.at("parameter." + facts.name);
    if (entry.shape != facts.shape || !weights::holds_numbers(entry))
      throw io::tensor_error(path, entry.name,
                             "is " + std::string(entry.dtype.file_name) + " " + to_string(entry.shape) +
                                 " where the config asks for " + to_string(facts.shape) +
                                 ": the checkpoint is of another model; give that one's config.json");
    all.push_back(weights::values_of(entry));
  }
  return all;
}

void Trainer::write_checkpoint(const std::filesystem::path& file, const std::string& settings,
                               const std::function<void()>& before_it_appears) const {
  io::SafetensorsWriter writer(file);
  Facts facts{{"kind", std::string(kind)},
              {"policy", options_.policy},
              {"config", config_.json()},
              {"step", text_of(next_step_)},
              {"optimiser_steps", text_of(optimiser_steps_)},
              {"scale", text_of(scaler_.scale())},
              {"ranks", text_of(ranks())},
              {"windows", text_of(windows_)},
              {"growth_tracker", text_of(scaler_.growth_tracker())}};
  if (!settings.empty()) facts["settings"] = settings;
  const std::vector<StateTensor> state = model_->state();
  std::map<std::string, std::span<const std::byte>> tensors;
  for (const StateTensor& tensor : state) tensors.emplace(tensor.name, tensor.bytes);
  facts[checksum_key] = checksum_of(facts, tensors);
  for (const auto& [key, value] : facts) writer.set(key, value);
  for (const StateTensor& tensor : state) writer.declare(tensor.name, tensor.dtype, tensor.shape);
  for (const StateTensor& tensor : state) writer.write(tensor.bytes);
  if (before_it_appears) {
    writer.sync();
    before_it_appears();
  }
  writer.commit();
}

void Trainer::read_checkpoint(const io::SafetensorsFile& file) {
  const std::filesystem::path& path = file.path();
  require_checkpoint(file);
  if (const std::string policy = fact_of(file, "policy"); policy != options_.policy)
    throw io::file_error(path, "was written under the policy " + io::printable(policy, 40) + ", not " +
                                   options_.policy + ": resume with --policy " + io::printable(policy, 40));
  const std::vector<StateTensor> state = model_->state();
  for (const StateTensor& tensor : state) {
    const io::TensorEntry& entry = file.at(tensor.name);
    if (entry.dtype.info != tensor.dtype || entry.shape != tensor.shape)
      throw io::tensor_error(path, tensor.name,
                             "is " + std::string(entry.dtype.info.name) + " " + to_string(entry.shape) +
                                 " where the model has " + std::string(tensor.dtype.name) + " " +
                                 to_string(tensor.shape) +
                                 ": the checkpoint is of another model; resume with its sizes");
  }
  require_config(file, config_, "resume with the one that it was trained with");
  const auto step = number_of<std::int64_t>(file, "step");
  const auto optimiser_steps = number_of<std::int64_t>(file, "optimiser_steps");
  if (step < 0 || optimiser_steps < 0 || optimiser_steps > step)
    throw io::file_error(path, "the checkpoint's steps are not valid: use another one");
  if (scaler_.enabled()) {
    const auto scale = number_of<f32>(file, "scale");
    const auto growth_tracker = number_of<std::int64_t>(file, "growth_tracker");
    try {
      scaler_.restore(scale, growth_tracker);
    } catch (const InputError& wrong) {
      throw io::file_error(path, wrong.what());
    }
  }
  for (const StateTensor& tensor : state) {
    const auto bytes = file.at(tensor.name).bytes;
    std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
  }
  if (file.metadata().contains("ranks")) {
    ranks_before_ = number_of<std::int64_t>(file, "ranks");
    windows_ = number_of<std::int64_t>(file, "windows");
    if (*ranks_before_ < 1 || windows_ < 0)
      throw io::file_error(path, "the checkpoint's ranks or windows are not valid: use another one");
  }
  next_step_ = step;
  optimiser_steps_ = optimiser_steps;
  require_same_progress(path);
  model_->state_changed();
  share_state();
}

/// Requires the checkpoints of all ranks to agree: parameters come from rank 0, but each rank counts its
/// own steps, and a folder local to its machine may hold another job's checkpoint.
void Trainer::require_same_progress(const std::filesystem::path& path) const {
  if (ranks() == 1) return;
  const std::array own{static_cast<double>(next_step_), static_cast<double>(optimiser_steps_),
                       static_cast<double>(scaler_.scale()), static_cast<double>(scaler_.growth_tracker()),
                       static_cast<double>(windows_)};
  bool differs = false;
  for (const double fact : own) differs = (cluster::sum(*parallel_.job, fact) != fact * ranks()) || differs;
  if (cluster::sum(*parallel_.job, differs) > 0)  // every rank throws, even one that equals the mean
    throw io::file_error(path, "is not the same checkpoint for all ranks, and of step " +
                                   std::to_string(next_step_) + " for rank " +
                                   std::to_string(parallel_.job->rank()) +
                                   ": give an --output that all machines share, or copy rank 0's to each");
}

bool Trainer::is_written(const std::filesystem::path& folder) const {
  const std::filesystem::path path = folder / model_file;
  if (!io::is_there(path)) return false;
  const std::vector<StateTensor> state = model_->state();
  const std::vector<ParameterFacts> facts = parameters_of(config_);
  try {
    const io::SafetensorsFile file(path);
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const StateTensor& tensor = state[kinds * i];
      const io::TensorEntry* const found = file.lookup(facts[i].name);
      if (!found || found->dtype.info != tensor.dtype || found->shape != facts[i].stored_shape() ||
          !std::ranges::equal(found->bytes, stored_bytes(tensor, facts[i].transposed)))
        return false;
    }
    return true;
  } catch (const InputError&) {  // incomplete file
    return false;
  }
}

void Trainer::write_model(const std::filesystem::path& folder) const {
  io::SafetensorsWriter writer(folder / model_file);
  writer.set("format", "pt");
  const std::vector<StateTensor> state = model_->state();
  const std::vector<ParameterFacts> facts = parameters_of(config_);
  for (std::size_t i = 0; i < facts.size(); ++i)
    writer.declare(facts[i].name, state[kinds * i].dtype, facts[i].stored_shape());
  for (std::size_t i = 0; i < facts.size(); ++i)
    writer.write(stored_bytes(state[kinds * i], facts[i].transposed));
  writer.commit();
  io::write_file(folder / "config.json", config_.json());
}

}  // namespace precast::language_model
