// Linear layers of Flux, and one of GPT-2's vocabulary: as policies have them multiplied (cuBLASLt's from a
// few rows on), and by our own tiled kernel.
//
// Floor: the operations over the rate of cuBLASLt's largest product in the operand dtype. One row multiplies
// nothing: there the floor is the rate of a copy, of which the weight's bytes are read alone.
#include <optional>
#include <string>

#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <cuda/largest_product.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/skinny_gemm.hpp>
#include <precast/nn/linear.hpp>

namespace precast::bench {

namespace {

template <PolicyType P>
void run_linear(benchmark::State& state, const Suite& suite, const LinearShape& shape, bool tiled) {
  using Activation = typename P::activation;
  const testing::RandomSource<bf16> source({{"weight", {shape.out, shape.in}}, {"bias", {shape.out}}});
  const nn::Linear<P> linear(nn::ParameterPath(source), shape.in, shape.out);
  const auto x = random_tensor<Activation>({shape.rows, shape.in});
  const auto multiply = [&] {
    std::optional<gpu::LibraryScope<gpu::ProductLibrary>> without;
    if (tiled) without.emplace(gpu::ProductLibrary{});
    return linear(x);
  };
  if (shape.rows <= gpu::max_skinny_rows) {
    const double weight = static_cast<double>(shape.in * shape.out) * sizeof(typename nn::Linear<P>::Storage);
    return compare_with_copy(state, suite, weight, multiply);
  }
  using Operand = Multiplied<P, Matmul>;
  compare_with_largest_product<Operand>(state, suite, shape.flops(), [&] { (void)multiply(); });
  require_result(multiply());
}

template <PolicyType P>
void add_layers(const Suite& suite) {
  using Operand = Multiplied<P, Matmul>;
  const double largest = LargestProduct<Operand>::bytes(suite.sizes.largest_product);
  const auto add_layer = [&](const std::string& kind, const LinearShape& shape, bool tiled) {
    const double bytes = 4 * static_cast<double>(shape.in * shape.out + shape.rows * (shape.in + shape.out));
    add(suite,
        kind + "/" + name_of<P> + "/" + size_text(shape.rows, shape.in) + "x" + std::to_string(shape.out), 20,
        bytes + largest,
        [&suite, shape, tiled](benchmark::State& state) { run_linear<P>(state, suite, shape, tiled); });
  };
  for (const LinearShape& shape : suite.sizes.layers) add_layer("linear", shape, false);
  add_layer("linear", suite.sizes.largest_product, false);
  for (const LinearShape& shape : suite.sizes.tiled_layers) add_layer("linear_tiled", shape, true);
}

}  // namespace

void add_linear(const Suite& suite) {
  add_layers<F32>(suite);
  add_layers<Tf32>(suite);
  add_layers<Bf16>(suite);
  add_layers<Bf16InF32>(suite);
  add_layers<F16>(suite);
}

}  // namespace precast::bench
