// Every field of a row of the op table is what a kernel computes in: two rows that differ in one field alone,
// an input that feels it, and each row's result by a float64 reference that rounds as the row says. Products
// and attention here; norms, softmax and single values in narrow.cpp. Fields that the table fixes are not
// here, nor is storage where an op has no parameters.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/field_rows.hpp>
#include <support/arrays.hpp>
#include <support/narrow_reference.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

template <class A, class B>
inline constexpr int fields_apart = !std::is_same_v<typename A::storage, typename B::storage> +
                                    !std::is_same_v<typename A::operand, typename B::operand> +
                                    !std::is_same_v<typename A::accumulate, typename B::accumulate> +
                                    !std::is_same_v<typename A::inside, typename B::inside> +
                                    !std::is_same_v<typename A::result, typename B::result>;

/// As many roundings as these small cases may take.
constexpr double small_case_roundings = 50;

// The values of a product: 257 is 256 in bf16, 1 + 2^-9 is 1; then terms of 0.5, which leave a sum of f16 at
// 2048 where it is.
constexpr std::int64_t depth = 32;
constexpr double odd_weight = 1 + 1.0 / 512;

struct ProductInputs {
  std::vector<double> x, weight;
};
ProductInputs product_inputs(bool sums_stagnate) {
  ProductInputs in{std::vector<double>(depth), std::vector<double>(depth)};
  in.x[0] = sums_stagnate ? 2048 : 257;
  in.weight[0] = sums_stagnate ? 1 : odd_weight;
  for (std::size_t i = 1; i < depth; ++i) in.x[i] = 0.5;
  for (std::size_t i = 1; i < depth; ++i) in.weight[i] = sums_stagnate ? 1 : 0.5;
  return in;
}

template <class Types>
std::vector<double> expected_product(const ProductInputs& in) {
  using Operand = typename Types::operand;
  double sum = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i)
    sum = kept_in<typename Types::accumulate>(
        sum + kept_in<Operand>(in.x[i]) * kept_in<Operand>(kept_in<typename Types::storage>(in.weight[i])));
  return {kept_in<typename Types::result>(sum)};
}

template <class T>
HostTensor<T> tensor_of(const Shape& shape, const std::vector<double>& values) {
  HostTensor<T> tensor(shape);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data()[i] = from_double<T>(values[i]);
  return tensor;
}

/// The same row so many times: other kernels take many rows than take one.
template <class P>
std::vector<double> linear_product_of(const ProductInputs& in, std::int64_t rows = 1) {
  const auto weight = tensor_of<typename P::storage>({1, depth}, in.weight);
  HostTensor<f32> x({rows, depth});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < depth; ++i)
      x.data()[row * depth + i] = static_cast<f32>(in.x[static_cast<std::size_t>(i)]);
  return wide(linear<P>(sent(x), LinearWeight<P>(weight)));
}
/// A kernel of 2 x 2 over a picture of 2 x 2, so that it is a product of `depth` values; x [H, W, C] and the
/// weight [C, H, W].
template <class P>
std::vector<double> conv_product_of(const ProductInputs& in) {
  constexpr std::int64_t channels = depth / 4;
  std::vector<double> turned(depth);
  for (std::int64_t tap = 0; tap < 4; ++tap)
    for (std::int64_t c = 0; c < channels; ++c)
      turned[static_cast<std::size_t>(c * 4 + tap)] = in.weight[static_cast<std::size_t>(tap * channels + c)];
  const auto weight = tensor_of<typename P::storage>({1, channels, 2, 2}, turned);
  return wide(conv2d<P>(sent(tensor_of<f32>({1, 2, 2, channels}, in.x)), ConvWeight<P>(weight)));
}

/// That policies whose rows differ in one field give other results, each its own.
template <class A, class B>
void matters(bool sums_stagnate = false) {
  using MatmulA = precisions<A, Matmul>;
  using MatmulB = precisions<B, Matmul>;
  static_assert(fields_apart<MatmulA, MatmulB> == 1);
  static_assert(fields_apart<precisions<A, Conv>, precisions<B, Conv>> == 1);
  const ProductInputs in = product_inputs(sums_stagnate);
  const auto a = expected_product<MatmulA>(in), b = expected_product<MatmulB>(in);
  REQUIRE_FALSE(are(a, b, small_case_roundings));
  CHECK(are(linear_product_of<A>(in), a, small_case_roundings));
  CHECK(are(linear_product_of<B>(in), b, small_case_roundings));
  constexpr std::int64_t rows = 40;
  CHECK(are(linear_product_of<A>(in, rows), std::vector<double>(rows, a[0]), small_case_roundings));
  CHECK(are(linear_product_of<B>(in, rows), std::vector<double>(rows, b[0]), small_case_roundings));
  CHECK(are(conv_product_of<A>(in), a, small_case_roundings));
  CHECK(are(conv_product_of<B>(in), b, small_case_roundings));
}

// One query [257, 256, 2048, 0.5, ...] and two keys.
template <class Types>
std::vector<double> attention_to_two_keys(const std::vector<double>& q, const std::vector<double>& keys,
                                          f32 scale) {
  const auto width = static_cast<std::int64_t>(q.size());
  const auto wide_q = sent(tensor_of<f32>({1, 1, width}, q)),
             wide_k = sent(tensor_of<f32>({1, 2, width}, keys));
  std::vector<double> first_key(keys.size());
  std::fill_n(first_key.begin(), width, 1.0);
  const auto v = sent(tensor_of<f32>({1, 2, width}, first_key));
  Tensor<typename Types::result> out({1, 1, width});
  const AttentionProblem problem{.batch = 1,
                                 .heads = 1,
                                 .heads_kv = 1,
                                 .queries = 1,
                                 .keys = 2,
                                 .width = width,
                                 .width_v = width,
                                 .scale = scale};
  backend::plain_attention<Types>(problem, split_heads(as_view(wide_q), 1), split_heads(as_view(wide_k), 1),
                                  split_heads(as_view(v), 1), split_heads(out.view(), 1));
  return {wide(out)[0]};
}

/// The share of the first of two keys.
template <class Types>
std::vector<double> expected_attention(const std::vector<double>& q, const std::vector<double>& keys,
                                       f32 scale) {
  using Operand = typename Types::operand;
  double scores[2] = {};
  for (std::size_t key = 0; key < 2; ++key) {
    for (std::size_t d = 0; d < q.size(); ++d)
      scores[key] = kept_in<typename Types::accumulate>(
          scores[key] + kept_in<Operand>(q[d]) * kept_in<Operand>(keys[key * q.size() + d]));
    scores[key] = step<typename Types::inside>(scores[key] * scale);
  }
  const double share = 1 / (1 + std::exp(scores[1] - scores[0]));
  return {kept_in<typename Types::result>(
      kept_in<typename Types::accumulate>(kept_in<Operand>(kept_in<typename Types::inside>(share))))};
}

template <class A, class B>
void matters_to_attention(const std::vector<double>& q, const std::vector<double>& keys, f32 scale) {
  static_assert(fields_apart<A, B> == 1);
  const auto a = expected_attention<A>(q, keys, scale), b = expected_attention<B>(q, keys, scale);
  REQUIRE_FALSE(are(a, b, small_case_roundings));
  CHECK(are(attention_to_two_keys<A>(q, keys, scale), a, small_case_roundings));
  CHECK(are(attention_to_two_keys<B>(q, keys, scale), b, small_case_roundings));
}

using InF32 = Policy<Storage<f32>>;
using F16OfF32InF32 = Policy<Storage<f32>, Compute<f16>, Activation<f32>>;

}  // namespace

TEST_CASE("storage alone changes products", "[fields]") {
  matters<InF32, Policy<Storage<bf16>, Compute<f32>>>();
}

TEST_CASE("operand alone changes products", "[fields]") {
  matters<InF32, Policy<Storage<f32>, Compute<bf16>, Activation<f32>>>();
  matters<Policy<Storage<f32>, Compute<bf16>, Activation<f32>>,
          Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Upcast<Matmul, Conv>>>();
}

TEST_CASE("accumulate alone changes products", "[fields]") {
  matters<F16OfF32InF32, Policy<Storage<f32>, Compute<f16>, Activation<f32>, Accumulate<f16>>>(true);
  matters<F16OfF32InF32, Policy<Storage<f32>, Compute<f16>, Activation<f32>, Downcast<Matmul, Conv>>>(true);
}

TEST_CASE("result alone changes products", "[fields]") {
  matters<InF32, Policy<Storage<f32>, Activation<bf16>>>();
}

TEST_CASE("each field alone changes attention", "[fields]") {
  using InF32Alone = OpDtypes<f32, f32, f32, f32, f32>;
  // Scores of 257 and 256, which are one in bf16; of 2049 and 2048, which are one in f16.
  matters_to_attention<InF32Alone, OpDtypes<f32, bf16, f32, f32, f32>>({257, 256}, {1, 0, 0, 1}, 1);
  matters_to_attention<InF32Alone, OpDtypes<f32, f32, f32, f16, f32>>({2049, 2048}, {1, 0, 0, 1}, 1);
  matters_to_attention<InF32Alone, OpDtypes<f32, f32, f32, f32, bf16>>({257, 256}, {1, 0, 0, 1}, 1);
  // 2048 and 31 times 0.5, which f16 does not feel one by one, beside 2056.
  std::vector<double> q(33, 0.5), keys(66, 1);
  q[0] = 2048;
  q[32] = 2056;
  keys[32] = 0;
  std::fill(keys.begin() + 33, keys.end() - 1, 0.0);
  matters_to_attention<OpDtypes<f32, f16, f32, f32, f32>, OpDtypes<f32, f16, f16, f32, f32>>(q, keys,
                                                                                             0.0625f);
}
