// Cases of attention that the tests of both kinds of kernels run.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <support/attention.hpp>

#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::testing {

using cuda::Architecture;

inline constexpr f32 infinite = std::numeric_limits<f32>::infinity();

/// What an attention is computed from.
template <class T>
struct AttentionInputs {
  Tensor<T> q, k, v;
  Tensor<f32> bias;

  explicit AttentionInputs(const AttentionCase& c)
      : q(random_tensor<T>(Shape{c.batch, c.queries, c.heads * c.width}, 1, c.size)),
        k(random_tensor<T>(Shape{c.batch, c.keys, c.heads * c.width}, 2, c.size)),
        v(random_tensor<T>(Shape{c.batch, c.keys, c.heads * c.width}, 3, 1, 0.5)),
        bias(c.biased ? random_tensor<f32>(Shape{c.heads, c.queries, c.keys}, 4, 2) : Tensor<f32>(Shape{0})) {
    for (std::int64_t i = 0; i < bias.elements(); i += 3) bias.data()[i] = -infinite;
  }
};

inline AttentionProblem problem_of(const AttentionCase& c, const Tensor<f32>& bias) {
  const f32 scale = c.scale != 0 ? c.scale : static_cast<f32>(1 / std::sqrt(static_cast<double>(c.width)));
  const View<const f32> added = c.biased ? bias.view() : View<const f32>();
  return {c.batch, c.heads, c.queries, c.keys, c.width, scale, c.causal, added};
}

/// The kernels of the CUDA backend that a policy takes.
template <class P, class Q, class K, class V>
void run_attention(const AttentionProblem& problem, View<const Q> q, View<const K> k, View<const V> v,
                   View<typename P::activation> out, Architecture architecture = Architecture::sm_80) {
  using Types = precisions<P, Attention>;
  if constexpr (P::flash)
    cuda::flash_attention<Types>(problem, q, k, v, out, {}, architecture);
  else
    cuda::plain_attention<Types>(problem, q, k, v, out, {});
}

/// Into a tensor that is full of NaN before.
template <class P, class T>
Tensor<T> attention_of(const AttentionCase& c, const AttentionInputs<T>& in,
                       Architecture architecture = Architecture::sm_80) {
  Tensor<T> out(in.q.shape());
  std::fill(out.values().begin(), out.values().end(), from_double<T>(std::nan("")));
  run_attention<P>(problem_of(c, in.bias), std::as_const(in.q).view(), std::as_const(in.k).view(),
                   std::as_const(in.v).view(), out.view(), architecture);
  return out;
}

/// Runs a case and says where it leaves its bounds.
template <class P>
std::string wrong_in(const AttentionCase& c, Architecture architecture = Architecture::sm_80) {
  const AttentionInputs<typename P::activation> in(c);
  const AttentionReference<precisions<P, Attention>> reference(c, in.q, in.k, in.v, in.bias, P::flash);
  return outside(attention_of<P>(c, in, architecture), reference.values,
                 [&](std::size_t i) { return reference.bounds[i]; });
}

/// The cases that every policy has to pass; empty where all do.
template <class P>
std::string wrong_in_any() {
  std::vector<AttentionCase> cases;
  for (const std::int64_t width : {1, 7, 33, 40, 64, 72}) cases.push_back({1, 2, 19, 23, width});
  cases.push_back({2, 2, 5, 7, 16});
  // Fewer keys than a tile, just one more than two, several tiles of queries, one key, one query.
  for (const auto& [queries, keys] : {std::pair{5, 3}, {50, 129}, {130, 65}, {1, 1}, {1, 200}})
    cases.push_back({1, 1, queries, keys, 24});
  for (const auto& [queries, keys] : {std::pair{131, 131}, {20, 150}, {150, 20}})
    cases.push_back({1, 1, queries, keys, 16, true});
  cases.push_back({1, 2, 70, 73, 16, false, true});
  cases.push_back({2, 1, 33, 33, 16, true, true, 1.0f});
  cases.push_back({1, 1, 30, 70, 32, false, false, -0.1f});
  cases.push_back({1, 1, 30, 70, 64, false, false, 0, 3});
  for (const AttentionCase& c : cases)
    if (const std::string wrong = wrong_in<P>(c); !wrong.empty())
      return wrong + " (" + std::to_string(c.queries) + " queries, " + std::to_string(c.keys) +
             " keys, width " + std::to_string(c.width) + (c.causal ? ", causal" : "") +
             (c.biased ? ", biased)" : ")");
  return {};
}

/// Whether rows whose keys a bias hides altogether are zeros, and no others.
template <class P>
bool hidden_rows_are_zeros() {
  const AttentionCase c{1, 1, 3, 140, 8, false, true};
  AttentionInputs<typename P::activation> in(c);
  for (std::int64_t i = 0; i < in.bias.elements(); ++i) in.bias.data()[i] = i / 140 == 1 ? -infinite : 0.0f;
  const auto result = wide(attention_of<P>(c, in));
  for (std::size_t i = 0; i < result.size(); ++i)
    if ((result[i] == 0) != (i / 8 == 1)) return false;
  return true;
}

/// Whether a NaN or an infinity among the inputs reaches the rows, or columns, that depend on it, and no
/// others.
template <class P>
bool specials_reach_their_rows() {
  using A = typename P::activation;
  const AttentionCase c{1, 1, 5, 150, 8};
  AttentionInputs<A> in(c);
  bool right = true;
  in.q.data()[2 * 8 + 3] = from_double<A>(std::nan(""));
  const auto by_query = wide(attention_of<P>(c, in));
  for (std::size_t i = 0; i < by_query.size(); ++i) right = right && std::isnan(by_query[i]) == (i / 8 == 2);
  in.q.data()[2 * 8 + 3] = from_double<A>(0);
  in.k.data()[140 * 8] = from_double<A>(std::nan(""));
  for (const double value : wide(attention_of<P>(c, in))) right = right && std::isnan(value);
  in.k.data()[140 * 8] = from_double<A>(0);
  in.v.data()[3 * 8 + 1] = from_double<A>(HUGE_VAL);
  const auto by_value = wide(attention_of<P>(c, in));
  for (std::size_t i = 0; i < by_value.size(); ++i)
    right = right && std::isfinite(by_value[i]) == (i % 8 != 1);
  // Scores of -inf throughout that nobody asked for are NaN.
  for (std::int64_t i = 0; i < in.q.elements(); ++i) in.q.data()[i] = from_double<A>(1);
  for (std::int64_t i = 0; i < in.k.elements(); ++i) in.k.data()[i] = from_double<A>(-HUGE_VAL);
  for (const double value : wide(attention_of<P>(c, in))) right = right && std::isnan(value);
  return right;
}

/// Whether slices of columns, which start where no vector does (`first`) or where one does, take the bits of
/// whole tensors, and leave their neighbours alone.
template <class P>
bool slices_are_like_wholes(std::int64_t first) {
  using A = typename P::activation;
  const AttentionCase c{1, 2, 70, 70, 16};
  const auto x = random_tensor<A>(Shape{1, 70, 3 * 32 + 16}, 1);
  AttentionInputs<A> in(c);
  Tensor<A>* const wholes[3] = {&in.q, &in.k, &in.v};
  for (std::int64_t part = 0; part < 3; ++part)
    for (std::int64_t row = 0; row < 70; ++row)
      std::copy_n(x.data() + row * x.columns() + first + part * 32, 32, wholes[part]->data() + row * 32);
  const auto part = [&](std::int64_t i) { return x.view().columns_between(first + i * 32, 32); };
  Tensor<A> target(Shape{1, 70, 32 + 2 * 16});
  std::fill(target.values().begin(), target.values().end(), from_double<A>(5));
  run_attention<P>(problem_of(c, in.bias), part(0), part(1), part(2),
                   target.view().columns_between(first, 32));
  const auto whole = wide(attention_of<P>(c, in)), got = wide(target);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / 64, column = static_cast<std::int64_t>(i) % 64 - first;
    const bool inside = column >= 0 && column < 32;
    if (got[i] != (inside ? whole[static_cast<std::size_t>(row * 32 + column)] : 5)) return false;
  }
  return true;
}

/// Whether attention of nothing is nothing, and to nothing zero.
template <class P>
bool nothing_is_nothing() {
  using A = typename P::activation;
  bool right = true;
  for (const AttentionCase& c : {AttentionCase{1, 2, 0, 5, 4}, {0, 2, 3, 5, 4}, {1, 2, 3, 5, 0}})
    right = right && attention_of<P>(c, AttentionInputs<A>(c)).elements() == 0;
  const AttentionCase c{1, 2, 3, 0, 4};
  for (const double value : wide(attention_of<P>(c, AttentionInputs<A>(c)))) right = right && value == 0;
  return right;
}

}  // namespace precast::testing
