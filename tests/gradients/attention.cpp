// Attention in training against float64, which finite differences hold.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <gradients/differences.hpp>
#include <op_cases/run.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention_gradient.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct AttentionCase {
  std::int64_t batch, heads, heads_kv, queries, keys, width, width_v;
  bool causal = false;
  double scale = 1;
  bool biased = false;
  /// [H, Sq, Sk], of which each head's last row sees its first key alone: or none.
  std::optional<HostTensor<f32>> bias() const {
    if (!biased) return std::nullopt;
    auto values = random_tensor<f32>({heads, queries, keys}, 5);
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 1; j < keys; ++j)
        values.data()[((h + 1) * queries - 1) * keys + j] = -std::numeric_limits<f32>::infinity();
    return values;
  }
};

/// What attention gives in training, and its gradients for dy.
template <PolicyType P>
struct AttentionInTraining {
  using A = typename training<P>::gradient;
  Tensor<A> out, dq, dk, dv;
  Tensor<f32> log_sums;

  AttentionInTraining(const HostTensor<A>& q, const HostTensor<A>& k, const HostTensor<A>& v,
                      const HostTensor<A>& dy, const AttentionOptions& options)
      : out(dy.shape()),
        dq(q.shape()),
        dk(k.shape()),
        dv(v.shape()),
        log_sums(Shape{q.shape()[0], options.heads, q.shape()[1]}) {
    attention_with_log_sums_into<P>(sent(q), sent(k), sent(v), options, out, log_sums);
    attention_gradient_into<P>(sent(dy), sent(q), sent(k), sent(v), out, log_sums, options, dq, dk, dv);
  }
};

/// One value; widths and lengths around vectors; more than one block of 128 both ways; heads that share keys;
/// few rows, of queries alone and of a last block of keys.
const AttentionCase attention_cases_of_gradients[] = {{1, 1, 1, 1, 1, 1, 1},
                                                      {1, 1, 1, 1, 3, 2, 5},
                                                      {2, 2, 2, 5, 7, 8, 8},
                                                      {1, 2, 1, 9, 9, 3, 6, true, 3},
                                                      {1, 4, 2, 17, 17, 16, 16, true},
                                                      {1, 1, 1, 130, 140, 5, 4},
                                                      {1, 1, 1, 150, 150, 4, 4, true},
                                                      {1, 1, 1, 7, 3, 4, 4, true},
                                                      {1, 1, 1, 3, 150, 4, 4, true},
                                                      {2, 2, 1, 9, 11, 6, 5, false, 1, true},
                                                      {1, 2, 2, 140, 140, 4, 4, true, 1, true},
                                                      {3, 1, 1, 4, 4, 8, 8},
                                                      {2, 4, 4, 5, 5, 16, 16},
                                                      {1, 2, 2, 1, 1024, 32, 32},
                                                      {1, 2, 1, 5, 129, 16, 16},
                                                      {1, 2, 1, 129, 5, 16, 16, true}};

/// Attention in float64: the result, the logarithms of the sums, and by the chain rule the gradients.
struct Reference {
  Doubles out, log_sums, dq, dk, dv;

  Reference(const AttentionCase& attention, const Doubles& query, const Doubles& key, const Doubles& value,
            double factor, const Doubles& gradient = {})
      : c(attention), q(query), k(key), v(value), scale(factor), dy(gradient), bias(attention.bias()) {
    out.resize(static_cast<std::size_t>(c.batch * c.queries * c.heads * c.width_v));
    dq.resize(q.size()), dk.resize(k.size()), dv.resize(v.size());
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t i = 0; i < c.queries; ++i) add(b, h, i);
  }

 private:
  const AttentionCase& c;
  const Doubles &q, &k, &v;
  double scale;
  const Doubles& dy;
  std::optional<HostTensor<f32>> bias;

  static std::size_t at(std::int64_t b, std::int64_t rows, std::int64_t row, std::int64_t heads,
                        std::int64_t head, std::int64_t width) {
    return static_cast<std::size_t>(((b * rows + row) * heads + head) * width);
  }
  void add(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t kv = h / (c.heads / c.heads_kv), seen = c.causal ? std::min(c.keys, i + 1) : c.keys;
    const std::size_t query = at(b, c.queries, i, c.heads, h, c.width),
                      result = at(b, c.queries, i, c.heads, h, c.width_v);
    const auto key = [&](std::size_t j) {
      return at(b, c.keys, static_cast<std::int64_t>(j), c.heads_kv, kv, c.width);
    };
    const auto value = [&](std::size_t j) {
      return at(b, c.keys, static_cast<std::int64_t>(j), c.heads_kv, kv, c.width_v);
    };
    const auto width = static_cast<std::size_t>(c.width), width_v = static_cast<std::size_t>(c.width_v);
    Doubles weights(static_cast<std::size_t>(seen));
    double sum = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      double score = 0;
      for (std::size_t d = 0; d < width; ++d) score += q[query + d] * k[key(j) + d];
      score *= scale;
      if (bias) score += bias->values()[static_cast<std::size_t>((h * c.queries + i) * c.keys) + j];
      sum += weights[j] = std::exp(score);
    }
    log_sums.push_back(std::log(sum));
    for (std::size_t j = 0; j < weights.size(); ++j) {
      weights[j] /= sum;
      for (std::size_t d = 0; d < width_v; ++d) out[result + d] += weights[j] * v[value(j) + d];
    }
    if (dy.empty()) return;
    double mean = 0;  // of the weights' gradients, by weight: what normalising takes off each
    for (std::size_t d = 0; d < width_v; ++d) mean += dy[result + d] * out[result + d];
    for (std::size_t j = 0; j < weights.size(); ++j) {
      double of_weight = 0;
      for (std::size_t d = 0; d < width_v; ++d) {
        of_weight += dy[result + d] * v[value(j) + d];
        dv[value(j) + d] += weights[j] * dy[result + d];
      }
      const double of_score = weights[j] * (of_weight - mean) * scale;
      for (std::size_t d = 0; d < width; ++d) {
        dq[query + d] += of_score * k[key(j) + d];
        dk[key(j) + d] += of_score * q[query + d];
      }
    }
  }
};

/// What gradients are where each query weighs all keys alike.
struct OfEqualWeights {
  Doubles dv, dscores;  ///< of the scores: for each query those of all keys

  OfEqualWeights(const Doubles& dy, const Doubles& v, std::size_t columns)
      : dv(v.size()), dscores(dy.size() / columns * (v.size() / columns)) {
    const std::size_t keys = v.size() / columns;
    const double weight = 1 / static_cast<double>(keys);
    for (std::size_t query = 0; query < dy.size() / columns; ++query) {
      double* const row = &dscores[query * keys];
      double mean = 0;
      for (std::size_t key = 0; key < keys; ++key) {
        for (std::size_t d = 0; d < columns; ++d) {
          row[key] += dy[query * columns + d] * v[key * columns + d] * weight;
          dv[key * columns + d] += dy[query * columns + d] * weight;
        }
        mean += row[key] * weight;
      }
      for (std::size_t key = 0; key < keys; ++key) row[key] -= mean;
    }
  }
};

}  // namespace

TEST_CASE("the chain rule of attention in float64 follows finite differences", "[attention]") {
  for (const AttentionCase& c : attention_cases_of_gradients) {
    if (c.queries * c.keys > 1000) continue;
    CAPTURE(c.heads, c.heads_kv, c.queries, c.keys, c.width, c.width_v, c.causal, c.scale, c.biased);
    const double scale = 1 / std::sqrt(static_cast<double>(c.width));
    const Doubles q = wide(random_tensor<f32>({c.batch, c.queries, c.heads * c.width}, 1, c.scale)),
                  k = wide(random_tensor<f32>({c.batch, c.keys, c.heads_kv * c.width}, 2, c.scale)),
                  v = wide(random_tensor<f32>({c.batch, c.keys, c.heads_kv * c.width_v}, 3)),
                  dy = wide(random_tensor<f32>({c.batch, c.queries, c.heads * c.width_v}, 4));
    const Reference reference(c, q, k, v, scale, dy);
    const Doubles dq = differences(q, dy, [&](const Doubles&x) { return Reference(c, x, k, v, scale).out; }),
                  dk = differences(k, dy, [&](const Doubles&x) { return Reference(c, q, x, v, scale).out; }),
                  dv = differences(v, dy, [&](const Doubles&x) { return Reference(c, q, k, x, scale).out; });
    CHECK(apart(reference.dq, dq) <= 1);
    CHECK(apart(reference.dk, dk) <= 1);
    CHECK(apart(reference.dv, dv) <= 1);
  }
}

TEMPLATE_TEST_CASE("gradients of attention follow the chain rule in float64", "[attention]", F32, F32Flash,
                   Bf16Flash, F16Flash, F16UpcastAttention) {
  using A = typename training<TestType>::gradient;
  for (const AttentionCase& c : attention_cases_of_gradients) {
    if (emulated && c.queries * c.keys > 1000) continue;
    CAPTURE(c.heads, c.heads_kv, c.queries, c.keys, c.width, c.width_v, c.causal, c.scale, c.biased);
    const auto q = random_tensor<A>({c.batch, c.queries, c.heads * c.width}, 1, c.scale),
               k = random_tensor<A>({c.batch, c.keys, c.heads_kv * c.width}, 2, c.scale),
               v = random_tensor<A>({c.batch, c.keys, c.heads_kv * c.width_v}, 3),
               dy = random_tensor<A>({c.batch, c.queries, c.heads * c.width_v}, 4);
    AttentionOptions options;
    options.heads = c.heads, options.heads_kv = c.heads_kv, options.causal = c.causal;
    const auto bias = c.bias();
    const Tensor<f32> added = bias ? sent(*bias) : Tensor<f32>();
    if (bias) options.bias = added.view();
    const double scale = static_cast<f32>(1 / std::sqrt(static_cast<double>(c.width)));
    const AttentionInTraining<TestType> found(q, k, v, dy, options);
    const Doubles wide_q = wide(q), wide_k = wide(k), wide_v = wide(v), wide_dy = wide(dy);
    const Reference reference(c, wide_q, wide_k, wide_v, scale, wide_dy);
    // A score is a sum of `width` products, of operands as they are given: as many roundings of its terms;
    // the exponential, and a sum of as many terms as there are keys.
    double largest = 0;
    for (const double score : reference.log_sums) largest = std::max(largest, std::abs(score));
    const double terms =
        static_cast<double>(c.width) * c.scale * c.scale + largest + static_cast<double>(c.keys) + 16;
    CHECK(outside(found.log_sums, reference.log_sums, [&](std::size_t) { return 4 * terms * unit<f32>; }) ==
          "");
    // Weights, gradients of scores, the result and the gradients themselves are each rounded to the operand
    // or the activation: four relative errors of the parts of a gradient, whose parts are as large as |dy|
    // |v|.
    using Operand = typename gradient_precisions<TestType, Attention>::operand;
    const double rounding = 2 * (unit<Operand> + unit<A>)+4 * terms * unit<f32>;
    const double parts = length(wide(dy)) * length(wide(v)) / std::sqrt(static_cast<double>(v.elements())) *
                         std::sqrt(static_cast<double>(c.width_v));
    const double of_scores = parts * scale * c.scale;
    CHECK(distance(wide(found.dq), reference.dq) <= rounding * (length(reference.dq) + of_scores) + 1e-9);
    CHECK(distance(wide(found.dk), reference.dk) <= rounding * (length(reference.dk) + of_scores) + 1e-9);
    CHECK(distance(wide(found.dv), reference.dv) <= rounding * length(reference.dv) + 1e-9);
    check_repeats([&] { return AttentionInTraining<TestType>(q, k, v, dy, options).dk.clone(); });
  }
}

TEMPLATE_TEST_CASE("heads without a column have gradients", "[attention]", F32, Bf16Flash) {
  using A = typename training<TestType>::gradient;
  const auto gradients_of = [](std::int64_t width, std::int64_t width_v, auto&& check) {
    const auto q = sent(random_tensor<A>({1, 3, width}, 1)), k = sent(random_tensor<A>({1, 4, width}, 2)),
               v = sent(random_tensor<A>({1, 4, width_v}, 3)), dy = sent(filled<A>(Shape{1, 3, width_v}, 1));
    Tensor<A> out(dy.shape()), dq = sent(filled<A>(q.shape(), 7)), dk = sent(filled<A>(k.shape(), 7)),
                               dv = sent(filled<A>(v.shape(), 7));
    Tensor<f32> log_sums(Shape{1, 1, 3});
    attention_with_log_sums_into<TestType>(q, k, v, {.heads = 1}, out, log_sums);
    attention_gradient_into<TestType>(dy, q, k, v, out, log_sums, {.heads = 1}, dq, dk, dv);
    check(wide(log_sums), wide(dq), wide(dk), wide(dv));
  };
  // Each of four keys has a quarter of each of three queries.
  gradients_of(0, 2, [](const Doubles& log_sums, const Doubles&, const Doubles&, const Doubles& dv) {
    for (const double sum : log_sums) CHECK(sum == Approx(std::log(4.0)));
    CHECK(dv == Doubles(8, 0.75));
  });
  gradients_of(2, 0, [](const Doubles&, const Doubles& dq, const Doubles& dk, const Doubles&) {
    CHECK(dq == Doubles(6, 0.0));
    CHECK(dk == Doubles(8, 0.0));
  });
}

TEST_CASE("gradients of attention go into slices of one array, and a bias counts", "[attention]") {
  // Queries, keys and values side by side, as one product makes them.
  const std::int64_t rows = 11, heads = 2, width = 5, columns = heads * width;
  const auto qkv = random_tensor<f32>({1, rows, 3 * columns}, 1),
             dy = random_tensor<f32>({1, rows, columns}, 2);
  const auto bias = random_tensor<f32>({heads, rows, rows}, 3);
  const Tensor<f32> there = sent(qkv), added = sent(bias);
  const auto part = [&](int i) { return there.view().columns_between(i * columns, columns); };
  AttentionOptions options;
  options.heads = heads, options.causal = true, options.bias = added.view();
  Tensor<f32> out(dy.shape()), gradients(qkv.shape()), log_sums(Shape{1, heads, rows});
  attention_with_log_sums_into<F32Flash>(part(0), part(1), part(2), options, out, log_sums);
  const auto to = [&](int i) { return gradients.view().columns_between(i * columns, columns); };
  attention_gradient_into<F32Flash>(sent(dy), part(0), part(1), part(2), out, log_sums, options, to(0), to(1),
                                    to(2));
  Tensor<f32> dq(dy.shape()), dk(dy.shape()), dv(dy.shape());
  const auto copy = [&](int i) {
    HostTensor<f32> values(dy.shape());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        values.data()[r * columns + c] = qkv.data()[r * 3 * columns + i * columns + c];
    return sent(values);
  };
  attention_gradient_into<F32Flash>(sent(dy), copy(0), copy(1), copy(2), out, log_sums, options, dq, dk, dv);
  const auto all = wide(gradients), q = wide(dq), v = wide(dv);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
      REQUIRE(all[r * 3 * columns + c] == q[r * columns + c]);
      REQUIRE(all[r * 3 * columns + 2 * columns + c] == v[r * columns + c]);
    }
  Tensor<f32> without(dy.shape());
  options.bias.reset();
  attention_with_log_sums_into<F32Flash>(part(0), part(1), part(2), options, out, log_sums);
  attention_gradient_into<F32Flash>(sent(dy), part(0), part(1), part(2), out, log_sums, options, without, dk,
                                    dv);
  CHECK(wide(without) != q);
  Tensor<f32> wider(Shape{1, heads, rows + 1});
  const auto with_gaps = wider.view().columns_between(0, rows);
  CHECK_THROWS_AS(attention_with_log_sums_into<F32Flash>(part(0), part(1), part(2), options, out, with_gaps),
                  ShapeError);
  CHECK_THROWS_AS(attention_gradient_into<F32Flash>(sent(dy), part(0), part(1), part(2), out, with_gaps,
                                                    options, dq, dk, dv),
                  ShapeError);
}

TEST_CASE("gradients of attention for chosen heads have the same bits, and other heads are refused",
          "[attention]") {
  const std::int64_t rows = 21, heads = 2, width = 40, columns = heads * width;
  const auto q = sent(random_tensor<bf16>({1, rows, columns}, 1)),
             k = sent(random_tensor<bf16>({1, rows, columns}, 2)),
             v = sent(random_tensor<bf16>({1, rows, columns}, 3)),
             dy = sent(random_tensor<bf16>({1, rows, columns}, 4));
  const AttentionOptions options{.heads = heads};
  using Chosen = HeadWidths<64, 40>;
  const auto gradients = [&]<AttentionOption... Options>() {
    Tensor<bf16> out(q.shape()), dq(q.shape()), dk(k.shape()), dv(v.shape());
    Tensor<f32> log_sums(Shape{1, heads, rows});
    attention_with_log_sums_into<Bf16Flash, Options...>(q, k, v, options, out, log_sums);
    attention_gradient_into<Bf16Flash, Options...>(dy, q, k, v, out, log_sums, options, dq, dk, dv);
    return std::vector{wide(out), wide(dq), wide(dk), wide(dv)};
  };
  CHECK(gradients.template operator()<>() == gradients.template operator()<Chosen, WithoutBias>());

  AttentionOptions wider = options, biased = options;
  wider.heads = 1;
  const Tensor<f32> bias = sent(random_tensor<f32>({heads, rows, rows}, 5));
  biased.bias = bias.view();
  Tensor<bf16> out(q.shape()), dq(q.shape()), dk(k.shape()), dv(v.shape());
  Tensor<f32> log_sums(Shape{1, heads, rows}), of_one(Shape{1, 1, rows});
  CHECK_THROWS_AS((attention_with_log_sums_into<Bf16Flash, Chosen>(q, k, v, wider, out, of_one)), ShapeError);
  CHECK_THROWS_AS((attention_gradient_into<Bf16Flash, Chosen>(dy, q, k, v, out, of_one, wider, dq, dk, dv)),
                  ShapeError);
  CHECK_THROWS_AS((attention_with_log_sums_into<Bf16Flash, WithoutBias>(q, k, v, biased, out, log_sums)),
                  Error);
  CHECK_THROWS_AS(
      (attention_gradient_into<Bf16Flash, WithoutBias>(dy, q, k, v, out, log_sums, biased, dq, dk, dv)),
      Error);
}

TEMPLATE_TEST_CASE("gradients of attention follow scores of any size", "[attention]", F32, F32Flash,
                   Bf16Flash) {
  // Scores of 1e10, of which each query's largest leaves the others nothing: its key alone gets its gradient.
  // In tiles and, of wider heads, row by row, where a score may be thousands away from the forward's.
  using A = typename training<TestType>::gradient;
  const std::int64_t queries = 20, keys = 12;
  for (const std::int64_t width : {8, 136}) {
    const auto q = random_tensor<A>({1, queries, width}, 1, 1e5),
               k = random_tensor<A>({1, keys, width}, 2, 1e5), v = random_tensor<A>({1, keys, width}, 3),
               dy = random_tensor<A>({1, queries, width}, 4);
    const AttentionInTraining<TestType> found(q, k, v, dy, {.heads = 1});
    const Doubles wide_q = wide(q), wide_k = wide(k), wide_dy = wide(dy);
    const auto columns = static_cast<std::size_t>(width);
    Doubles expected(wide_k.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(queries); ++i) {
      std::size_t chosen = 0;
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < static_cast<std::size_t>(keys); ++j) {
        double score = 0;
        for (std::size_t d = 0; d < columns; ++d) score += wide_q[i * columns + d] * wide_k[j * columns + d];
        if (score > largest) largest = score, chosen = j;
      }
      for (std::size_t d = 0; d < columns; ++d) expected[chosen * columns + d] += wide_dy[i * columns + d];
    }
    CHECK(distance(wide(found.dv), expected) <= 4 * unit<A> * length(expected));
  }
}

TEMPLATE_TEST_CASE("gradients of attention follow scores whose products cancel", "[attention]", F32, F32Flash,
                   Bf16Flash, F16UpcastAttention, F16UpcastAttentionFlash, Bf16UpcastAttention) {
  // Scores and their logarithms are small, and partial sums are not: a forward that adds products in another
  // order, as tensor cores do of 16 bits that a policy multiplies in f32, has other scores than the
  // gradients: in tiles and, of wider heads, value by value. Each query's weights add up to 1 all the same,
  // so keys get what queries give.
  using A = typename training<TestType>::gradient;
  const std::int64_t queries = 6, keys = 8;
  for (const std::int64_t width : {64, 136})
    for (const double size : {1.0, 3e3, 1e4}) {
      CAPTURE(width, size);
      const auto mirrored = [&](std::int64_t rows, std::uint64_t seed, f32 sign) {
        const auto half = random_tensor<A>({1, rows, width / 2}, seed, size);
        HostTensor<A> both({1, rows, width});
        for (std::int64_t i = 0; i < half.elements(); ++i) {
          A* const first = both.data() + i / (width / 2) * width + i % (width / 2);
          first[0] = half.data()[i];
          first[width / 2] = convert_value<A>(sign * convert_value<f32>(half.data()[i]));
        }
        return both;
      };
      const auto q = mirrored(queries, 1, 1.0f), k = mirrored(keys, 2, -1.0f);
      const auto v = random_tensor<A>({1, keys, width}, 3), dy = random_tensor<A>({1, queries, width}, 4);
      const AttentionInTraining<TestType> found(q, k, v, dy, {.heads = 1});
      const Doubles given = wide(dy), got = wide(found.dv);
      for (std::size_t d = 0; d < static_cast<std::size_t>(width); ++d) {
        double sum_given = 0, sum_got = 0, size_of_all = 0;
        for (std::size_t i = d; i < given.size(); i += width)
          sum_given += given[i], size_of_all += std::fabs(given[i]);
        for (std::size_t j = d; j < got.size(); j += width) sum_got += got[j];
        // Logarithms under 1024 lack 2^-14 at most.
        CHECK(std::fabs(sum_got - sum_given) <= (4 * unit<A> + 0x1p-13) * size_of_all);
      }
    }
}

TEMPLATE_TEST_CASE("gradients of attention follow a mask of large numbers", "[attention]", F32, F32Flash,
                   Bf16Flash) {
  // Rows whose keys all have one large bias, which is all that is left of their scores: keys have equal
  // weights.
  using A = typename training<TestType>::gradient;
  const std::int64_t queries = 6, keys = 140, width = 8;
  const auto q = random_tensor<A>({1, queries, width}, 1), k = random_tensor<A>({1, keys, width}, 2),
             v = random_tensor<A>({1, keys, width}, 3), dy = random_tensor<A>({1, queries, width}, 4);
  HostTensor<f32> bias({1, queries, keys});
  constexpr f32 sizes[] = {-1e10f, -1e30f, -3.3e38f};
  for (std::int64_t i = 0; i < bias.elements(); ++i) bias.data()[i] = sizes[i / keys % 3];
  const Tensor<f32> added = sent(bias);
  AttentionOptions options{.heads = 1};
  options.bias = added.view();
  const AttentionInTraining<TestType> found(q, k, v, dy, options);
  const Doubles wide_k = wide(k);
  constexpr std::size_t columns = 8;
  const OfEqualWeights expected(wide(dy), wide(v), columns);
  Doubles expected_q(wide(dy).size());
  for (std::size_t i = 0; i < expected.dscores.size(); ++i)
    for (std::size_t d = 0; d < columns; ++d)
      expected_q[i / keys * columns + d] +=
          expected.dscores[i] * wide_k[i % keys * columns + d] / std::sqrt(static_cast<double>(columns));
  CHECK(distance(wide(found.dv), expected.dv) <= 4 * (unit<A> + 16 * unit<f32>)*length(expected.dv));
  CHECK(distance(wide(found.dq), expected_q) <= 8 * (unit<A> + 16 * unit<f32>)*length(expected_q));
}

TEMPLATE_TEST_CASE("gradients of attention follow equal scores of any size", "[attention]", F32, F32Flash,
                   Bf16Flash, F16Flash) {
  // Of the logarithm of a row's sum, score + log n, rounding takes log n bit by bit. Keys have equal weights.
  using A = typename training<TestType>::gradient;
  const std::int64_t queries = 70, keys = 66, width = 8;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const auto v = random_tensor<A>({1, keys, width}, 3), dy = random_tensor<A>({1, queries, width}, 4);
  constexpr std::size_t columns = 8;
  const OfEqualWeights expected(wide(dy), wide(v), columns);
  for (const double size : {1.0, 32.0, 128.0, 1024.0, 16384.0})
    for (const double sign : {1.0, -1.0}) {
      CAPTURE(size, sign);
      const AttentionInTraining<TestType> found(filled<A>({1, queries, width}, size),
                                                filled<A>({1, keys, width}, sign * size), v, dy,
                                                {.heads = 1});
      Doubles expected_k(wide(v).size());
      for (std::size_t i = 0; i < expected.dscores.size(); ++i)
        for (std::size_t d = 0; d < columns; ++d)
          expected_k[i % keys * columns + d] += expected.dscores[i] * size * scale;
      CHECK(distance(wide(found.dv), expected.dv) <= 4 * (unit<A> + 16 * unit<f32>)*length(expected.dv));
      CHECK(distance(wide(found.dk), expected_k) <= 8 * (unit<A> + 16 * unit<f32>)*length(expected_k));
      // Keys are the same: their gradients of scores add up to 0.
      CHECK(length(wide(found.dq)) <=
            8 * (unit<A> + 16 * unit<f32>)*size * scale * length(wide(dy)) * length(wide(v)));
    }
}

TEST_CASE("plain attention in f16 has gradients that overflow, and flash has not", "[attention]") {
  // Gradients of weights of 2e5, which f16 does not hold: dy v.
  const auto q = filled<f16>({1, 2, 4}, 0), v = filled<f16>({1, 2, 4}, 200), dy = filled<f16>({1, 2, 4}, 250);
  const AttentionOptions options{.heads = 1};
  Tensor<f16> out(q.shape()), dq(q.shape()), dk(q.shape()), dv(q.shape());
  Tensor<f32> log_sums(Shape{1, 1, 2});
  attention_with_log_sums_into<F16>(sent(q), sent(q), sent(v), options, out, log_sums);
  attention_gradient_into<F16>(sent(dy), sent(q), sent(q), sent(v), out, log_sums, options, dq, dk, dv);
  CHECK(!std::isfinite(wide(dq)[0]));
  attention_gradient_into<F16Flash>(sent(dy), sent(q), sent(q), sent(v), out, log_sums, options, dq, dk, dv);
  CHECK(wide(dq)[0] == 0);
  CHECK(wide(dv)[0] == 250);
}
