// Attention on this translation unit's backend against float64: plain and flash, every dtype of operands,
// edges, masks, and scores that overflow.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>
#include <op_cases/attention_cases.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/attention.hpp>
#include <support/skip.hpp>
#include <support/special_values.hpp>

#include <precast/ops/attention.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// The result [B, Sq, H * Dv], whatever the case's layout.
template <class P, class T>
Tensor<typename P::activation> attention_of(const AttentionCase& c, const AttentionInputs<T>& in) {
  using Result = typename P::activation;
  const Tensor<f32> bias = sent(in.bias);
  AttentionOptions options;
  options.heads = c.heads;
  options.heads_kv = c.heads_kv;
  options.scale = c.scale;
  options.causal = c.causal;
  if (c.biased) options.bias = bias;
  if (c.layout == Layout::joined) return attention<P>(sent(in.q), sent(in.k), sent(in.v), options);
  options.heads = 0;  // views of heads have their own
  options.heads_kv.reset();
  const HeadsInLayout q({c.batch, c.queries, c.heads, c.width}, c.layout, 8),
      k({c.batch, c.keys, c.kv_heads(), c.width}, c.layout, 8),
      v({c.batch, c.keys, c.kv_heads(), c.value_width()}, c.layout, 3),
      out({c.batch, c.queries, c.heads, c.value_width()}, c.layout, 5);
  const Tensor<T> queries = sent(q.spread(in.q)), keys = sent(k.spread(in.k)), values = sent(v.spread(in.v));
  Tensor<Result> result = sent(filled<Result>(Shape{out.length}, 7));
  attention_into<P>(q.of(queries.data()), k.of(keys.data()), v.of(values.data()), options,
                    out.of(result.data()));
  const HostTensor<Result> there = to_host(result);
  HostTensor<Result> joined(Shape{c.batch, c.queries, c.heads * c.value_width()});
  std::int64_t written = 0;
  for (const Result value : there.values()) written += to_double(value) != 7;
  CHECK(written <= joined.elements());  // what lies between stays
  out.each([&](std::int64_t here, std::int64_t place) { joined.data()[place] = there.data()[here]; });
  return sent(joined);
}

/// Whether rows whose keys are all masked are zeros, and no others.
template <class P>
bool hidden_rows_are_zeros() {
  const AttentionCase c{1, 1, 3, 140, 8, false, true};
  AttentionInputs<typename P::activation> in(c);
  for (std::int64_t i = 0; i < in.bias.elements(); ++i) in.bias.data()[i] = i / 140 == 1 ? -inf : 0.0f;
  const auto result = wide(attention_of<P>(c, in));
  for (std::size_t i = 0; i < result.size(); ++i)
    if ((result[i] == 0) != (i / 8 == 1)) return false;
  return true;
}

/// Queries and keys whose scores are all about 100 * 100 * 64 / 8 = 80,000: one number for a whole row, which
/// a softmax does not feel.
constexpr AttentionCase with_large_scores{1, 1, 20, 30, 64};
AttentionInputs<f16> large_scores() {
  AttentionInputs<f16> in(with_large_scores);
  in.q = random_tensor<f16>(in.q.shape(), 1, 0.05, 100);
  in.k = random_tensor<f16>(in.k.shape(), 2, 0.05, 100);
  return in;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("attention follows its definition", "[attention]", AttentionPolicies) {
  for (const AttentionCase& c : affordable(attention_cases)) {
    CAPTURE(c.batch, c.heads, c.kv_heads(), c.queries, c.keys, c.width, c.value_width());
    CAPTURE(c.layout, c.causal, c.biased, c.scale.value_or(-1), c.size);
    const AttentionInputs<typename TestType::activation> in(c);
    const AttentionReference<precisions<TestType, Attention>> reference(c, in, TestType::flash);
    CHECK(outside(attention_of<TestType>(c, in), reference.values, reference.bound()) == "");
    check_repeats([&] { return attention_of<TestType>(c, in); });
  }
}

// Weights too: a device multiplies such values in their 16 bits, and weights as sums of several.
TEMPLATE_TEST_CASE("attention in f32 of values of 16 bits has the digits of f32", "[attention]", bf16, f16) {
  for (const AttentionCase& c :
       {AttentionCase{1, 2, 20, 150, 64}, AttentionCase{1, 1, 40, 70, 128, true},
        AttentionCase{1, 2, 20, 37, 40, false, true}, AttentionCase{1, 1, 20, 90, 160}}) {
    CAPTURE(c.heads, c.queries, c.keys, c.width, c.causal, c.biased);
    const AttentionInputs<TestType> in(c);
    const AttentionReference<precisions<F32, Attention>> plain(c, in, false), flash(c, in, true);
    CHECK(outside(attention_of<F32>(c, in), plain.values, plain.bound()) == "");
    CHECK(outside(attention_of<F32Flash>(c, in), flash.values, flash.bound()) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("attention's heads have one result's bits in every layout", "[attention]",
                        AttentionEdgePolicies) {
  for (AttentionCase c :
       {with_heads({2, 4, 33, 70, 16}, 2, 24), with_heads({1, 3, 19, 140, 32, true}, 1, 8)}) {
    const AttentionInputs<typename TestType::activation> in(c);
    const auto joined = attention_of<TestType>(c, in);
    for (const Layout layout : {Layout::rows_of_heads, Layout::heads_of_rows, Layout::apart}) {
      c.layout = layout;
      CHECK(same_bits(attention_of<TestType>(c, in), joined));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("heads that share keys have the bits of heads with copies of them", "[attention]",
                        AttentionEdgePolicies) {
  using A = typename TestType::activation;
  AttentionCase c{2, 6, 33, 70, 16};
  const AttentionInputs<A> in(with_heads(c, 2, 16));
  AttentionInputs<A> copies(c);
  for (auto [from, to] : {std::pair(&in.k, &copies.k), std::pair(&in.v, &copies.v)})
    for (std::int64_t i = 0; i < to->elements(); ++i) {
      const std::int64_t row = i / 96, head = i % 96 / 16;
      to->data()[i] = from->data()[row * 32 + head / 3 * 16 + i % 16];
    }
  CHECK(same_bits(attention_of<TestType>(with_heads(c, 2, 16), in), attention_of<TestType>(c, copies)));
}

TEMPLATE_LIST_TEST_CASE("rows whose keys are all masked are zeros", "[attention]", AttentionEdgePolicies) {
  CHECK(hidden_rows_are_zeros<TestType>());
}
TEST_CASE("a masked score stays masked where scores saturate", "[attention]") {
  CHECK(hidden_rows_are_zeros<F16Saturate>());
}
TEST_CASE("an infinity among queries that are operands already does not saturate, and its scores do",
          "[attention]") {
  // Were it 65504, the first key would have all of the weight.
  const AttentionCase c{1, 1, 1, 4, 8};
  AttentionInputs<f16> in(c);
  in.q = filled<f16>(in.q.shape(), 0), in.k = filled<f16>(in.k.shape(), 0);
  in.q.data()[0] = from_double<f16>(inf);
  for (int key = 0; key < 4; ++key) in.k.data()[key * 8] = from_double<f16>(key == 0 ? 1 : 0.5);
  const auto values = wide(in.v), result = wide(attention_of<F16Saturate>(c, in));
  for (std::size_t column = 0; column < 8; ++column) {
    double mean = 0;
    for (std::size_t key = 0; key < 4; ++key) mean += values[key * 8 + column] / 4;
    CHECK(std::abs(result[column] - mean) <= 4 * dtype_traits<f16>::format.eps());
  }
}

TEMPLATE_LIST_TEST_CASE("scores of any size leave the largest its weight", "[attention]",
                        AttentionEdgePolicies) {
  using A = typename TestType::activation;
  using Operand = typename precisions<TestType, Attention>::operand;
  using Inside = typename precisions<TestType, Attention>::inside;
  if constexpr (dtype_traits<Inside>::format.max() < 2e38) return skip("scores of f16 overflow");
  const AttentionCase c{1, 1, 10, 140, 8, false, true};
  AttentionInputs<A> in(c);
  // Rows whose keys all have one large bias, which is all that is left of their scores, and rows with
  // one key beside it. 3.3e38 is infinite once it is for 2^x.
  constexpr f32 sizes[] = {-1e10f, -1e30f, -3.3e38f, 1e10f, 3.3e38f};
  for (std::int64_t i = 0; i < in.bias.elements(); ++i) in.bias.data()[i] = sizes[i / 140 % 5];
  for (const std::int64_t query : {5, 6, 7}) in.bias.data()[query * 140 + 77] = 0;
  for (const std::int64_t query : {8, 9})
    for (std::int64_t key = 0; key < 140; ++key)
      if (key != 77) in.bias.data()[query * 140 + key] = 0;
  const auto values = wide(in.v), result = wide(attention_of<TestType>(c, in));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t column = i % 8;
    double expected = values[77 * 8 + column];
    if (i / 8 < 5) {
      expected = 0;
      for (std::size_t key = 0; key < 140; ++key) expected += values[key * 8 + column] / 140;
    }
    CAPTURE(i / 8, column);
    CHECK(std::abs(result[i] - expected) <= 4 * dtype_traits<Operand>::format.eps());
  }
}

TEMPLATE_LIST_TEST_CASE("a NaN or an infinity among attention's inputs reaches its rows", "[attention]",
                        AttentionEdgePolicies) {
  using A = typename TestType::activation;
  const AttentionCase c{1, 1, 5, 150, 8};
  AttentionInputs<A> in(c);
  in.q.data()[2 * 8 + 3] = from_double<A>(std::nan(""));
  const auto by_query = wide(attention_of<TestType>(c, in));
  for (std::size_t i = 0; i < by_query.size(); ++i) CHECK(std::isnan(by_query[i]) == (i / 8 == 2));
  in.q.data()[2 * 8 + 3] = from_double<A>(0);
  in.k.data()[140 * 8] = from_double<A>(std::nan(""));
  for (const double value : wide(attention_of<TestType>(c, in))) CHECK(std::isnan(value));
  in.k.data()[140 * 8] = from_double<A>(0);
  in.v.data()[3 * 8 + 1] = from_double<A>(HUGE_VAL);
  const auto by_value = wide(attention_of<TestType>(c, in));
  for (std::size_t i = 0; i < by_value.size(); ++i) CHECK(std::isfinite(by_value[i]) == (i % 8 != 1));
  // Scores of -inf throughout that nobody asked for are NaN.
  in.q = filled<A>(in.q.shape(), 1);
  in.k = filled<A>(in.k.shape(), -HUGE_VAL);
  for (const double value : wide(attention_of<TestType>(c, in))) CHECK(std::isnan(value));
}

TEMPLATE_LIST_TEST_CASE("attention's slices of columns have the bits of whole tensors, and neighbours stay",
                        "[attention]", AttentionEdgePolicies) {
  using A = typename TestType::activation;
  const AttentionCase c{1, 2, 70, 70, 16};
  const auto x = random_tensor<A>(Shape{1, 70, 3 * 32 + 16}, 1);
  const Tensor<A> there = sent(x);
  for (const std::int64_t first : {10, 8}) {  // where no vector begins, and where one does
    AttentionInputs<A> in(c);
    HostTensor<A>* const wholes[3] = {&in.q, &in.k, &in.v};
    for (std::int64_t part = 0; part < 3; ++part)
      for (std::int64_t row = 0; row < 70; ++row)
        std::copy_n(x.data() + row * x.columns() + first + part * 32, 32, wholes[part]->data() + row * 32);
    const auto part = [&](std::int64_t i) { return there.view().columns_between(first + i * 32, 32); };
    Tensor<A> target = sent(filled<A>(Shape{1, 70, 32 + 2 * 16}, 5));
    AttentionOptions options;
    options.heads = 2;
    attention_into<TestType>(part(0), part(1), part(2), options, target.view().columns_between(first, 32));
    const auto whole = wide(attention_of<TestType>(c, in)), got = wide(target);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / 64, column = static_cast<std::int64_t>(i) % 64 - first;
      const bool inside = column >= 0 && column < 32;
      wrong += got[i] != (inside ? whole[static_cast<std::size_t>(row * 32 + column)] : 5);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("f16 scores overflow in plain attention, and neither with Upcast<Attention> nor with Flash",
          "[attention]") {
  const AttentionCase c = with_large_scores;
  AttentionInputs<f16> in = large_scores();
  for (const double value : wide(attention_of<F16>(c, in))) CHECK(std::isnan(value));
  const AttentionReference<precisions<F16UpcastAttention, Attention>> reference(c, in, false);
  CHECK(outside(attention_of<F16UpcastAttention>(c, in), reference.values, reference.bound()) == "");
  for (const double value : wide(attention_of<F16Flash>(c, in))) CHECK(std::isfinite(value));
  // Saturated scores are numbers again, if not the right ones.
  for (const double value : wide(attention_of<F16Saturate>(c, in))) CHECK(std::isfinite(value));
  // One score that overflows makes its own row NaN, and no other.
  in.q = random_tensor<f16>(in.q.shape(), 4);
  for (std::int64_t d = 0; d < 64; ++d) in.q.data()[7 * 64 + d] = from_double<f16>(200);
  const auto rows = wide(attention_of<F16>(c, in));
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::isnan(rows[i]) == (i / 64 == 7));
}

TEMPLATE_LIST_TEST_CASE(
    "attention's results above the range become inf, or the largest number where the policy saturates",
    "[attention]", AttentionRangePolicies) {
  const AttentionInputs<f16> in = large_scores();
  // 1e5 is an operand only where those are f32.
  const Tensor<f32> large = sent(filled<f32>(in.v.shape(), 1e5));
  for (const double value :
       wide(attention<TestType>(sent(in.q), sent(in.k), large, AttentionOptions{.heads = 1})))
    CHECK(value == (TestType::saturate ? 65504 : HUGE_VAL));
}

TEMPLATE_LIST_TEST_CASE(
    "attention's operands above their range become inf, or the largest number where the policy saturates",
    "[attention]", AttentionOperandRangePolicies) {
  // Of one key, whose weight is 1 unless its score is NaN; flash attention rounds it as an operand, and
  // divides by its sum, which is not rounded.
  using Operand = typename TestType::compute;
  const Tensor<f32> ones = sent(filled<f32>(Shape{1, 1, 64}, 1)),
                    large = sent(filled<f32>(Shape{1, 1, 64}, 1e5)),
                    queries = sent(filled<f32>(Shape{1, 3, 64}, 1)),
                    large_queries = sent(filled<f32>(Shape{1, 3, 64}, 1e30));
  const double most = to_double(convert_value<Operand, true>(1e30f));
  const double roundoff = std::ldexp(1, -dtype_traits<Operand>::format.mantissa_bits - 1);
  const auto near = [&](double value, double expected) {
    return std::fabs(value - expected) <= roundoff * expected;
  };
  for (const double value : wide(attention<TestType>(queries, ones, large, AttentionOptions{.heads = 1})))
    CHECK((TestType::saturate ? near(value, most) : value == HUGE_VAL));
  for (const double value :
       wide(attention<TestType>(large_queries, ones, ones, AttentionOptions{.heads = 1})))
    CHECK((TestType::saturate ? near(value, 1) : std::isnan(value)));
  for (const double value : wide(attention<TestType>(queries, large, ones, AttentionOptions{.heads = 1})))
    CHECK((TestType::saturate ? near(value, 1) : std::isnan(value)));
}

TEMPLATE_LIST_TEST_CASE("attention takes queries, keys and values of three dtypes", "[attention]",
                        AttentionOfMixedDtypesPolicies) {
  const AttentionCase c{1, 1, 30, 70, 40};
  const AttentionInputs<bf16> in(c);
  const auto widened = [](const HostTensor<bf16>& x) {
    HostTensor<f32> wider(x.shape());
    for (std::int64_t i = 0; i < x.elements(); ++i) wider.data()[i] = convert<f32>(x.data()[i]);
    return sent(wider);
  };
  const auto mixed =
      attention<TestType>(widened(in.q), sent(in.k), widened(in.v), AttentionOptions{.heads = 1});
  CHECK(same_bits(mixed, attention_of<TestType>(c, in)));
}
