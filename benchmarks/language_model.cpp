// A step of a language model without its optimiser, forward and backward, in turn with oneDNN's own products
// of the same shapes: three for each linear layer, of the result, of the input's gradient and of the
// weight's.
//
// Floor: oneDNN's time. 6 operations for each token and each parameter outside of the table of embeddings;
// what passes over memory is lost time. Counters: `share` of the rate at which oneDNN multiplies operands as
// a step has them; `share_arranged` of its rate where all operands were arranged before, which no step can
// have: the optimiser writes the weights anew, and the step all else. In both attention's products are lost
// time; in `share_all` they are work.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>
#include <common/measure.hpp>
#include <common/onednn_rate.hpp>
#include <language_model/trained_model.hpp>
#include <timing/language_models.hpp>
#include <timing/model_sizes.hpp>

#include <precast/memory/memory.hpp>

namespace precast::bench {
namespace {

using Tag = dnnl::memory::format_tag;

/// oneDNN's products of a whole step: of a linear layer's result, of its input's gradient and of its
/// weight's. Some layers' weights, more than the caches hold, stand for those of all layers.
template <ScalarDtype T>
class Products {
 public:
  /// With `arranged_each_time` operands lie as a step has them, row after row; else they were all arranged,
  /// and the left side of the weight's gradient turned, before: what no step can have, since the optimiser
  /// writes the weights and the step all else.
  Products(const language_model::LanguageModelConfig& config, std::int64_t rows, bool arranged_each_time)
      : layers_(config.layers), layers_held_(std::min<std::int64_t>(config.layers, 4)) {
    for (std::int64_t layer = 0; layer < layers_held_; ++layer) {
      OneDnnLayers& products = products_.emplace_back();
      for (int i = 0; i < 4; ++i) add(products, rows, config.width, config.width, arranged_each_time);
      for (int i = 0; i < 2; ++i) add(products, rows, config.width, config.inner, arranged_each_time);
      add(products, rows, config.inner, config.width, arranged_each_time);
    }
    flops_ *= static_cast<double>(layers_) / static_cast<double>(layers_held_);
    add(products_.emplace_back(), rows, config.width, config.vocabulary, arranged_each_time);
  }

  void operator()() {
    for (std::int64_t layer = 0; layer < layers_; ++layer)
      products_[static_cast<std::size_t>(layer % layers_held_)]();
    products_.back()();
  }
  double flops() const { return flops_; }

 private:
  void add(OneDnnLayers& products, std::int64_t rows, std::int64_t in, std::int64_t out, bool each_time) {
    constexpr std::type_identity<T> dtype;
    products.add({rows, in, out}, {Tag::ab, Tag::ba, each_time}, dtype);
    products.add({rows, out, in}, {Tag::ab, Tag::ab, each_time}, dtype);
    products.add({out, rows, in}, {each_time ? Tag::ba : Tag::ab, Tag::ab, each_time}, dtype);
    flops_ += 3 * LinearShape{rows, in, out}.flops();
  }

  std::int64_t layers_, layers_held_;
  std::vector<OneDnnLayers> products_;
  double flops_ = 0;
};

/// What attention's products must do in a step: of the scores and their sums of values, and of four
/// gradients, each query with the keys up to its own.
double flops_of_attention(const language_model::LanguageModelConfig& config, std::int64_t batch,
                          std::int64_t context) {
  constexpr double products = 6;
  const double pairs = static_cast<double>(context) * static_cast<double>(context + 1) / 2;
  return products * 2 * pairs * static_cast<double>(batch * config.layers * config.heads * config.head_width);
}

template <ScalarDtype T>
void run_step(benchmark::State& state, const timing::ModelCase& of) {
  release_cached_memory();
  reset_peak_memory();
  timing::TrainingStep step(of);
  step.forward_backward();
  const auto config = timing::model_config(timing::model_size(of.size), of.architecture, of.context);
  const std::int64_t rows = of.batch * of.context;
  Products<T> products(config, rows, true), arranged(config, rows, false);
  products();
  arranged();
  std::vector<double> seconds_arranged;
  const InTurn times = time_in_turn(
      state, [&] { return seconds_after_onednn([&] { step.forward_backward(); }); },
      [&] {
        seconds_arranged.push_back(seconds_of(arranged));
        return seconds_of(products);
      });
  state.counters["share"] = times.reference_over_work;
  state.counters["share_all"] =
      times.reference_over_work * (1 + flops_of_attention(config, of.batch, of.context) / products.flops());
  state.counters["share_arranged"] = median(seconds_arranged) / times.seconds;
  state.counters["flops"] = products.flops() / times.seconds;
  state.counters["onednn_flops"] = products.flops() / times.reference_seconds;
}

const bool added = [] {
  for (const char* const policy : {"f32", "bf16", "amp-bf16"})
    for (const char* const size : {"S", "M"})
      for (const std::int64_t context : {128, 512}) {
        const timing::ModelCase of{.size = size, .policy = policy, .context = context};
        const std::string name =
            "language_model/" + of.policy + "/" + of.size + "+" + std::to_string(context);
        const auto run = of.policy == "f32" ? &run_step<f32> : &run_step<bf16>;
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run(state, of); })
            ->UseManualTime()
            ->Iterations(3)
            ->Unit(benchmark::kMillisecond);
      }
  return true;
}();

}  // namespace
}  // namespace precast::bench
