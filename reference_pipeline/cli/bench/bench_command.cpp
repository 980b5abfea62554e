// precast bench: how long the steps of language models take, and attention alone.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cli/bench/bench_options.hpp>
#include <cli/bench/bench_page.hpp>
#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <families/device.hpp>
#include <plots/cells.hpp>
#include <plots/table_text.hpp>
#include <process/memory.hpp>
#include <timing/results.hpp>
#include <timing/suite.hpp>
#include <timing/timed_device.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::cli {

namespace {

using timing::Results;
using timing::SuiteCase;

std::vector<std::filesystem::path> files_of(const BenchOptions& options) {
  std::vector<std::filesystem::path> files;
  for (const std::string* name : {&options.json, &options.csv, &options.page}) {
    if (is_standard_output(*name))
      throw UsageError("'" + *name + "' is standard output, which gets the table: name a file");
    if (!name->empty()) files.emplace_back(*name);
  }
  return files;
}

void write_json(const BenchOptions& options, const Results& results) {
  if (!options.json.empty()) io::write_file(options.json, timing::results_json(results));
}

/// Writes the results so far. Ignores write errors, such as a full disk, so that a long run goes on:
/// `finish` reports the error if it persists.
void keep(const BenchOptions& options, const Results& results) {
  try {
    write_json(options, results);
  } catch (const Error&) {
  }
}

/// Writes every file, and the table to standard output.
void finish(const BenchOptions& options, const Results& results) {
  write_and_show(
      [&] {
        write_json(options, results);
        if (!options.csv.empty()) io::write_file(options.csv, plots::as_csv(plots::text_rows(results.table)));
        if (!options.page.empty()) io::write_file(options.page, bench_page(results));
      },
      [&] { print(plots::as_markdown(plots::text_rows(results.table))); });
  for (const std::filesystem::path& file : files_of(options)) notes() << "wrote " << io::shown(file) << "\n";
}

/// A case that this run measures, and the memory it needs.
struct ChosenCase {
  std::int64_t place = 0;
  const SuiteCase* of = nullptr;
  std::int64_t needed = 0;
};

/// The cases of this run's part.
std::vector<ChosenCase> chosen_cases(const BenchOptions& options, const timing::Suite& suite) {
  std::vector<ChosenCase> chosen;
  for (const std::int64_t place : places_of(options.part, std::ssize(suite.cases), "cases")) {
    throw_if_interrupted();
    const SuiteCase& of = suite.cases[static_cast<std::size_t>(place)];
    chosen.push_back({place, &of, of.needed_memory()});
  }
  return chosen;
}

/// The memory of the device that is free for cases.
class FreeMemory {
 public:
  /// With --shard auto on the CPU, each rank keeps to its share of what is free as they begin: what is free
  /// later depends on the cases that the other ranks of the machine are at.
  FreeMemory(const families::Backend& device, const SweepPart& part) : device_(device) {
    if (device.counted_memory() == DryRun::Counts::host_memory) sharing_ = ranks_of_machine(part);
    if (sharing_ > 1) share_ = process::free_memory(sharing_);
  }
  void update() {
    bytes_ = device_.free_memory();
    if (bytes_ && share_) bytes_ = std::min(*bytes_, *share_);
  }
  /// The message that a case needs more memory than is free; "" if it fits.
  std::string lacking(const ChosenCase& one) const {
    if (!bytes_ || one.needed <= *bytes_) return "";
    return "needs " + in_bytes(one.needed) + ", and " + in_bytes(*bytes_) + " are free" +
           (sharing_ > 1 ? " for each of the " + std::to_string(sharing_) + " ranks on this machine" : "");
  }

 private:
  const families::Backend& device_;
  std::int64_t sharing_ = 1;
  std::optional<std::int64_t> share_, bytes_;
};

/// A number of cases, and the sum of their work.
struct Amount {
  std::int64_t cases = 0, work = 0;
  void add(const ChosenCase& one) {
    ++cases;
    work += one.of->work;
  }
};

/// The cases that fit into memory, and their work: cases that do not fit are skipped and take no time.
Amount that_fit(std::span<const ChosenCase> cases, const FreeMemory& memory) {
  Amount fitting;
  for (const ChosenCase& one : cases)
    if (memory.lacking(one).empty()) fitting.add(one);
  return fitting;
}

/// Options that reduce memory. bf16 models keep f32 masters beside the weights; forward has no gradients.
std::string what_takes_less(const BenchOptions& options) {
  if (options.name == "lm")
    return std::string("--sizes, --contexts or --batch") +
           (options.parts == "forward" ? "" : ", or --parts forward");
  return std::string("--head-widths, --contexts or --batch") +
         (options.policies->results() == std::vector<std::string>{"f32"} ? ", or --policies bf16" : "");
}

Results measured(const BenchOptions& options, const timing::Suite& suite, const families::Backend& device) {
  FreeMemory memory(device, options.part);
  const std::vector<ChosenCase> chosen = chosen_cases(options, suite);
  Amount done, left;
  Results results = suite.empty;
  ProgressReporter progress;
  std::string refused;
  try {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const ChosenCase& one = chosen[i];
      process::give_back_memory();
      memory.update();
      left = that_fit(std::span(chosen).subspan(i), memory);
      std::string reason = memory.lacking(one);
      try {
        std::int64_t run = 0;
        if (reason.empty()) {
          results.table.rows.push_back(one.of->measure([&] {
            throw_if_interrupted();
            progress.update("measuring, GFLOP", done.work + one.of->work * run++ / one.of->runs,
                            done.work + left.work);
          }));
          done.add(one);
        }
      } catch (const OutOfMemory& problem) {  // another process took memory; the next case may fit
        reason = problem.what();
      }
      if (!reason.empty()) {
        refused = "case " + std::to_string(one.place) + " " + reason;
        results.table.rows.push_back(one.of->refused(reason));
      }
      keep(options, results);
    }
  } catch (const Interrupted&) {
    progress.clear();
    const std::string measured_cases = std::to_string(done.cases) + " of " +
                                       std::to_string(done.cases + left.cases) + " cases were measured";
    if (!results.table.rows.empty()) finish(options, results);
    throw_if_interrupted(measured_cases);
  }
  progress.clear();
  if (done.cases == 0) {
    if (chosen.size() > 1) finish(options, results);  // the memory that each case needs
    throw DoesNotFit((chosen.size() > 1 ? "no case fits" : refused) + ": try smaller " +
                     what_takes_less(options));
  }
  return results;
}

/// "case 3" or "the cases 0-2, 5", and no more of them than a line holds.
std::string cases_in_words(const std::vector<std::int64_t>& cases) {
  constexpr std::size_t most = 8;
  std::string words;
  std::size_t runs = 0;
  for (std::size_t first = 0, end = 0; first < cases.size(); first = end) {
    for (end = first + 1; end < cases.size() && cases[end] == cases[end - 1] + 1;) ++end;
    if (++runs > most) {
      words += " and " + std::to_string(cases.size() - first) + " more";
      break;
    }
    words += (words.empty() ? "" : ", ") + std::to_string(cases[first]);
    if (end > first + 1) words += "-" + std::to_string(cases[end - 1]);
  }
  return (cases.size() == 1 ? "case " : "the cases ") + words;
}

void merge(const BenchOptions& options) {
  // --json may overwrite one of the parts: all of its results are included.
  const std::vector<std::string> parts = options.merge->results();
  check_inputs_stay(std::array<std::filesystem::path, 2>{options.csv, options.page},
                    std::vector<std::filesystem::path>(parts.begin(), parts.end()));
  check_page_name("--output", options.page);
  std::vector<timing::NamedResults> all;
  for (const std::string& name : parts) {
    all.push_back({name, timing::read_results(name)});
    if (all.back().results.benchmark != options.name)
      throw UsageError(io::printable(name) + " is of bench " + io::printable(all.back().results.benchmark) +
                       ", not of bench " + options.name);
  }
  const Results merged = timing::merge_results(all);
  finish(options, merged);
  if (const std::vector<std::int64_t> missing = timing::missing_cases(merged); !missing.empty())
    print_warnings({"--merge: no file has " + cases_in_words(missing) + " of " +
                    std::to_string(merged.cases) +
                    ": add the parts that have them, and measure again what was interrupted"});
}

void bench(BenchOptions& options, const CLI::App& command) {
  parse_name("bench", options.name, std::array<std::string_view, 2>{"lm", "attention"});
  check_ranks(options.part);
  if (options.merge->count() > 0) options.check_merge(command);
  for (std::string* const file : {&options.json, &options.csv, &options.page})
    if (!file->empty() && !is_standard_output(*file)) *file = file_of(options.part, *file);
  check_output_files(files_of(options));
  if (options.merge->count() > 0) return merge(options);
  check_page_name("--output", options.page);
  set_threads(options.threads);
  const families::ChosenDevice chosen = families::choose_device(device_of(options.part, options.device));
  const timing::TimedDevice device = timing::timed_on(chosen);
  const timing::Suite suite = options.name == "lm"
                                  ? timing::model_suite(options.model_grid(), device)
                                  : timing::attention_suite(options.attention_grid(), device);
  note_device(options.device, chosen);
  finish(options, measured(options, suite, device.backend()));
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measures the steps of language models, or attention alone: forward, backward, memory");
  add_bench_options(*command, *options);
  command->footer(
      "The table goes to standard output, in Markdown: means and standard deviations in seconds. \"back\" is "
      "the\ndifference of the two that are measured. A dry run computes the memory of each case before it is "
      "measured; one\nthat does not fit is a row that says so. Ctrl-C keeps what was measured.\n\n"
      "Examples:\n"
      "  precast bench lm --sizes tiny --contexts 32                   # a second\n"
      "  precast bench lm --sizes S,M --contexts 256 --output lm.html\n"
      "  precast bench lm --sizes S --warmup 0,1,5 --policies f32,amp-bf16 --json lm.json\n"
      "  precast bench lm --device cuda --sizes L,XL,2.7B --contexts 256\n"
      "  precast bench attention --policies f32 --contexts 256,1024 --output attention.html\n"
      "  precast bench lm --shard 1/2 --json lm-1.json                 # and 2/2 on another machine\n"
      "  precast bench lm --merge lm-1.json lm-2.json --csv lm.csv");
  command->callback([options, command] { bench(*options, *command); });
}

}  // namespace precast::cli
