// Attention alone, 24 heads of 128, for the tokens of a Flux picture with 512 tokens of text: 256 x 256, 512
// x 512 and 1024 x 1024 pixels. Held against oneDNN's rate for a 768 x 3072 x 3072 layer, which has no
// softmax in the middle.
//
// Floor: 4 S^2 3072 operations: 7.2, 29 and 261 GFLOP, and S^2 24 exponentials. Bytes: q, k, v and the result
// once (9.4 MB each in f32 for 768 tokens) with flash; without it the scores too, written and read twice
// over.
#include <string>

#include <common/model_work.hpp>

#include <precast/ops/attention.hpp>

namespace precast::bench {
namespace {

template <PolicyType P>
void run_attention(benchmark::State& state, std::int64_t tokens) {
  using Activation = typename P::activation;
  AttentionOptions options;
  options.heads = 24;
  const Shape shape{1, tokens, 3072};
  const Tensor<Activation> query = random_tensor<Activation>(shape), key = random_tensor<Activation>(shape),
                           value = random_tensor<Activation>(shape);
  Tensor<Activation> out(shape);
  const LinearShape layer{768, 3072, 3072};
  OneDnnLayers reference({layer}, std::type_identity<Activation>{});
  const InTurn times = measure_in_turn(
      state, [&] { attention_into<P>(query, key, value, options, out.view()); }, reference);
  const double flops = 4.0 * static_cast<double>(tokens * tokens * 3072);
  state.counters["flops"] = flops / times.seconds;
  state.counters["share"] = times.reference_over_work * flops / layer.flops();
}

const bool added = [] {
  for (const std::int64_t tokens : {768, 1536, 4608})
    for_each_policy([&]<class P>(P*) {
      benchmark::RegisterBenchmark(
          (std::string("attention/") + name_of<P> + "/" + std::to_string(tokens)).c_str(),
          [=](benchmark::State& state) { run_attention<P>(state, tokens); })
          ->UseManualTime()
          ->Iterations(tokens > 2000 ? 2 : 7)
          ->Unit(benchmark::kMillisecond);
    });
  return true;
}();

}  // namespace
}  // namespace precast::bench
