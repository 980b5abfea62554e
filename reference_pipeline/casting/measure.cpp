#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <casting/cast_source.hpp>
#include <casting/cast_target.hpp>
#include <casting/measure.hpp>
#include <casting/squared_error.hpp>

#include <precast/host/runtime/parallel.hpp>

namespace precast::casting {

namespace {

using families::Block, families::BlockParameter, families::BlockParameterRole, families::BlockState,
    families::RecordedState;

/// Errors of a target in a format, summed over the samples.
struct Sums {
  double cost = 0, loss = 0;
};

/// The uncast states of all samples, on their way through the blocks.
class Walk {
 public:
  Walk(families::Blocks& blocks, std::span<const RecordedState> samples) : blocks_(blocks) {
    for (const RecordedState& sample : samples) before_.push_back(sample.state.clone());
  }

  families::Blocks& blocks() const { return blocks_; }
  std::size_t samples() const { return before_.size(); }
  /// The layer whose input the states are; -1 where they are the recorded ones.
  std::int64_t at() const { return at_; }
  const BlockState& before(std::size_t sample) const { return before_[sample]; }
  const HostTensor<f32>& after(std::size_t sample) const { return after_[sample].hidden; }
  /// The mean square of the layer's output, summed over the samples.
  double output() const { return output_; }

  /// Runs a sample's state up to a layer's input, and a copy of it through the layer. All samples are
  /// advanced before `arrive` is called.
  void advance(std::size_t sample, std::int64_t layer) {
    if (sample == 0) output_ = 0;
    if (at_ >= 0) before_[sample] = std::move(after_[sample]);
    blocks_.run(before_[sample], at_ + 1, layer);
    BlockState state = before_[sample].clone();
    blocks_.run(state, layer, layer + 1);
    output_ += mean_square(state.hidden);
    if (after_.size() <= sample) after_.emplace_back();
    after_[sample] = std::move(state);
  }
  void arrive(std::int64_t layer) { at_ = layer; }

 private:
  families::Blocks& blocks_;
  std::int64_t at_ = -1;
  double output_ = 0;
  std::vector<BlockState> before_, after_;  ///< input and output of the uncast layer
};

/// Thrown in the remaining jobs once another has failed.
struct AnotherFailed {};

class Measurement {
 public:
  Measurement(std::span<families::Blocks* const> jobs, std::span<const RecordedState> samples,
              const CostSettings& settings, CostFile so_far, const CostProgress& progress)
      : jobs_(jobs),
        list_(jobs.front()->list()),
        samples_(samples),
        settings_(settings),
        columns_(settings.types),
        file_(std::move(so_far)),
        progress_(progress) {
    if (settings.patch) columns_.push_back(settings.patched_type);
    file_.order.clear();
    for (const Block& one : list_)
      for (const CastTarget& target : targets_of(one, settings)) file_.order.push_back(target.name);
    for (const auto& layers : {settings.whole, settings.layers})
      for (const std::int64_t layer : layers)
        for (const CastTarget& target : targets_of(block(layer), settings))
          if (std::ranges::find(file_.layers, target.name, &LayerCost::name) == file_.layers.end() &&
              std::ranges::find(file_.missing, target.name) == file_.missing.end())
            file_.missing.push_back(target.name);
  }

  CostFile run(const LayerDone& layer_done) {
    for (const std::int64_t layer : settings_.layers)
      if (settings_.importance || missing(layer) > 0) layers_.push_back(layer);
    for (const std::int64_t layer : layers_) {
      total_ += missing(layer) * samples() * (count() - layer);
      if (missing(layer) > 0) last_run_ = layer;
    }
    if (layers_.empty()) return std::move(file_);
    if (last_run_ >= 0)
      start();
    else
      total_ = std::ssize(layers_);
    if (jobs_.size() == 1)
      work(*jobs_.front(), layer_done);
    else
      host::parallel_for(std::ssize(jobs_),
                         [&](std::int64_t job) { work(*jobs_[static_cast<std::size_t>(job)], layer_done); });
    if (failure_) std::rethrow_exception(failure_);
    return std::move(file_);
  }

 private:
  std::int64_t count() const { return std::ssize(list_); }
  std::int64_t samples() const { return std::ssize(samples_); }
  const Block& block(std::int64_t layer) const { return list_.at(static_cast<std::size_t>(layer)); }

  bool has(const std::string& name, const std::string& type) const {
    const auto at = std::ranges::find(file_.layers, name, &LayerCost::name);
    if (at == file_.layers.end()) return false;
    const auto found = at->types.find(type);
    return found != at->types.end() && found->second.measured();
  }
  /// How many pairs of a layer's target and a format are still to be measured.
  std::int64_t missing(std::int64_t layer) const {
    if (settings_.only_estimates) return 0;
    std::int64_t cells = 0;
    for (const CastTarget& target : targets_of(block(layer), settings_))
      for (const std::string& type : columns_) cells += !has(target.name, type);
    return cells;
  }

  void ran(std::int64_t blocks) {
    const std::lock_guard lock(mutex_);
    if (failure_) throw AnotherFailed();
    done_ += blocks;
    if (!progress_) return;
    try {
      progress_(done_, total_);
    } catch (...) {
      failure_ = std::current_exception();  // before another job checks it
      throw;
    }
  }

  /// Runs every sample through the uncast blocks and keeps its last state.
  void start() {
    total_ += samples() * (count() + std::ssize(jobs_) * (last_run_ + 1));
    for (const RecordedState& sample : samples_) {
      BlockState state = sample.state.clone();
      jobs_.front()->run(state, 0, count());
      reference_ += mean_square(state.hidden);
      last_.push_back(std::move(state.hidden));
      ran(count());
    }
  }

  /// One job: measures the next layer that no job has begun, until none is left. Keeps the first failure.
  void work(families::Blocks& blocks, const LayerDone& layer_done) {
    try {
      Walk walk(blocks, last_run_ >= 0 ? samples_ : samples_.first(0));
      for (std::size_t next = next_++; next < layers_.size(); next = next_++) {
        const std::int64_t layer = layers_[next];
        if (missing_now(layer) > 0) advance(walk, layer);
        measure(walk, layer, layer_done);
        if (last_run_ < 0) ran(1);
      }
      if (last_run_ >= 0) ran(samples() * (last_run_ - walk.at()));
    } catch (const AnotherFailed&) {
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  std::int64_t missing_now(std::int64_t layer) {
    const std::lock_guard lock(mutex_);
    return missing(layer);
  }

  void advance(Walk& walk, std::int64_t layer) {
    for (std::size_t i = 0; i < walk.samples(); ++i) {
      walk.advance(i, layer);
      ran(layer - walk.at());
    }
    walk.arrive(layer);
  }

  void measure(Walk& walk, std::int64_t layer, const LayerDone& layer_done) {
    bool replaced = false;
    for (const CastTarget& target : targets_of(block(layer), settings_)) {
      bool any = false;
      for (const std::string& type : columns_) {
        const bool runs = [&] {
          const std::lock_guard lock(mutex_);
          return !settings_.only_estimates && !has(target.name, type);
        }();
        if (!runs && !settings_.importance) continue;
        CastSource source(walk.blocks().source());
        const TargetCast cast = cast_in(source, layer, target, type);
        std::optional<Sums> sums;
        if (runs) {
          replaced = true;
          walk.blocks().replace(layer, source);
          sums = run_cast(walk, layer);
        }
        keep(target, type, cast, sums, walk.output());
        any = true;
      }
      const std::lock_guard lock(mutex_);
      if (any) layer_done(file_);
    }
    if (replaced) walk.blocks().replace(layer, walk.blocks().source());
  }

  TargetCast cast_in(CastSource& source, std::int64_t layer, const CastTarget& target,
                     const std::string& type) {
    std::unique_lock lock(patch_, std::defer_lock);  // jobs share the patch, and nothing else
    if (settings_.patch && type == settings_.patched_type) lock.lock();
    return cast_target(source, block(layer), target, type, settings_);
  }

  Sums run_cast(const Walk& walk, std::int64_t layer) {
    Sums sums;
    for (std::size_t i = 0; i < walk.samples(); ++i) {
      BlockState state = walk.before(i).clone();
      walk.blocks().run(state, layer, layer + 1);
      sums.loss += mean_squared_error(state.hidden, walk.after(i));
      walk.blocks().run(state, layer + 1, count());
      sums.cost += mean_squared_error(state.hidden, last_[i]);
      ran(count() - layer);
    }
    return sums;
  }

  /// Adds numbers, with layers in the order of the model.
  void keep(const CastTarget& target, const std::string& type, const TargetCast& cast,
            const std::optional<Sums>& sums, double output) {
    const std::lock_guard lock(mutex_);
    auto at = std::ranges::find(file_.layers, target.name, &LayerCost::name);
    if (at == file_.layers.end()) {
      const std::span before(file_.order.begin(), std::ranges::find(file_.order, target.name));
      const auto last = std::ranges::find_if(
          file_.layers.rbegin(), file_.layers.rend(),
          [&](const LayerCost& other) { return std::ranges::find(before, other.name) != before.end(); });
      at = file_.layers.insert(last.base(), {target.name, target.count(), {}});
      std::erase(file_.missing, target.name);
    }
    TypeCost& numbers = at->types[type];
    numbers.bits = cast.bits;
    if (settings_.importance) numbers.estimate = cast.estimate;
    if (!sums) return;
    const auto samples = static_cast<double>(samples_.size());
    numbers.cost = sums->cost / samples;
    numbers.loss = sums->loss / samples;
    numbers.relative_cost = sums->cost / reference_;
    numbers.relative_loss = sums->loss / output;
  }

  std::span<families::Blocks* const> jobs_;
  const std::vector<Block>& list_;
  std::span<const RecordedState> samples_;
  const CostSettings& settings_;
  std::vector<std::string> columns_;
  std::vector<std::int64_t> layers_;   ///< layers with work to do
  std::int64_t last_run_ = -1;         ///< the last of them that runs; -1 where none does
  std::atomic<std::size_t> next_{0};   ///< the first of them that no job has begun
  std::vector<HostTensor<f32>> last_;  ///< the uncast output of the last block, of each sample
  double reference_ = 0;               ///< its mean square, summed over the samples
  std::mutex patch_;
  std::mutex mutex_;  ///< guards the members below while jobs run
  CostFile file_;
  const CostProgress& progress_;
  std::int64_t done_ = 0, total_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::string patched_type(const families::Blocks& blocks, const nn::ParameterSource& patch) {
  std::map<std::string_view, std::int64_t> in_blocks, in_scalars;
  for (const Block& block : blocks.list())
    for (const BlockParameter& parameter : block.parameters) {
      if (parameter.role != BlockParameterRole::matrix) continue;
      const DtypeInfo dtype = patch.find(parameter.name).dtype;
      (dtype.values_per_block > 1 ? in_blocks : in_scalars)[dtype.name] += parameter.shape.elements();
    }
  const auto& values = in_blocks.empty() ? in_scalars : in_blocks;
  const auto most =
      std::ranges::max_element(values, {}, &std::pair<const std::string_view, std::int64_t>::second);
  return (most == values.end() ? std::string() : std::string(most->first)) + '*';
}

CostFile measure_cost(std::span<families::Blocks* const> jobs,
                      std::span<const families::RecordedState> samples, const CostSettings& settings,
                      CostFile so_far, const CostProgress& progress, const LayerDone& layer_done) {
  return Measurement(jobs, samples, settings, std::move(so_far), progress).run(layer_done);
}

CostFile measure_cost(families::Blocks& blocks, std::span<const families::RecordedState> samples,
                      const CostSettings& settings, CostFile so_far, const CostProgress& progress,
                      const LayerDone& layer_done) {
  families::Blocks* const job = &blocks;
  return measure_cost(std::span(&job, 1), samples, settings, std::move(so_far), progress, layer_done);
}

}  // namespace precast::casting
