#include <optional>

#include <families/request_error.hpp>
#include <process/memory.hpp>
#include <timing/attention_grid.hpp>
#include <timing/words.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::timing {

namespace {

using plots::Cell;

/// One line of the benchmark.
struct AttentionCase {
  std::int64_t number;
  AttentionPolicy under;
  AttentionSizes sizes;
  std::int64_t warmup, steps;
};

/// What was measured of it.
struct AttentionTimings {
  Timing forward, backward;
  std::int64_t held_between = 0;  ///< bytes of the operands, the result and what else the backward pass reads
  std::int64_t memory = 0;        ///< the most bytes at once
};

AttentionPolicy policy_named(const TimedDevice& device, const std::string& policy, const std::string& kind) {
  std::string names;
  for (const AttentionPolicy& one : *device.attention) {
    if (one.policy == policy && one.kind == kind) return one;
    if (one.kind == kind) names += (names.empty() ? "" : ", ") + one.policy;
  }
  if (names.empty())
    throw PathNotCompiled("attention in training is not in this build: configure with -DPRECAST_PRESET=all");
  throw families::RequestError("attention is not measured under '" + io::printable(policy, 40) +
                               "': it is one of " + names);
}

std::int64_t needed_memory(const AttentionCase& of, const TimedDevice& device) {
  const DryRun dry(device.backend().counted_memory());
  const auto step = of.under.make(of.sizes);
  for (int run = 0; run < 2; ++run) {
    step->forward();
    step->backward();
  }
  return dry.peak();
}

AttentionTimings measure(const AttentionCase& of, const TimedDevice& device, const BeforeRun& before_run) {
  const families::Backend& backend = device.backend();
  process::give_back_memory();
  backend.reset_peak_memory();
  const std::int64_t before = backend.memory_use().in_use;
  const auto step = of.under.make(of.sizes);
  const auto timed = [&](auto&& work) {
    return measured(
        of.warmup, of.steps, before_run, [&] { device.wait(); }, work);
  };
  AttentionTimings timings;
  timings.forward = timed([&] { step->forward(); });
  timings.held_between = backend.memory_use().in_use - before;
  timings.backward = timed([&] { step->backward(); });
  timings.memory = backend.memory_use().most_held;
  return timings;
}

Row row_of(const AttentionCase& of, const TimedDevice& device, const std::optional<AttentionTimings>& timings,
           const std::string& status) {
  Row row{static_cast<double>(of.number), static_cast<double>(of.sizes.head_width),
          static_cast<double>(of.sizes.context), of.under.kind};
  if (timings)
    row.insert(row.end(), {timings->forward.mean, timings->forward.deviation, timings->backward.mean,
                           timings->backward.deviation, in_mebibytes(timings->held_between),
                           in_mebibytes(timings->memory)});
  else
    row.insert(row.end(), 6, Cell(std::string()));
  row.insert(row.end(), {in_mebibytes(needed_memory(of, device)), status, of.under.policy, device.name,
                         static_cast<double>(of.sizes.batch), static_cast<double>(of.warmup),
                         static_cast<double>(of.steps)});
  return row;
}

/// Of both passes, in thousand million multiplications and additions: two products forward, seven backward.
std::int64_t work_of(const AttentionCase& of) {
  const double product = 2.0 * static_cast<double>(of.sizes.batch * of.sizes.context * of.sizes.context) *
                         static_cast<double>(of.sizes.head_width);
  constexpr double products = 9;
  return 1 + static_cast<std::int64_t>(products * product * static_cast<double>(of.warmup + of.steps) / 1e9);
}

}  // namespace

std::string AttentionGrid::settings() const {
  return "head widths " + io::joined(head_widths, ",") + "; contexts " + io::joined(contexts, ",") +
         "; attention " + io::joined(kinds, ",") + "; warm-up " + io::joined(warmups, ",") + "; steps " +
         std::to_string(steps) + "; batch " + std::to_string(batch) + "; policies " +
         io::joined(policies, ",");
}

Suite attention_suite(const AttentionGrid& grid, const TimedDevice& device) {
  Suite suite{{"attention",
               grid.settings() + "; device " + device.kind(),
               {{case_column, "head_width", "context_length", "attention", "fwd avg (sec)", "fwd std (sec)",
                 "back avg (sec)", "back std (sec)", "memory before back (MiB)", "memory (MiB)",
                 "needed (MiB)", "status", "policy", "device", "batch_size", "warmup", "steps"},
                {}}},
              {}};
  for (const std::string& policy : grid.policies)
    for (const std::string& kind : grid.kinds)
      for (const std::int64_t width : grid.head_widths)
        for (const std::int64_t context : grid.contexts)
          for (const std::int64_t warmup : grid.warmups) {
            const AttentionCase of{static_cast<std::int64_t>(suite.cases.size()),
                                   policy_named(device, policy, kind),
                                   {.batch = grid.batch, .context = context, .head_width = width},
                                   warmup,
                                   grid.steps};
            suite.cases.push_back({work_of(of), 2 * (of.warmup + of.steps),
                                   [of, device] { return needed_memory(of, device); },
                                   [of, device](const BeforeRun& before_run) {
                                     return row_of(of, device, measure(of, device, before_run), "ok");
                                   },
                                   [of, device](const std::string& reason) {
                                     return row_of(of, device, std::nullopt, reason);
                                   }});
          }
  suite.empty.cases = static_cast<std::int64_t>(suite.cases.size());
  return suite;
}

}  // namespace precast::timing
