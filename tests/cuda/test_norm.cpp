// Kernels of norms and softmax against float64: every tile, odd sizes, slices, large means, several pictures.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>

#include <precast/cuda/norm/layer_norm.hpp>
#include <precast/cuda/norm/rms_norm.hpp>
#include <precast/cuda/softmax/softmax.hpp>
#include <precast/host/norm.hpp>
#include <precast/host/softmax.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;
using Bf16InF32 = Policy<Storage<bf16>, Activation<f32>>;
using Clamping = Policy<Storage<f16>, Overflow<Saturate>>;

constexpr f32 eps = 1e-6f;
constexpr f32 inf = std::numeric_limits<f32>::infinity();

// Rows for each tile of 16-bit and of f32 runs, whole runs and not.
constexpr std::int64_t widths[] = {1, 7, 64, 77, 128, 768, 1001, 3072, 5001, 9000, 16392};

ExpectedNorm expected_layer_norm(const std::vector<double>& x, std::int64_t columns, std::int64_t rows_each,
                                 const std::vector<double>& scale, const std::vector<double>& shift) {
  ExpectedNorm expected;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(x.size()) / columns; ++r) {
    const auto row = row_of(x, r, columns);
    const NormReference reference(row);
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>((rows_each ? r / rows_each : 0) * columns + c);
      expected.add(
          (row[static_cast<std::size_t>(c)] - reference.mean) / std::sqrt(reference.variance + double{eps}),
          scale.empty() ? 1 : scale[at], shift.empty() ? 0 : shift[at]);
    }
  }
  return expected;
}

ExpectedNorm expected_rms_norm(const std::vector<double>& x, const std::vector<double>& scale) {
  ExpectedNorm expected;
  const auto width = static_cast<std::int64_t>(scale.size());
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(x.size()) / width; ++r) {
    const auto row = row_of(x, r, width);
    const NormReference reference(row);
    for (std::size_t c = 0; c < row.size(); ++c)
      expected.add(row[c] / std::sqrt(reference.mean_square + double{eps}), scale[c], 0);
  }
  return expected;
}

/// The middle of wider rows, so that rows lie apart and `offset` decides whether they are aligned.
template <class T>
struct Slice {
  Tensor<T> whole;
  View<T> view;
  Slice(const Shape& shape, std::int64_t offset, double scale = 1, double mean = 0)
      : whole(random_tensor<T>(shape.with_back(shape.back() + 2 * offset), 17, scale, mean)),
        view(whole.view().columns_between(offset, shape.back())) {}
};

}  // namespace

TEMPLATE_TEST_CASE("the layer_norm kernel follows its definition", "[norm]", F32, Bf16, F16, Bf16InF32) {
  using Types = precisions<TestType, Norm>;
  using A = typename TestType::activation;
  for (const std::int64_t columns : widths) {
    for (const auto& [scale, mean] : {std::pair{1.0, 0.0}, {1.0, 1000.0}}) {
      const auto x = random_tensor<A>(Shape{3, columns}, 7, scale, mean);
      const auto weight = random_tensor<f32>(Shape{1, columns}, 8),
                 bias = random_tensor<f32>(Shape{1, columns}, 9);
      Tensor<A> plain(x.shape()), affine(x.shape());
      cuda::layer_norm<Types, A>(x, {}, eps, plain);
      cuda::layer_norm<Types, A>(x, {weight.view(), bias.view(), 0}, eps, affine);
      const auto without = expected_layer_norm(wide(x), columns, 0, {}, {});
      const auto with = expected_layer_norm(wide(x), columns, 0, wide(weight), wide(bias));
      INFO(columns << " columns, mean " << mean);
      CHECK(outside(plain, without.values, without.bound()) == "");
      CHECK(outside(affine, with.values, with.bound()) == "");
    }
  }
}

TEST_CASE("layer_norm of slices, with a modulation for each picture", "[norm]") {
  using Types = precisions<Bf16, Norm>;
  for (const std::int64_t offset : {3, 8}) {
    const Slice<bf16> x(Shape{3, 5, 136}, offset);
    Slice<bf16> out(Shape{3, 5, 136}, offset);
    const Tensor<bf16> before = out.whole.clone();
    const Slice<f32> scale(Shape{3, 136}, offset), shift(Shape{3, 136}, offset);
    cuda::layer_norm<Types, bf16>(x.view, {scale.view, shift.view, 5}, eps, out.view);
    const auto expected = expected_layer_norm(wide(x.view), 136, 5, wide(scale.view), wide(shift.view));
    INFO("offset " << offset);
    CHECK(outside(out.view, expected.values, expected.bound()) == "");
    CHECK(wide(out.whole.view().columns_between(0, offset)) ==
          wide(before.view().columns_between(0, offset)));
    CHECK(wide(out.whole.view().columns_between(offset + 136, offset)) ==
          wide(before.view().columns_between(offset + 136, offset)));
  }
}

TEMPLATE_TEST_CASE("the rms_norm kernel follows its definition, whole rows and heads", "[norm]", F32, Bf16,
                   F16) {
  using Types = precisions<TestType, Norm>;
  using A = typename TestType::activation;
  for (const std::int64_t width : widths) {
    const std::int64_t heads = width > 1000 ? 1 : 3;
    for (const double scale : {1e-3, 200.0}) {
      const auto x = random_tensor<A>(Shape{2, heads * width}, 3, scale);
      const auto weight = random_tensor<f32>(Shape{width}, 4);
      Tensor<A> out(x.shape());
      cuda::rms_norm<Types, A>(x, weight, eps, out);
      const auto expected = expected_rms_norm(wide(x), wide(weight));
      INFO(width << " wide, scale " << scale);
      CHECK(outside(out, expected.values, expected.bound()) == "");
    }
  }
}

TEMPLATE_TEST_CASE("rms_norm_rotary rounds once what the two ops round twice", "[norm]", F32, Bf16, F16) {
  using Types = precisions<TestType, Norm>;
  using A = typename TestType::activation;
  for (const std::int64_t width : {2, 12, 64, 128}) {
    constexpr std::int64_t batch = 2, tokens = 5, heads = 3;
    const auto x = random_tensor<A>(Shape{batch, tokens, heads * width}, 3, 2);
    const auto weight = random_tensor<f32>(Shape{width}, 4);
    const auto cos = random_tensor<f32>(Shape{tokens, width}, 5),
               sin = random_tensor<f32>(Shape{tokens, width}, 6);
    Tensor<A> out(x.shape());
    cuda::rms_norm_rotary<Types, A>(x, weight, eps, cos, sin, out);
    const auto normed = expected_rms_norm(wide(x), wide(weight));
    const auto c = wide(cos), s = wide(sin);
    std::vector<double> expected(normed.values.size()), bounds(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto columns = static_cast<std::size_t>(heads * width), w = static_cast<std::size_t>(width);
      const std::size_t at = i / columns % tokens * w + i % w, pair = i ^ 1;
      const double other = i % 2 == 0 ? -normed.values[pair] : normed.values[pair];
      expected[i] = normed.values[i] * c[at] + other * s[at];
      bounds[i] = (normed.bounds[i] + 2 * unit<f32> * std::abs(normed.values[i])) * std::abs(c[at]) +
                  (normed.bounds[pair] + 2 * unit<f32> * std::abs(other)) * std::abs(s[at]);
    }
    INFO(width << " wide");
    CHECK(outside(out, expected, [&](std::size_t i) { return bounds[i]; }) == "");
  }
}

TEMPLATE_TEST_CASE("the softmax kernel follows its definition", "[softmax]", F32, Bf16, F16) {
  using Types = precisions<TestType, Softmax>;
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 2, 31, 64, 250, 1001, 2500, 9000}) {
    for (const double scale : {1.0, 50.0}) {
      const auto x = random_tensor<A>(Shape{3, columns}, 5, scale, -2 * scale);
      Tensor<f32> out(x.shape());
      cuda::softmax<Types, A>(x, out);
      std::vector<double> expected, bounds;
      const auto all = wide(x);
      for (std::int64_t r = 0; r < 3; ++r) {
        const auto row = row_of(all, r, columns);
        const double most = *std::max_element(row.begin(), row.end());
        double sum = 0;
        for (const double value : row) sum += std::exp(value - most);
        for (const double value : row) {
          expected.push_back(std::exp(value - most) / sum);
          // Rounding of x - max shifts the exponent; then 3 ulp of exp, the sum's tree and a product.
          bounds.push_back(expected.back() * unit<f32> * (most - value + 90) + std::exp(-86.0));
        }
      }
      INFO(columns << " columns, scale " << scale);
      CHECK(outside(out, expected, [&](std::size_t i) { return bounds[i]; }) == "");
    }
  }
}

TEST_CASE("infinities and NaN go where the host has them", "[norm]") {
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  for (const std::int64_t columns : {6, 300, 3000, 9000}) {
    Tensor<f32> x = random_tensor<f32>(Shape{6, columns}, 1);
    x.data()[columns + 3] = inf;
    x.data()[2 * columns] = nan;
    x.data()[4 * columns - 1] = -inf;
    std::fill_n(x.data() + 4 * columns, columns, -inf);
    std::fill_n(x.data() + 5 * columns, columns, 0.0f);
    const auto ones = Tensor<f32>(Shape{columns}, std::vector<f32>(static_cast<std::size_t>(columns), 1.0f));
    const auto same_specials = [&](const Tensor<f32>& host, const Tensor<f32>& device) {
      const auto a = wide(host), b = wide(device);
      std::int64_t different = 0;
      for (std::size_t i = 0; i < a.size(); ++i)
        different += std::isnan(a[i]) != std::isnan(b[i]) || std::isinf(a[i]) != std::isinf(b[i]) ||
                     (a[i] == 0) != (b[i] == 0);
      return different;
    };
    using Types = precisions<F32, Norm>;
    Tensor<f32> host(x.shape()), device(x.shape());
    host::layer_norm<Types, f32>(x, {}, eps, host);
    cuda::layer_norm<Types, f32>(x, {}, eps, device);
    CHECK(same_specials(host, device) == 0);
    host::rms_norm<Types, f32>(x, ones, eps, host);
    cuda::rms_norm<Types, f32>(x, ones, eps, device);
    CHECK(same_specials(host, device) == 0);
    host::softmax<precisions<F32, Softmax>, f32>(x, host);
    cuda::softmax<precisions<F32, Softmax>, f32>(x, device);
    CHECK(same_specials(host, device) == 0);
  }
}

TEST_CASE("norms of no rows and of no columns do nothing", "[norm]") {
  using Types = precisions<F32, Norm>;
  for (const Shape& shape : {Shape{0, 6}, Shape{4, 0}}) {
    Tensor<f32> x(shape), out(shape);
    const Tensor<f32> scale(Shape{shape.back()});
    cuda::layer_norm<Types, f32>(x, {}, eps, out);
    cuda::rms_norm<Types, f32>(x, scale, eps, out);
    cuda::softmax<precisions<F32, Softmax>, f32>(x, out);
  }
}

TEST_CASE("norms saturate where the policy does", "[norm]") {
  const auto x = random_tensor<f16>(Shape{4, 8}, 3);
  const Tensor<f32> huge(Shape{8}, std::vector<f32>(8, 60000.0f));
  Tensor<f16> open(x.shape()), clamped(x.shape());
  cuda::layer_norm<precisions<F16, Norm>, f16>(x, {huge.view(), {}, 0}, eps, open);
  cuda::layer_norm<precisions<Clamping, Norm>, f16>(x, {huge.view(), {}, 0}, eps, clamped);
  const auto infinite = wide(open), most = wide(clamped);
  std::int64_t overflows = 0;
  for (std::size_t i = 0; i < infinite.size(); ++i) {
    overflows += std::isinf(infinite[i]);
    CHECK(most[i] == std::clamp(infinite[i], -65504.0, 65504.0));
  }
  CHECK(overflows > 0);
}
