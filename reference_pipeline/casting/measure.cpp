#include <algorithm>
#include <map>
#include <utility>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <casting/squared_error.hpp>
#include <casting/type_names.hpp>

namespace precast::casting {

namespace {

using families::Block, families::BlockParameter, families::BlockParameterRole, families::BlockState;

/// What is cast at a time: parameters of one block, under the name that they share.
struct Target {
  std::string name;
  std::vector<BlockParameter> parameters;

  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const BlockParameter& parameter : parameters) sum += parameter.shape.elements();
    return sum;
  }
};

std::vector<Target> targets_of(const Block& block, const CostSettings& settings) {
  std::vector<Target> targets;
  const auto is_cast = [&](const BlockParameter& parameter) {
    return parameter.role == BlockParameterRole::matrix ||
           (settings.biases && parameter.role == BlockParameterRole::bias);
  };
  for (const BlockParameter& parameter : block.parameters) {
    if (!is_cast(parameter)) continue;
    std::string name = block.name;
    if (settings.granularity == Granularity::matrix)
      name = parameter.name.substr(0, parameter.name.rfind('.'));  // without "weight" or "bias"
    const auto found = std::ranges::find(targets, name, &Target::name);
    if (found == targets.end())
      targets.push_back({name, {parameter}});
    else
      found->parameters.push_back(parameter);
  }
  return targets;
}

/// The numbers of all samples of a target in a format.
struct Sums {
  double cost = 0, loss = 0;

  TypeCost averaged(double bits, const Sums& reference, std::size_t samples) const {
    const auto count = static_cast<double>(samples);
    return {bits, cost / count, loss / count, cost / reference.cost, loss / reference.loss};
  }
};

class Measurement {
 public:
  Measurement(families::Blocks& blocks, std::span<const families::RecordedState> samples,
              const CostSettings& settings, CostFile so_far, const CostProgress& progress)
      : blocks_(blocks),
        samples_(samples),
        settings_(settings),
        file_(std::move(so_far)),
        progress_(progress) {
    columns_ = settings.types;
    if (settings.patch) columns_.push_back(settings.patched_type);
  }

  CostFile run(const LayerDone& layer_done) {
    std::vector<std::int64_t> layers;
    for (const std::int64_t layer : settings_.layers)
      if (missing(layer) > 0) layers.push_back(layer);
    if (layers.empty()) return std::move(file_);
    for (const std::int64_t layer : layers) total_ += missing(layer) * samples() * (count() - layer);
    total_ += samples() * (count() + layers.back() + 1);  // the uncast runs
    start();
    for (const std::int64_t layer : layers) {
      advance(layer);
      measure(layer);
      layer_done(file_);
    }
    return std::move(file_);
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(blocks_.list().size()); }
  std::int64_t samples() const { return static_cast<std::int64_t>(samples_.size()); }
  const Block& block(std::int64_t layer) const { return blocks_.list().at(static_cast<std::size_t>(layer)); }

  const LayerCost* found(const std::string& name) const {
    const auto at = std::ranges::find(file_.layers, name, &LayerCost::name);
    return at == file_.layers.end() ? nullptr : &*at;
  }
  bool has(const std::string& name, const std::string& type) const {
    const LayerCost* layer = found(name);
    return layer && layer->types.contains(type);
  }
  /// The numbers of a layer that are still to be measured.
  std::int64_t missing(std::int64_t layer) const {
    std::int64_t cells = 0;
    for (const Target& target : targets_of(block(layer), settings_))
      for (const std::string& type : columns_) cells += !has(target.name, type);
    return cells;
  }

  void ran(std::int64_t blocks) {
    done_ += blocks;
    if (progress_) progress_(done_, total_);
  }

  /// The uncast run of every sample, for its last state.
  void start() {
    for (const families::RecordedState& sample : samples_) {
      before_.push_back(sample.state.clone());
      BlockState state = sample.state.clone();
      blocks_.run(state, 0, count());
      reference_.cost += mean_square(state.tokens);
      last_.push_back(std::move(state.tokens));
      ran(count());
    }
  }

  /// Takes the uncast states to before a layer, and its own outputs to after it.
  void advance(std::int64_t layer) {
    reference_.loss = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (at_ >= 0) before_[i].tokens = std::move(after_[i]);
      blocks_.run(before_[i], at_ + 1, layer);
      BlockState state = before_[i].clone();
      blocks_.run(state, layer, layer + 1);
      reference_.loss += mean_square(state.tokens);
      if (after_.size() <= i) after_.emplace_back();
      after_[i] = std::move(state.tokens);
      ran(layer - at_);
    }
    at_ = layer;
  }

  void measure(std::int64_t layer) {
    for (const Target& target : targets_of(block(layer), settings_)) {
      for (const std::string& type : columns_) {
        if (has(target.name, type)) continue;
        const double bits = load(layer, target, type);
        Sums sums;
        for (std::size_t i = 0; i < before_.size(); ++i) {
          BlockState state = before_[i].clone();
          blocks_.run(state, layer, layer + 1);
          sums.loss += mean_squared_error(state.tokens, after_[i]);
          blocks_.run(state, layer + 1, count());
          sums.cost += mean_squared_error(state.tokens, last_[i]);
          ran(count() - layer);
        }
        keep(layer, target, type, sums.averaged(bits, reference_, before_.size()));
      }
    }
    blocks_.replace(layer, blocks_.source());
  }

  /// Loads the block with the target cast; the bits that a cast parameter takes.
  double load(std::int64_t layer, const Target& target, const std::string& type) {
    const bool patched = settings_.patch && type == settings_.patched_type;
    CastSource source(blocks_.source());
    double bits = 0;
    for (const BlockParameter& parameter : target.parameters) {
      const DtypeInfo taken =
          patched ? source.patch(parameter, *settings_.patch) : source.cast(parameter, type);
      bits += bits_per_value(taken) * static_cast<double>(parameter.shape.elements());
    }
    if (patched && !settings_.biases)  // they come with the matrices, in whatever dtype the file has
      for (const BlockParameter& parameter : block(layer).parameters)
        if (parameter.role == BlockParameterRole::bias && parameter.name.starts_with(target.name + '.'))
          source.patch(parameter, *settings_.patch);
    blocks_.replace(layer, source);
    return bits / static_cast<double>(target.count());
  }

  /// Adds numbers, with layers in the order of the model.
  void keep(std::int64_t layer, const Target& target, const std::string& type, const TypeCost& cost) {
    auto at = std::ranges::find(file_.layers, target.name, &LayerCost::name);
    if (at == file_.layers.end()) {
      std::vector<std::string> before;
      for (std::int64_t i = 0; i <= layer; ++i)
        for (const Target& other : targets_of(block(i), settings_)) {
          if (i == layer && other.name == target.name) break;
          before.push_back(other.name);
        }
      const auto last = std::ranges::find_if(
          file_.layers.rbegin(), file_.layers.rend(),
          [&](const LayerCost& other) { return std::ranges::find(before, other.name) != before.end(); });
      at = file_.layers.insert(last.base(), {target.name, target.count(), {}});
    }
    at->types[type] = cost;
  }

  families::Blocks& blocks_;
  std::span<const families::RecordedState> samples_;
  const CostSettings& settings_;
  std::vector<std::string> columns_;
  CostFile file_;
  const CostProgress& progress_;
  std::int64_t done_ = 0, total_ = 0;
  std::int64_t at_ = -1;                ///< the layer that states are before; -1 where they are recorded ones
  std::vector<BlockState> before_;      ///< of each sample
  std::vector<HostTensor<f32>> after_;  ///< the uncast output of that layer
  std::vector<HostTensor<f32>> last_;   ///< the uncast output of the last one
  Sums reference_;                      ///< mean squares of both, of all samples together
};

}  // namespace

std::string patched_type(const families::Blocks& blocks, const nn::ParameterSource& patch) {
  std::map<std::string_view, std::int64_t> values;
  for (const Block& block : blocks.list())
    for (const BlockParameter& parameter : block.parameters)
      if (parameter.role == BlockParameterRole::matrix)
        values[patch.find(parameter.name).dtype.name] += parameter.shape.elements();
  const auto most =
      std::ranges::max_element(values, {}, &std::pair<const std::string_view, std::int64_t>::second);
  return (most == values.end() ? std::string() : std::string(most->first)) + '*';
}

std::vector<std::int64_t> layers_of(std::span<const std::int64_t> layers, const Shard& shard) {
  std::vector<std::int64_t> own;
  for (auto i = static_cast<std::size_t>(shard.index); i < layers.size();
       i += static_cast<std::size_t>(shard.count))
    own.push_back(layers[i]);
  return own;
}

CostFile measure_cost(families::Blocks& blocks, std::span<const families::RecordedState> samples,
                      const CostSettings& settings, CostFile so_far, const CostProgress& progress,
                      const LayerDone& layer_done) {
  return Measurement(blocks, samples, settings, std::move(so_far), progress).run(layer_done);
}

}  // namespace precast::casting
