// Attention alone, 24 heads of 128, for the tokens of a Flux picture with 512 tokens of text: 256 x 256, 512
// x 512 and 1024 x 1024 pixels; flash, and with stored scores for comparison.
//
// Floor: 4 S^2 3072 operations (7.2, 29 and 261 GFLOP) at the rate of cuBLASLt's largest product in the dtype
// that is multiplied, and S^2 24 exponentials; bf16 in f32 takes twice the operations and f16 in f32 1.5
// times, since weights are in three parts or two. Bytes, with flash: q, k, v and the result once (28 MB each
// in bf16 for 4608 tokens); without it S^2 24 scores too (1 GB in bf16), written and read twice over.
#include <string>

#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <cuda/largest_product.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/ops/attention.hpp>

namespace precast::bench {

namespace {

template <PolicyType P>
void run_attention(benchmark::State& state, const Suite& suite, std::int64_t tokens) {
  using Activation = typename P::activation;
  AttentionOptions options;
  options.heads = suite.sizes.model.num_attention_heads;
  const std::int64_t inner = suite.sizes.model.inner_dim();
  const Shape shape{1, tokens, inner};
  const auto query = random_tensor<Activation>(shape), key = random_tensor<Activation>(shape),
             value = random_tensor<Activation>(shape);
  const auto attend = [&] { return attention<P>(query, key, value, options); };
  using Operand = Multiplied<P, Attention>;
  compare_with_largest_product<Operand>(state, suite, 4.0 * static_cast<double>(tokens * tokens * inner),
                                        [&] { (void)attend(); });
  require_result(attend());
}

template <PolicyType P>
void add_attention_of(const Suite& suite) {
  using Operand = Multiplied<P, Attention>;
  const double largest = LargestProduct<Operand>::bytes(suite.sizes.largest_product);
  for (const std::int64_t tokens : suite.sizes.attention_tokens) {
    const double scores =
        P::flash ? 0 : 8.0 * static_cast<double>(suite.sizes.model.num_attention_heads * tokens * tokens);
    const double arrays = 8 * 4.0 * static_cast<double>(tokens * suite.sizes.model.inner_dim());
    add(suite, std::string("attention/") + name_of<P> + "/" + std::to_string(tokens), 20,
        scores + arrays + largest,
        [&suite, tokens](benchmark::State& state) { run_attention<P>(state, suite, tokens); });
  }
}

}  // namespace

void add_attention(const Suite& suite) {
  add_attention_of<F32>(suite);
  add_attention_of<Tf32>(suite);
  add_attention_of<Bf16>(suite);
  add_attention_of<Bf16Plain>(suite);
  add_attention_of<Bf16FlashInF32>(suite);
  add_attention_of<F16>(suite);
  add_attention_of<F16Flash>(suite);
  add_attention_of<F16FlashInF32>(suite);
}

}  // namespace precast::bench
