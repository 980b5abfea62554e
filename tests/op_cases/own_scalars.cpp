// Scalar dtypes of a program's own, without infinity: attention whose scores they keep leaves masked keys
// out.
#include <cstdint>
#include <limits>
#include <string_view>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/policy/policy.hpp>

namespace own_scalars {

/// Every code is a number.
struct e2m3 {
  std::uint8_t bits = 0;
};
/// What is too large is NaN.
struct e7m8 {
  std::uint16_t bits = 0;
};

}  // namespace own_scalars

template <>
struct precast::dtype_traits<own_scalars::e2m3> {
  static constexpr std::string_view name = "e2m3";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  static constexpr precast::FloatFormat format{2, 3, precast::Specials::none};
};
template <>
struct precast::dtype_traits<own_scalars::e7m8> {
  static constexpr std::string_view name = "e7m8";
  static constexpr int values_per_block = 1, bytes_per_block = 2;
  static constexpr precast::FloatFormat format{7, 8, precast::Specials::nan_only};
};

namespace own_scalars {
namespace {

using namespace precast;
using namespace precast::testing;

using E2m3 = Policy<Storage<e2m3>, Activation<f32>>;
using E7m8 = Policy<Storage<e7m8>, Activation<f32>>;
using E7m8Saturate = Policy<Storage<e7m8>, Activation<f32>, Overflow<Saturate>>;

constexpr f32 inf = std::numeric_limits<f32>::infinity();
constexpr std::int64_t queries = 3, columns = 8;

/// A mask that hides every odd key.
HostTensor<f32> odd_keys_hidden() {
  HostTensor<f32> mask(Shape{1, queries, 4});
  for (std::int64_t i = 0; i < mask.elements(); ++i) mask.data()[i] = i % 2 ? -inf : 0.0f;
  return mask;
}

/// Two rows, each followed by one of `hidden`.
HostTensor<f32> with_hidden_rows(const HostTensor<f32>& rows, f32 hidden) {
  HostTensor<f32> all(Shape{1, 4, columns});
  for (std::int64_t i = 0; i < all.elements(); ++i)
    all.data()[i] = i / columns % 2 ? hidden : rows.data()[i / columns / 2 * columns + i % columns];
  return all;
}

struct Inputs {
  HostTensor<f32> q = random_tensor<f32>({1, queries, columns}, 1),
                  k = random_tensor<f32>({1, 2, columns}, 2), v = random_tensor<f32>({1, 2, columns}, 3);
};

}  // namespace

TEMPLATE_TEST_CASE("masked keys are as if they were not there where scores have no infinity", "[attention]",
                   E2m3, E7m8, E7m8Saturate) {
  const Inputs in;
  const auto seen = attention<TestType>(sent(in.q), sent(in.k), sent(in.v), AttentionOptions{.heads = 1});
  const Tensor<f32> mask = sent(odd_keys_hidden());
  AttentionOptions masked{.heads = 1};
  masked.bias = mask.view();
  for (const f32 hidden_key : {2.0f, -2.0f, std::numeric_limits<f32>::quiet_NaN()})
    CHECK(same_bits(attention<TestType>(sent(in.q), sent(with_hidden_rows(in.k, hidden_key)),
                                        sent(with_hidden_rows(in.v, 7)), masked),
                    seen));
  const Tensor<f32> all = sent(filled<f32>(Shape{1, queries, 4}, -inf));
  masked.bias = all.view();
  CHECK(same_bits(attention<TestType>(sent(in.q), sent(with_hidden_rows(in.k, 2)),
                                      sent(with_hidden_rows(in.v, 7)), masked),
                  sent(filled<f32>(Shape{1, queries, columns}, 0))));
}

TEMPLATE_TEST_CASE("masked keys have no gradient where scores have no infinity", "[attention]", E2m3, E7m8) {
  const Inputs in;
  struct Gradients {
    Tensor<f32> dq{Shape{1, queries, columns}}, dk, dv;
  };
  const auto gradients = [&](const HostTensor<f32>& k, const HostTensor<f32>& v,
                             const AttentionOptions& options) {
    const Tensor<f32> there[] = {sent(in.q), sent(k), sent(v),
                                 sent(random_tensor<f32>({1, queries, columns}, 4))};
    Tensor<f32> out(Shape{1, queries, columns}), log_sums(Shape{1, 1, queries});
    Gradients found{.dk = Tensor<f32>(k.shape()), .dv = Tensor<f32>(v.shape())};
    attention_with_log_sums_into<TestType>(there[0], there[1], there[2], options, out, log_sums);
    attention_gradient_into<TestType>(there[3], there[0], there[1], there[2], out, log_sums, options,
                                      found.dq, found.dk, found.dv);
    return found;
  };
  const Tensor<f32> mask = sent(odd_keys_hidden());
  AttentionOptions masked{.heads = 1};
  masked.bias = mask.view();
  const Gradients seen = gradients(in.k, in.v, {.heads = 1}),
                  found = gradients(with_hidden_rows(in.k, 2), with_hidden_rows(in.v, 7), masked);
  CHECK(same_bits(found.dq, seen.dq));
  const auto expected = [](const Tensor<f32>& rows) { return with_hidden_rows(to_host(rows), 0); };
  CHECK(wide(found.dk) == wide(expected(seen.dk)));
  CHECK(wide(found.dv) == wide(expected(seen.dv)));
}

}  // namespace own_scalars
