#include <algorithm>
#include <optional>

#include <language_model/parameters.hpp>
#include <language_model/trained_model.hpp>
#include <timing/model_grid.hpp>
#include <timing/model_sizes.hpp>
#include <timing/words.hpp>

#include <precast/io/joined.hpp>

namespace precast::timing {

namespace {

using plots::Cell;

std::string name_of(language_model::Architecture architecture) {
  return std::string(to_string(architecture));
}

void add(std::vector<Cell>& row, const std::optional<Timing>& timing) {
  if (timing) {
    row.emplace_back(timing->mean);
    row.emplace_back(timing->deviation);
  } else {
    row.emplace_back(std::string());
    row.emplace_back(std::string());
  }
}

std::vector<Cell> row_of(std::int64_t case_number, const ModelCase& of, const TimedDevice& device,
                         const ModelTimings& timings, const Cell& memory, const std::string& status) {
  std::vector<Cell> row{static_cast<double>(case_number), of.size, static_cast<double>(of.context)};
  add(row, timings.forward);
  add(row, timings.backward());
  add(row, timings.forward_backward);
  add(row, timings.optimizer);
  row.insert(row.end(), {memory, in_mebibytes(needed_memory(of, device)), status, of.policy,
                         name_of(of.architecture), device.name, static_cast<double>(of.batch),
                         static_cast<double>(of.warmup), static_cast<double>(of.steps)});
  return row;
}

/// What a case takes, in thousand million multiplications and additions.
std::int64_t work_of(const ModelCase& of) {
  const std::int64_t parameters = elements_of(of.config());
  const auto tokens = static_cast<double>(of.batch * of.context);
  const double passes = (of.parts.forward ? 1.0 : 0.0) + (of.parts.forward_backward ? 3.0 : 0.0);
  constexpr double optimizer_as_tokens = 60;  // the memory's rate against that of products
  const double each =
      static_cast<double>(parameters) * (passes * tokens + (of.parts.optimizer ? optimizer_as_tokens : 0.0));
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(each * static_cast<double>(of.warmup + of.steps) / 1e9));
}

Results empty_results(const ModelGrid& grid, const TimedDevice& device) {
  return {"lm",
          grid.settings() + "; device " + device.kind(),
          {{case_column,
            "model",
            "context_length",
            "fwd avg (sec)",
            "fwd std (sec)",
            "back avg (sec)",
            "back std (sec)",
            "fwd & back avg (sec)",
            "fwd & back std (sec)",
            "optimizer avg (sec)",
            "optimizer std (sec)",
            "memory (MiB)",
            "needed (MiB)",
            "status",
            "policy",
            "variant",
            "device",
            "batch_size",
            "warmup",
            "steps"},
           {}}};
}

}  // namespace

std::vector<ModelCase> ModelGrid::cases() const {
  std::vector<ModelCase> all;
  for (const std::string& policy : policies)
    for (const language_model::Architecture architecture : architectures)
      for (const std::string& size : sizes)
        for (const std::int64_t context : contexts)
          for (const std::int64_t warmup : warmups)
            all.push_back({size, policy, architecture, context, batch, warmup, steps, parts});
  return all;
}

std::string ModelGrid::settings() const {
  std::string measured;
  if (parts.forward) measured += ",forward";
  if (parts.forward_backward) measured += ",forward-backward";
  if (parts.optimizer) measured += ",optimizer";
  return "sizes " + io::joined(sizes, ",") + "; contexts " + io::joined(contexts, ",") + "; warm-up " +
         io::joined(warmups, ",") + "; steps " + std::to_string(steps) + "; batch " + std::to_string(batch) +
         "; policies " + io::joined(policies, ",") + "; variants " + io::joined(architectures, ",", name_of) +
         "; parts " + measured.substr(1);
}

Suite model_suite(const ModelGrid& grid, const TimedDevice& device) {
  Suite suite{empty_results(grid, device), {}};
  for (const ModelCase& of : grid.cases()) {
    device.training.policy(of.policy);
    const auto number = static_cast<std::int64_t>(suite.cases.size());
    suite.cases.push_back({work_of(of), runs_of(of), [of, device] { return needed_memory(of, device); },
                           [of, device, number](const BeforeRun& before_run) {
                             const ModelTimings timings = measure(of, device, before_run);
                             return row_of(number, of, device, timings, in_mebibytes(timings.memory), "ok");
                           },
                           [of, device, number](const std::string& reason) {
                             return row_of(number, of, device, {}, std::string(), reason);
                           }});
  }
  suite.empty.cases = static_cast<std::int64_t>(suite.cases.size());
  return suite;
}

}  // namespace precast::timing
