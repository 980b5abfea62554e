// Chosen subsets of the attentions, on either backend: the bits of the full set, or one sentence.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/ops/attention.hpp>

namespace precast::testing {

/// Two heads of 9 rows, side by side.
template <class T>
Tensor<T> heads_of_width(std::int64_t width, double phase) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < 9 * 2 * width; ++i)
    values.push_back(from_double<T>(std::sin(0.7 * static_cast<double>(i) + phase)));
  return Tensor<T>(Shape{1, 9, 2 * width}, values);
}

/// The attention of heads of these widths with `Chosen...`, compared with the one that chooses nothing.
template <class P, class... Chosen>
void check_same_with(std::int64_t width, std::int64_t width_v, bool biased) {
  using T = typename P::activation;
  const Tensor<T> q = heads_of_width<T>(width, 0), k = heads_of_width<T>(width, 1),
                  v = heads_of_width<T>(width_v, 2);
  const Tensor<f32> bias = heads_of_width<f32>(9, 3);
  AttentionOptions options{.heads = 2};
  if (biased) options.bias = bias.view().reshaped({2, 9, 9});
  CHECK(
      same_bits(to_host(attention<P, Chosen...>(q, k, v, options)), to_host(attention<P>(q, k, v, options))));
}

template <class P>
void check_attention_choices() {
  check_same_with<P, HeadWidths<64>>(64, 64, false);
  check_same_with<P, HeadWidths<64>>(64, 64, true);
  check_same_with<P, HeadWidths<40, 128>>(40, 40, false);
  check_same_with<P, HeadWidths<40, 128>>(128, 128, true);
  check_same_with<P, HeadWidths<96>>(64, 96, false);
  check_same_with<P, HeadWidths<300>>(300, 300, false);
  check_same_with<P, WithoutBias>(48, 48, false);
  check_same_with<P, WithoutBias, HeadWidths<64>>(64, 64, false);
  check_same_with<P, HeadWidths<64>, WithoutBias>(64, 64, false);

  using T = typename P::activation;
  const Tensor<T> x = heads_of_width<T>(64, 0);
  Tensor<T> out(x.shape());
  const AttentionOptions two{.heads = 2}, one{.heads = 1};
  CHECK_THROWS_WITH((attention<P, HeadWidths<32, 128>>(x, x, x, two)),
                    "attention: heads of 64 values were left out by HeadWidths<32, 128>: name 64 there too");
  CHECK_THROWS_AS((attention<P, HeadWidths<64>>(x, x, x, one)), ShapeError);
  CHECK_THROWS_AS((attention_into<P, HeadWidths<128>>(x, x, x, two, out.view())), ShapeError);
  CHECK_THROWS_AS((attention<P, HeadWidths<128>>(x, x, x, two, Context{})), ShapeError);
  const Tensor<f32> bias = heads_of_width<f32>(9, 3);
  AttentionOptions biased = two;
  biased.bias = bias.view().reshaped({2, 9, 9});
  CHECK_THROWS_WITH((attention<P, WithoutBias>(x, x, x, biased)),
                    "attention: a bias is given, and was left out by WithoutBias: remove that option");
}

}  // namespace precast::testing
