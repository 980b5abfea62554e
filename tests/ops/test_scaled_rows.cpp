// Products of a policy of scalars with rows under scales of a file's choosing: the bits of the same product
// of the decoded values; of few rows, whose products are of codes, the sums in float64 of values that nothing
// rounded; and parameters that are read as such rows.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/products.hpp>

#include <precast/host/blocks/block_dots.hpp>
#include <precast/host/matmul/skinny_gemm.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/nn/linear.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>
#include <precast/quant/scaled_rows.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using RowPolicies = std::tuple<Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>,
                               Policy<Storage<bf16>, Upcast<Matmul>>>;

/// A weight "layer.weight" in rows under scales, and a bias.
template <ScaledRowDtype Format>
class RowsSource final : public nn::ParameterSource {
 public:
  RowsSource(const HostTensor<f32>& values, std::span<const f32> bias)
      : shape_(values.shape()),
        rows_(static_cast<std::size_t>(shape_[0] * (8 + shape_[1])) + 1),
        bias_(bias) {
    quant::encode_rows<Format>(values.values(), static_cast<std::size_t>(shape_[1]), rows());
  }
  std::span<std::byte> rows() { return std::span(rows_).subspan(1); }  // at an odd address

  bool contains(std::string_view name) const override {
    return name == "layer.weight" || name == "layer.bias";
  }
  nn::Parameter find(std::string_view name) const override {
    if (name == "layer.bias") return {dtype_info<f32>, Shape{shape_[0]}, std::as_bytes(bias_)};
    return {scaled_row_info(dtype_traits<Format>::name, shape_[1]), shape_, std::span(rows_).subspan(1)};
  }
  std::string description() const override { return "rows"; }
  void taken(std::size_t) const override {}

 private:
  Shape shape_;
  std::vector<std::byte> rows_;
  std::span<const f32> bias_;
};

template <PolicyType P, ScaledRowDtype Format>
void check(std::int64_t features, std::int64_t columns) {
  CAPTURE(dtype_traits<Format>::name, features, columns);
  const auto original = random_tensor<f32>({features, columns}, 1);
  const auto bias = random_tensor<f32>({features}, 2);
  RowsSource<Format> source(original, bias.values());
  const nn::ParameterPath place = nn::ParameterPath(source) / "layer";
  const HostTensor<f32> values = nn::load_host_tensor<f32>(place / "weight", {features, columns});
  // What one value of each row is, by the layout.
  for (std::int64_t r = 0; r < features; ++r) {
    f32 value;
    decode_run<Format>(reinterpret_cast<const Format*>(source.rows().data() + r * (8 + columns)), columns - 1,
                       1, &value);
    CHECK(values.view().row(r).back() == value);
  }
  const nn::Linear<P> layer(place, columns, features);
  using Bias = typename LinearWeight<P>::BiasStorage;
  HostTensor<Bias> stored_bias(bias.shape());
  host::convert_row<Bias>(std::span<const f32>(bias.values()), stored_bias.values());
  HostTensor<f32> bias_in_f32(bias.shape());
  host::convert_row<f32>(std::span<const Bias>(stored_bias.values()), bias_in_f32.values());
  const auto product_of = [&](const HostTensor<f32>& weight, const auto& x) {
    // In f32 where operands are f32: the policy's storage does not hold these values.
    using S = typename LinearWeight<P>::Storage;
    if constexpr (std::is_same_v<typename precisions<P, Matmul>::operand, S>) {
      HostTensor<S> rounded(weight.shape());
      host::convert_row<S>(std::span<const f32>(weight.values()), rounded.values());
      return linear<P>(x, LinearWeight<P>(rounded.view(), stored_bias.values()));
    } else {
      using Wide = Policy<Storage<f32>, Activation<typename precisions<P, Matmul>::result>>;
      return linear<Wide>(x, LinearWeight<Wide>(weight.view(), bias_in_f32.values()));
    }
  };
  using Types = precisions<P, Matmul>;
  for (const std::int64_t rows : {1, 4, 5, 70}) {
    CAPTURE(rows);
    const auto x = random_tensor<typename Types::result>({rows, columns}, 3);
    if (rows <= host::max_skinny_rows && host::block_gemv_for<f32>(dtype_traits<Format>::name).multiply) {
      const auto wide_x = operands<Types>(x), weight = wide(values), wide_bias = wide(stored_bias);
      ExpectedSums<Types> sums;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t f = 0; f < features; ++f) {
          double sum = 0, magnitude = 0;
          for (std::int64_t k = 0; k < columns; ++k) {
            const double product = wide_x[static_cast<std::size_t>(r * columns + k)] *
                                   weight[static_cast<std::size_t>(f * columns + k)];
            sum += product;
            magnitude += std::abs(product);
          }
          // As in test_blocks_of_files.cpp.
          sums.add(sum, magnitude, columns + 3, wide_bias[static_cast<std::size_t>(f)]);
        }
      CHECK(sums.outside(layer(x)) == "");
      CHECK(sums.outside(product_of(original, x)) != "");
    } else {
      CHECK(same_bits(layer(x), product_of(values, x)));
      CHECK_FALSE(same_bits(layer(x), product_of(original, x)));
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a weight in rows under scales is held as it is, and multiplied as its values",
                        "[linear][blocks]", RowPolicies) {
  check<TestType, fp8_e4m3_row>(70, 300);
  check<TestType, fp8_e5m2_tensor>(9, 33);
  check<TestType, int8_row>(130, 64);
}
