#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include <cli/options/arguments.hpp>
#include <cli/terminal/output.hpp>
#include <cli/train/train_settings.hpp>
#include <language_model/trainer.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

using language_model::Architecture;

constexpr std::array names_of_data{"--data", "--batches"};
constexpr const char* held_out_data = "validation data";
/// Settings for writing and judging the model, which have no effect on its values.
constexpr std::array names_of_no_effect{"--checkpoint-every", "--validation", "--validate-every",
                                        held_out_data};
/// Settings stored with the model itself, which are not restored from a checkpoint.
constexpr std::array names_of_model{"--architecture", "--layers",   "--width",
                                    "--heads",        "--heads-kv", "--tokenizer"};

/// Settings of the all-reduce, which affect the bits of its sums: MPI adds buckets of another size in
/// another order.
constexpr const char* sum_precision = "--all-reduce-precision";
constexpr std::array names_of_sums{sum_precision, "--bucket-size"};

bool is_in(std::string_view name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

/// A hash (FNV-1a of 64 bits, by Fowler, Noll and Vo) to tell texts apart; not cryptographic.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::to_string(hash);
}

TrainSettings settings_from(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  TrainSettings settings;
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_string()) settings[name] = value.get<std::string>();
  return settings;
}

std::string text_of(const TrainSettings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string() : found->second;
}

/// The text of `rank`, on all ranks.
std::string text_of_rank(int rank, std::string text, cluster::Communicator& job) {
  std::uint64_t size = text.size();
  job.broadcast(std::as_writable_bytes(std::span(&size, 1)), rank);
  text.resize(size);
  job.broadcast(std::as_writable_bytes(std::span(text)), rank);
  return text;
}

std::string given_text(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option && option->count() > 0 ? option->results().front() : "";
}

}  // namespace

TrainSettings settings_of(const TrainOptions& options, const TrainInputs& inputs, int ranks) {
  const auto& training = options.training;
  const auto& config = inputs.config;
  const bool llama = config.architecture == Architecture::llama;
  TrainSettings all{
      {"--policy", training.policy},
      {"--steps", std::to_string(training.steps)},
      {"--lr", shortest(training.adamw.lr)},
      {"--betas", shortest(training.adamw.beta1) + "," + shortest(training.adamw.beta2)},
      {"--eps", shortest(training.adamw.eps)},
      {"--weight-decay", shortest(training.adamw.weight_decay)},
      {"--warmup", std::to_string(training.warmup)},
      {"--schedule", training.schedule == train::Schedule::cosine ? "cosine" : "constant"},
      {"--init-scale", shortest(training.scaler.init_scale)},
      {"--growth-factor", shortest(training.scaler.growth_factor)},
      {"--backoff-factor", shortest(training.scaler.backoff_factor)},
      {"--growth-interval", std::to_string(training.scaler.growth_interval)},
      {"--seed", std::to_string(options.seed)},
      {"--batch", std::to_string(inputs.batches->batch())},
      {"ranks", std::to_string(ranks)},
      {"--context", std::to_string(inputs.batches->context())},
      {"--checkpoint-every", std::to_string(options.checkpoint_interval())},
      {"--architecture", llama ? "llama" : "gpt2"},
      {"--layers", std::to_string(config.layers)},
      {"--width", std::to_string(config.width)},
      {"--heads", std::to_string(config.heads)},
  };
  if (inputs.tokenizer) all["--tokenizer"] = inputs.tokenizer->is_of_bytes() ? "bytes" : "characters";
  if (ranks > 1) all["--bucket-size"] = std::to_string(options.bucket_bytes);
  if (ranks > 1 && options.all_reduce)
    all[sum_precision] = std::string(cluster::name_of(*options.all_reduce));
  if (training.clip) all["--clip"] = shortest(*training.clip);
  if (llama) all["--heads-kv"] = std::to_string(config.heads_kv);
  if (!options.batches.empty()) {
    all["--batches"] = std::filesystem::absolute(options.batches).string();
    all["data"] = hash_of(io::MappedFile(options.batches).text());
  } else if (!options.data.empty()) {
    all["--data"] = std::filesystem::absolute(options.data).string();
    all["data"] = hash_of(io::MappedFile(options.data).text());
  }
  if (!options.validation.empty()) {
    all["--validation"] = std::filesystem::absolute(options.validation).string();
    all["--validate-every"] = std::to_string(inputs.validate_every);
    all[held_out_data] = hash_of(io::MappedFile(options.validation).text());
  }
  return all;
}

std::string settings_text(const TrainSettings& settings) { return io::indented_json(Json(settings)); }

io::SafetensorsFile open_checkpoint_to_resume(const std::filesystem::path& checkpoint) {
  std::error_code ignored;
  namespace fs = std::filesystem;  // reading reports why an existing file cannot be read
  if (fs::status(checkpoint, ignored).type() == fs::file_type::not_found)
    throw io::file_error(checkpoint, "does not exist, so there is nothing to resume: leave out --resume");
  return language_model::open_checkpoint(checkpoint);
}

TrainSettings settings_of_checkpoint(const io::SafetensorsFile& checkpoint) {
  const auto found = checkpoint.metadata().find("settings");
  const TrainSettings kept =
      found == checkpoint.metadata().end() ? TrainSettings() : settings_from(found->second);
  if (kept.empty())
    throw io::file_error(checkpoint.path(),
                         "is not a checkpoint that precast train wrote: name one, or train again");
  return kept;
}

void take_settings(CLI::App& command, const TrainSettings& kept, const std::filesystem::path& checkpoint) {
  // The data must come from one source: the command line's or the checkpoint's.
  bool data_given = false;
  for (const char* name : names_of_data) data_given = data_given || command.get_option(name)->count() > 0;
  for (const auto& [name, value] : kept) {
    CLI::Option* option = name.starts_with("--") ? command.get_option_no_throw(name) : nullptr;
    if (!option || option->count() > 0 || is_in(name, names_of_model) ||
        (data_given && is_in(name, names_of_data)))
      continue;
    option->add_result(value);
    try {
      option->run_callback();
    } catch (const std::exception&) {  // its message assumes the option was given
      throw io::file_error(
          checkpoint,
          "says that " + name + " of its run was '" + io::printable(value, 40) +
              "', which is not valid: put an earlier copy in its place, or train again with --overwrite");
    }
  }
}

void require_same_on_all_ranks(TrainSettings now, const TrainInputs& inputs, cluster::Communicator& job) {
  for (const char* name : names_of_data)
    now.erase(name);  // each machine may have the data at a path of its own
  now.erase("--validation");
  now["model"] = inputs.config.json();
  require_same_on_all_ranks(now, job);
}

void require_same_on_all_ranks(const TrainSettings& now, cluster::Communicator& job) {
  if (job.size() == 1) return;
  const std::string own = settings_text(now), of_first = text_of_rank(0, own, job);
  if (cluster::sum(job, own == of_first ? 0 : 1) == 0) return;
  int rank = 0;
  std::string of_other = of_first;
  while (of_other == of_first) of_other = text_of_rank(++rank, own, job);
  const TrainSettings first = settings_from(of_first), other = settings_from(of_other);
  TrainSettings names = first;
  names.insert(other.begin(), other.end());
  const auto differs = [&](const auto& named) {
    return text_of(first, named.first) != text_of(other, named.first);
  };
  const std::string name = std::ranges::find_if(names, differs)->first;
  const auto value = [&](const TrainSettings& of) {
    const std::string text = text_of(of, name);
    return text.empty() ? "not given" : text;
  };
  const bool is_option = name.starts_with("--");
  throw InputError((is_option ? name + " is " + value(other) : "the " + name + " is another") + " for rank " +
                   std::to_string(rank) + (is_option ? ", and " + value(first) + " for" : " than for") +
                   " rank 0: start all ranks with the same options and files");
}

void require_settings_of_model(const CLI::App& command, const TrainSettings& now) {
  for (const char* name : names_of_model) {
    const std::string given = given_text(command, name);
    const auto has = now.find(name);
    if (given.empty() || (has != now.end() && has->second == given)) continue;
    throw UsageError(std::string(name) + " is " + io::printable(given, 40) +
                     ", and the model of --model has " + (has == now.end() ? "none" : has->second) +
                     ": leave it out, or leave out --model for a new one");
  }
}

void require_same_settings(const CLI::App& command, const TrainSettings& now, const TrainSettings& kept) {
  std::string differing;
  const auto add = [&](const std::string& words) { differing += (differing.empty() ? "" : "; ") + words; };
  // The default is the gradient dtype of the policy.
  const auto value_of = [&now](const TrainSettings& settings, const std::string& name) {
    if (name == sum_precision && !settings.contains(name))
      return std::string(language_model::training_policy(now.at("--policy")).gradient.name);
    return text_of(settings, name);
  };
  TrainSettings names = now;
  names.insert(kept.begin(), kept.end());
  for (const char* name : names_of_model) names.emplace(name, "");  // one that neither model has
  // With a constant learning rate, the number of steps has no effect on each step.
  const bool any_end = text_of(kept, "--schedule") == "constant";
  const bool other_ranks = text_of(kept, "ranks") != text_of(now, "ranks");
  const bool any_sums = other_ranks || !kept.contains("--bucket-size");  // or the checkpoint has none
  for (const auto& [name, unused] : names) {
    if (name == "ranks" || (name == "--batch" && other_ranks) || (is_in(name, names_of_sums) && any_sums) ||
        is_in(name, names_of_no_effect))
      continue;
    const std::string was = value_of(kept, name);
    const std::string is = is_in(name, names_of_model) ? given_text(command, name) : value_of(now, name);
    if (is == was || is_in(name, names_of_data) || (is_in(name, names_of_model) && is.empty()) ||
        (name == "--steps" && any_end))
      continue;
    if (name == "data")
      add("the data differ from those that it was trained on");
    else
      add(name + " is " + io::printable(is.empty() ? "not given" : is, 40) + ", and was " +
          io::printable(was.empty() ? "not given" : was, 40));
  }
  if (!differing.empty())
    throw UsageError("--resume continues with the options of its checkpoint: " + differing +
                     ": leave out what differs, or begin a run from that model with --model and another "
                     "--output");
}

}  // namespace precast::cli
