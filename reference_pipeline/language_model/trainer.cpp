// The steps of a training run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <language_model/trainer.hpp>
#include <nlohmann/json.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/json_text.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/train/clip.hpp>

namespace precast::language_model {

namespace {

cluster::SumDtype sum_dtype(const DtypeInfo& dtype) {
  if (const auto sum = cluster::sum_dtype_named(dtype.name)) return *sum;
  throw InputError("gradients in " + std::string(dtype.name) + " are not exchanged between ranks");
}

std::vector<cluster::GradientMemory> gradient_memory(TrainedModel& model) {
  std::vector<cluster::GradientMemory> all;
  for (const StateTensor& gradient : model.gradient_tensors())
    all.push_back({gradient.bytes.data(), gradient.shape.elements(), sum_dtype(gradient.dtype)});
  return all;
}

}  // namespace

void TrainingOptions::check() const {
  const auto require = [](bool holds, const std::string& rule) {
    if (!holds) throw InputError("training: " + rule);
  };
  adamw.check();
  require(steps >= 1, "the number of steps must be at least 1");
  require(warmup >= 0 && warmup <= steps, "the warm-up must be from 0 to the number of steps");
  require(!clip || (*clip > 0 && std::isfinite(*clip)), "the largest norm of gradients must be above 0");
}

std::string StepFacts::json(const std::string& policy) const {
  io::Json line = io::Json::object();
  if (!policy.empty()) line["policy"] = policy;
  line.update({{"step", step},
               {"loss", io::json_number(loss)},
               {"grad_norm", io::json_number(grad_norm)},
               {"scale", io::json_number(scale)},
               {"skipped", skipped},
               {"lr", io::json_number(lr)},
               {"tokens_per_second", io::json_number(tokens_per_second)},
               {"memory", memory},
               {"non_finite", non_finite}});
  if (validation_loss) line["validation_loss"] = io::json_number(*validation_loss);
  if (ranks > 1) {
    line["ranks"] = ranks;
    line["all_reduce"] = exchange.seconds;
    line["all_reduce_wait"] = exchange.waited;
  }
  return io::json_line(line);
}

Trainer::Trainer(const LanguageModelConfig& config, const TrainingOptions& options,
                 const ParameterValues& values, const TrainingDevice& device, const DataParallel& parallel)
    : config_(config), options_(options), device_(device), parallel_(parallel) {
  config.check();
  options.check();
  const TrainingPolicy& policy = device.policy(options.policy);
  train::GradScalerOptions scaling = options.scaler;
  scaling.enabled = scaling.enabled && policy.scales_loss;
  scaler_ = train::GradScaler(scaling);
  session_ = device.backend->start();
  if (values.size() != parameters_of(config).size())
    throw Error("a language model is given values of other parameters");
  model_ = policy.make(config, [&](std::size_t i) { return values[i]; });
  if (ranks() == 1) return;
  const std::vector<cluster::GradientMemory> gradients = gradient_memory(*model_);
  if (device.join) joined_ = device.join(*parallel.job);
  exchange_.emplace(joined_ ? *joined_ : *parallel.job, gradients,
                    cluster::ExchangeOptions{.bucket_bytes = parallel.bucket_bytes,
                                             .message = parallel.message.value_or(gradients.front().dtype)},
                    model_->message_memory());
  model_->set_gradient_hook([this](std::size_t i) { exchange_->mark_ready(i); });
  share_state();
}

/// Copies rank 0's state to all: machines' math libraries may draw or round initial values differently.
void Trainer::share_state() {
  if (ranks() == 1) return;
  for (const StateTensor& tensor : model_->state()) parallel_.job->broadcast(tensor.bytes, 0);
  model_->state_changed();
}

void Trainer::require_same_windows(const Batches& batches) {
  const std::int64_t before = std::exchange(windows_, batches.batch() * ranks());
  if (!ranks_before_ || *ranks_before_ == ranks() || before == 0 || before == windows_) return;
  throw InputError("the checkpoint is of " + io::counted(*ranks_before_, "rank") + " that took " +
                   io::counted(before, "window") + " a step, and this run, of " +
                   io::counted(ranks(), "rank") + ", takes " + std::to_string(windows_) + ": " +
                   (before % ranks() == 0
                        ? "give --batch " + std::to_string(before / ranks())
                        : "start a number of ranks that divides " + std::to_string(before)));
}

StepFacts Trainer::step(const Batches& batches, const std::function<void()>& before_clipping) {
  const auto start = std::chrono::steady_clock::now();
  require_same_windows(batches);
  const std::vector<std::int32_t> windows = batches.step(next_step_);
  StepFacts facts{.step = next_step_};
  facts.lr = options_.adamw.lr *
             train::schedule_factor(options_.schedule, next_step_, options_.warmup, options_.steps);
  facts.scale = static_cast<double>(scaler_.scale());
  facts.loss = model_->loss(windows, batches.batch(), scaler_.scale());
  if (exchange_) {
    facts.ranks = ranks();
    facts.exchange = exchange_->finish();
    facts.loss = cluster::sum(*parallel_.job, facts.loss) / ranks();
  }
  // From here on every rank computes the same from the same averaged gradients.
  // A dry run skips unscaling: for a model far too large, even partial sums by chunk would take minutes.
  const GradientFacts gradients = DryRun::active() ? GradientFacts{} : model_->unscale(scaler_);
  facts.grad_norm = gradients.norm;
  facts.non_finite = gradients.non_finite;
  if (before_clipping) before_clipping();
  if (options_.clip) model_->scale_gradients(train::clip_factor(gradients.norm, *options_.clip));
  facts.skipped = scaler_.enabled() && gradients.non_finite > 0;
  if (!facts.skipped) {
    AdamWOptions adamw = options_.adamw;
    adamw.lr = facts.lr;
    model_->step(adamw, ++optimiser_steps_);
  }
  scaler_.update(gradients.non_finite > 0);
  ++next_step_;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  facts.tokens_per_second = static_cast<double>(windows_ * batches.context()) / seconds.count();
  facts.memory = device_.backend->peak_memory();
  return facts;
}

double Trainer::loss_of(const HeldOut& held_out, std::int64_t batch) {
  const std::int64_t own = parallel_.job ? parallel_.job->rank() : 0, count = held_out.count();
  double sum = 0;
  for (std::int64_t first = own * batch; first < count; first += ranks() * batch) {
    const std::int64_t rows = std::min(batch, count - first);
    sum += model_->loss(held_out.windows(first, rows), rows, std::nullopt) *
           static_cast<double>(rows * held_out.context);
  }
  if (!held_out.last.empty() && own == ranks() - 1)
    sum += model_->loss(held_out.last, 1, std::nullopt) * static_cast<double>(held_out.last.size() - 1);
  if (ranks() > 1) sum = cluster::sum(*parallel_.job, sum);
  return sum / static_cast<double>(held_out.predictions());
}

}  // namespace precast::language_model
