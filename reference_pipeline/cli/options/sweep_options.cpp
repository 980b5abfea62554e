#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <cli/options/arguments.hpp>
#include <cli/options/device_of_rank.hpp>
#include <cli/options/sweep_options.hpp>
#include <cluster/launch.hpp>

#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

std::string device_of(const SweepPart& part, const std::string& wanted) {
  if (!part.from_environment) return wanted;
  const cluster::Launch launch = cluster::launched();
  return device_of_rank(wanted, launch.size, [&] {
    if (launch.place) return *launch.place;
    throw InputError(
        "--device " + wanted + ": the environment has " + launch.by +
        ", and not which of its machine's processes this one is: start it by mpirun or srun, or each "
        "process by itself, with its part as --shard I/N");
  });
}

std::int64_t ranks_of_machine(const SweepPart& part) {
  return part.from_environment ? cluster::launched().on_machine.value_or(1) : 1;
}

CLI::Option* add_shard_option(CLI::App& command, SweepPart& part, const std::string& description) {
  return command
      .add_option_function<std::string>(
          "--shard", [&part](const std::string& text) { part = parse_shard(text); },
          description + ". With several ranks, --device cuda gives each its own device, and auto is the CPU")
      ->type_name("I/N|auto");
}

SweepPart parse_shard(const std::string& text) {
  constexpr std::int64_t most = 4096;
  if (text == "auto") {
    const SweepPart part = cluster::part_of_sweep();
    if (part.count > most)
      throw InputError("--shard auto: this process is one of " + std::to_string(part.count) +
                       " by Slurm's array and the ranks in it, and a sweep has at most " +
                       std::to_string(most) + " parts: start fewer");
    return part;
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto index = io::number_in<std::int64_t>(text.substr(0, slash)),
             count = io::number_in<std::int64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index < 1 || *index > *count || *count > most)
    throw UsageError("--shard is '" + io::printable(text) +
                     "': it takes I/N, such as 2/4, the second of four, with N from 1 to " +
                     std::to_string(most) + " and I from 1 to N; or auto");
  return {*index - 1, *count};
}

std::string file_of(const SweepPart& part, const std::string& file) {
  if (!part.from_environment) return file;
  const std::filesystem::path path(file);
  const std::string name = path.stem().string() + "-" + std::to_string(part.index + 1) + "-of-" +
                           std::to_string(part.count) + path.extension().string();
  return (path.parent_path() / name).string();
}

void check_ranks(const SweepPart& part) {
  if (part.from_environment) return;
  if (const cluster::Launch launch = cluster::launched(); launch.size > 1)
    throw UsageError(std::to_string(launch.size) + " ranks were started (" + launch.by +
                     "), and each would do " + (part.count > 1 ? "that part" : "all of it") +
                     ", over the others' files: give --shard auto for a part each, or start one process");
}

void require_one_process() {
  if (const cluster::Launch launch = cluster::launched(); launch.size > 1)
    throw UsageError(std::to_string(launch.size) + " ranks were started (" + launch.by +
                     "), and each would do all of it, over the others' files: start one process, or unset " +
                     launch.by + " if each has files of its own");
}

std::vector<std::int64_t> places_of(const SweepPart& part, std::int64_t count, const std::string& things) {
  if (part.from_environment && part.count > count && cluster::launched().size > 1)
    throw UsageError("--shard auto: these are " + std::to_string(part.count) + " parts of " +
                     std::to_string(count) + " " + things + ": start no more ranks than " + things);
  std::vector<std::int64_t> places = part.places(count);
  if (places.empty())
    throw UsageError("--shard " + std::to_string(part.index + 1) + "/" + std::to_string(part.count) +
                     " has none of the " + things + ": give no more parts than there are, " +
                     std::to_string(count));
  return places;
}

void check_each_file_once(std::span<const std::string> names) {
  std::error_code ignored;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (std::filesystem::equivalent(names[i], names[k], ignored))
        throw UsageError("--merge has " + io::shown(names[k]) + " twice" +
                         (names[i] == names[k] ? "" : ", the second time as " + io::shown(names[i])) +
                         ": give each file once");
}

void check_merge_alone(const CLI::App& command, std::span<const std::string_view> of_merging) {
  for (const CLI::Option* option : command.get_options())
    if (const std::string& name = option->get_name();
        option->count() > 0 && !std::ranges::count(of_merging, name))
      throw UsageError(name + " is for measuring, which --merge does not do: leave one of them out");
}

}  // namespace precast::cli
