// A step of a language model without its optimiser, forward and backward, in turn with oneDNN's own products
// of the same shapes: three for each linear layer, of the result, of the input's gradient and of the weight's.
//
// Floor: oneDNN's time. 6 operations for each token and each parameter outside of the table of embeddings;
// attention's products are lost time, and so is all that passes over memory.
#include <string>

#include <benchmark/benchmark.h>
#include <common/measure.hpp>
#include <common/onednn_rate.hpp>
#include <language_model/trained_model.hpp>
#include <timing/language_models.hpp>
#include <timing/model_sizes.hpp>

#include <precast/memory/memory.hpp>

namespace precast::bench {
namespace {

/// A linear layer's three products.
void add_layer(LinearShapes& layers, std::int64_t rows, std::int64_t in, std::int64_t out) {
  layers.push_back({rows, in, out});
  layers.push_back({rows, out, in});
  layers.push_back({out, rows, in});
}

/// oneDNN's products of a whole step. One layer's weights stand for those of all layers.
template <ScalarDtype T>
class Products {
 public:
  Products(const language_model::LanguageModelConfig& config, std::int64_t rows)
      : layers_(config.layers),
        of_a_layer_(shapes_of_a_layer(config, rows), std::type_identity<T>{}),
        of_the_head_(shapes_of_the_head(config, rows), std::type_identity<T>{}),
        flops_(static_cast<double>(layers_) * flops_of(shapes_of_a_layer(config, rows)) +
               flops_of(shapes_of_the_head(config, rows))) {}

  void operator()() {
    for (std::int64_t layer = 0; layer < layers_; ++layer) of_a_layer_();
    of_the_head_();
  }
  double flops() const { return flops_; }

 private:
  static LinearShapes shapes_of_a_layer(const language_model::LanguageModelConfig& config,
                                        std::int64_t rows) {
    LinearShapes shapes;
    for (int i = 0; i < 4; ++i) add_layer(shapes, rows, config.width, config.width);
    for (int i = 0; i < 2; ++i) add_layer(shapes, rows, config.width, config.inner);
    add_layer(shapes, rows, config.inner, config.width);
    return shapes;
  }
  static LinearShapes shapes_of_the_head(const language_model::LanguageModelConfig& config,
                                         std::int64_t rows) {
    LinearShapes shapes;
    add_layer(shapes, rows, config.width, config.vocabulary);
    return shapes;
  }

  std::int64_t layers_;
  OneDnnLayers of_a_layer_, of_the_head_;
  double flops_;
};

template <ScalarDtype T>
void run_step(benchmark::State& state, const timing::ModelCase& of) {
  release_cached_memory();
  reset_peak_memory();
  timing::TrainingStep step(of);
  step.forward_backward();
  const auto config = timing::model_config(timing::model_size(of.size), of.architecture, of.context);
  Products<T> products(config, of.batch * of.context);
  const InTurn times = measure_in_turn(
      state, [&] { step.forward_backward(); }, products);
  state.counters["share"] = times.reference_over_work;
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
