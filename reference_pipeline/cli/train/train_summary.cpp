#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <cli/terminal/format.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <cli/train/train_report.hpp>
#include <cli/train/train_summary.hpp>
#include <language_model/sample_text.hpp>

#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// A sample for a terminal: replaces control characters, which a model of bytes may draw and which could
/// change the terminal's colours or character set.
std::string harmless(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const bool ends_line = text.substr(at).starts_with('\n') || text.substr(at).starts_with("\r\n");
    const std::size_t control = ends_line || text[at] == '\t' ? 0 : io::control_at(text, at);
    shown += control ? '?' : text[at];
    at += control ? control : 1;
  }
  return shown;
}

}  // namespace

std::string sampled_text(language_model::Trainer& trainer, const TrainInputs& inputs,
                         const TrainOptions& options) {
  const std::int64_t count = options.sample.value_or(200);
  if (count == 0 || !inputs.tokenizer) return "";
  const std::vector<std::int32_t> window = inputs.batches->step(0);
  const auto start = std::span(window).first(static_cast<std::size_t>(inputs.batches->context()));
  constexpr double temperature = 0.8;
  ProgressReporter progress;
  const std::vector<std::int32_t> tokens = language_model::sample_tokens(
      trainer.model(), {start.begin(), start.end()}, count, inputs.batches->context(), temperature,
      options.seed, [&](std::int64_t drawn) {
        progress.update("sampling", drawn, count);
        return interrupting_signal() == 0;  // shows the text drawn so far
      });
  return inputs.tokenizer->decode(tokens);
}

void show(const TrainedRun& run, const std::string& sample, const TrainOptions& options) {
  if (options.json) {
    Json json = run_json(run);
    json["output"] = options.output;
    json["sample"] = sample;
    return print(json);
  }
  const language_model::StepFacts& last = run.steps.back();
  const std::int64_t first = run.steps.front().step;  // the first step of this run, if it was resumed
  print("loss " + four_digits(run.steps.front().loss) + " -> " + four_digits(last.loss) + " in " +
        io::counted(std::ssize(run.steps), "step") +
        (first > 0 ? " from step " + std::to_string(first) + " on" : "") + ", " +
        std::to_string(run.skipped()) + " skipped, " + four_digits(median_speed(run)) +
        " tokens/s, peak memory " + in_bytes(last.memory) + "\ngradient norm " + four_digits(last.grad_norm) +
        " in the last step, loss scale " + four_digits(last.scale) + ", " + std::to_string(run.non_finite()) +
        " values of gradients inf or NaN in all\n");
  if (const auto validation = run.validation_loss())
    print("validation loss " + four_digits(*validation) + "\n");
  if (run.failed_at())
    print("The loss is not finite from step " + std::to_string(*run.failed_at()) + " on.\n");
  if (!sample.empty()) print("\n" + harmless(sample) + "\n");
}

}  // namespace precast::cli
