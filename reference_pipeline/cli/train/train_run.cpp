#include <algorithm>
#include <cmath>

#include <cli/terminal/format.hpp>
#include <cli/terminal/progress.hpp>
#include <cli/train/train_run.hpp>
#include <cli/train/train_signals.hpp>

namespace precast::cli {

std::int64_t TrainedRun::skipped() const {
  return std::ranges::count_if(steps, &language_model::StepFacts::skipped);
}

std::int64_t TrainedRun::non_finite() const {
  std::int64_t values = 0;
  for (const language_model::StepFacts& step : steps) values += step.non_finite;
  return values;
}

std::optional<double> TrainedRun::validation_loss() const {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->validation_loss) return step->validation_loss;
  return std::nullopt;
}

std::optional<std::int64_t> TrainedRun::failed_at() const {
  for (const language_model::StepFacts& step : steps)
    if (!std::isfinite(step.loss)) return step.step;
  return std::nullopt;
}

double TrainedRun::final_loss() const {
  const std::size_t last = std::max<std::size_t>(1, steps.size() / 10);
  double sum = 0;
  for (std::size_t i = steps.size() - last; i < steps.size(); ++i) sum += steps[i].loss;
  return sum / static_cast<double>(last);
}

TrainedRun train_to_the_end(language_model::Trainer& trainer, cluster::Communicator& job,
                            const TrainInputs& inputs, const RunHooks& hooks) {
  const std::int64_t steps = trainer.options().steps;
  TrainedRun run{trainer.options().policy, {}, {}};
  ProgressReporter progress;
  const auto take_last_gradients = [&] {
    if (hooks.takes_last_gradients && trainer.next_step() + 1 == steps)
      run.gradients = trainer.model().histogram();
  };
  const TrainingScope trains;
  while (!trainer.done()) {
    stop_if_interrupted(job, hooks.save_on_interrupt);
    run.steps.push_back(trainer.step(*inputs.batches, take_last_gradients));
    // Not interruptible: a resumed run would not repeat this validation.
    if (inputs.held_out && (trainer.next_step() % inputs.validate_every == 0 || trainer.done()))
      run.steps.back().validation_loss = trainer.loss_of(*inputs.held_out, inputs.batches->batch());
    hooks.after_step(run.steps.back());
    progress.update("training " + run.policy, trainer.next_step(), steps,
                    "loss " + four_digits(run.steps.back().loss));
  }
  progress.clear();
  return run;
}

}  // namespace precast::cli
