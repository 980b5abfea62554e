// The steps of a training run.
#include <chrono>
#include <cmath>

#include <language_model/trainer.hpp>
#include <nlohmann/json.hpp>

#include <precast/error.hpp>
#include <precast/train/clip.hpp>

namespace precast::language_model {

namespace {

nlohmann::ordered_json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

void TrainingOptions::check() const {
  const auto require = [](bool holds, const std::string& rule) {
    if (!holds) throw InputError("training: " + rule);
  };
  train::check(adamw);
  require(steps >= 1, "the number of steps must be at least 1");
  require(warmup >= 0 && warmup <= steps, "the warm-up must be from 0 to the number of steps");
  require(!clip || (*clip > 0 && std::isfinite(*clip)), "the largest norm of gradients must be above 0");
}

std::string StepFacts::json() const {
  return nlohmann::ordered_json{{"step", step},
                                {"loss", number(loss)},
                                {"grad_norm", number(grad_norm)},
                                {"scale", number(scale)},
                                {"skipped", skipped},
                                {"lr", number(lr)},
                                {"tokens_per_second", number(tokens_per_second)},
                                {"memory", memory},
                                {"non_finite", non_finite}}
      .dump();
}

Trainer::Trainer(const LanguageModelConfig& config, const TrainingOptions& options,
                 const ParameterValues& values, const TrainingDevice& device)
    : config_(config), options_(options), device_(device) {
  config.check();
  options.check();
  const TrainingPolicy& policy = device.policy(options.policy);
  train::GradScalerOptions scaling = options.scaler;
  scaling.enabled = scaling.enabled && policy.scales_loss;
  scaler_ = train::GradScaler(scaling);
  session_ = device.backend->start();
  model_ = policy.make(config, values);
}

StepFacts Trainer::step(const Batches& batches) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::int32_t> windows = batches.step(next_step_);
  StepFacts facts{.step = next_step_};
  facts.lr = options_.adamw.lr *
             train::schedule_factor(options_.schedule, next_step_, options_.warmup, options_.steps);
  facts.scale = static_cast<double>(scaler_.scale());
  facts.loss = model_->loss(windows, batches.batch(), scaler_.scale());
  const GradientFacts gradients = model_->unscale(scaler_);
  facts.grad_norm = gradients.norm;
  facts.non_finite = gradients.non_finite;
  if (options_.clip) model_->scale_gradients(train::clip_factor(gradients.norm, *options_.clip));
  facts.skipped = scaler_.enabled() && gradients.non_finite > 0;
  if (!facts.skipped) {
    train::AdamWOptions adamw = options_.adamw;
    adamw.lr = facts.lr;
    model_->step(adamw, ++optimiser_steps_);
  }
  scaler_.update(gradients.non_finite > 0);
  ++next_step_;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  facts.tokens_per_second = static_cast<double>(batches.batch() * batches.context()) / seconds.count();
  facts.memory = device_.backend->peak_memory();
  return facts;
}

}  // namespace precast::language_model
