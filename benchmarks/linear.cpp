// Linear layers alone, each in turn with oneDNN's own product of the same shape.
//
// Floor: oneDNN's time. With one row there is nothing to multiply: every byte of the weight is read once, 226
// MB in f32 and 113 in bf16 and f16, and the rate of reading memory decides.
#include <string>

#include <common/model_work.hpp>

#include <precast/ops/linear.hpp>

namespace precast::bench {
namespace {

template <PolicyType P>
void run_linear(benchmark::State& state, const LinearShape& shape) {
  using Activation = typename P::activation;
  using Storage = typename LinearWeight<P>::Storage;
  const LinearWeight<P> weight(random_tensor<Storage>({shape.out, shape.in}).view());
  const Tensor<Activation> x = random_tensor<Activation>({shape.rows, shape.in});
  Tensor<Activation> out(Shape{shape.rows, shape.out});
  OneDnnLayers reference({shape}, std::type_identity<Activation>{});
  const InTurn times = measure_in_turn(
      state, [&] { linear_into<P>(x, weight, out.view()); }, reference);
  state.counters["share"] = times.reference_over_work;
  state.counters["flops"] = shape.flops() / times.seconds;
  state.counters["bytes_per_second"] = static_cast<double>(weight.bytes()) / times.seconds;
}

const bool added = [] {
  for (const LinearShape shape : {LinearShape{768, 3072, 3072}, LinearShape{768, 3072, 12288},
                                  LinearShape{768, 15360, 3072}, LinearShape{1, 3072, 18432}})
    for_each_policy(
        [&]<class P>(P*) {
          const std::string name = std::string("linear/") + name_of<P> + "/" + std::to_string(shape.rows) +
                                   "x" + std::to_string(shape.in) + "x" + std::to_string(shape.out);
          benchmark::RegisterBenchmark(name.c_str(),
                                       [=](benchmark::State& state) { run_linear<P>(state, shape); })
              ->UseManualTime()
              ->Iterations(9)
              ->Unit(benchmark::kMillisecond);
        },
        false);
  return true;
}();

}  // namespace
}  // namespace precast::bench
