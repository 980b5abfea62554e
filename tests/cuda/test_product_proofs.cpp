// The proofs of the products' kernels: nothing fails under any schedule, and each barrier, wait and planted
// fault that is silenced or switched on does.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/check_proof.hpp>
#include <cuda/conv_runs.hpp>
#include <support/block_matrix.hpp>
#include <support/narrow_reference.hpp>

#include <precast/cuda/matmul/transpose.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// The same with a value of four significant bits, which an operand of three does not hold.
template <class T>
HostTensor<T> with_a_nine(HostTensor<T> values, std::int64_t place = 0) {
  values.data()[place] = from_double<T>(9);
  return values;
}

/// Exact products, of matrices whose rows are parts of longer ones.
template <class P, class X>
class Products {
 public:
  using Types = precisions<P, Matmul>;
  using S = typename Types::storage;

  /// `first`: the column at which the parts begin; multiples of 16 bytes are copied 16 bytes at a time.
  Products(std::int64_t rows, std::int64_t columns, std::int64_t features, std::int64_t first)
      : first_(first),
        columns_(columns),
        x_(with_a_nine(random_integers<X>({rows, padded(first + columns)}, 1), first)),
        weight_(random_integers<S>({features, padded(first + columns)}, 2)),
        bias_(random_integers<f32>({features}, 3)),
        sums_(expected_products<Types>(x(), copy(weight()), bias_in_storage())) {}

  bool are_exact() const {
    auto out = not_written<typename Types::result>({x_.rows(), weight_.rows()});
    gpu::matmul_transposed<Types, X>(on_device(x()), on_device(weight()),
                                     Epilogue{on_device(bias_), ActivationFunction::none}, on_device(out));
    return sums_.inexact(out).empty();
  }

 private:
  static std::int64_t padded(std::int64_t columns) { return (columns + 15) / 16 * 16; }
  HostView<const X> x() const { return x_.view().columns_between(first_, columns_); }
  HostView<const S> weight() const { return weight_.view().columns_between(first_, columns_); }
  static HostTensor<S> copy(const HostView<const S>& from) {
    HostTensor<S> to({from.rows(), from.columns()});
    for (std::int64_t r = 0; r < from.rows(); ++r) std::ranges::copy(from.row(r), to.view().row(r).begin());
    return to;
  }
  HostTensor<S> bias_in_storage() const {
    HostTensor<S> bias(bias_.shape());
    for (std::int64_t i = 0; i < bias_.elements(); ++i) bias.data()[i] = from_double<S>(bias_.data()[i]);
    return bias;
  }

  std::int64_t first_, columns_;
  HostTensor<X> x_;
  HostTensor<S> weight_;
  HostTensor<f32> bias_;
  ExpectedSums<Types> sums_;
};

/// Convolutions whose sums are rounded at every step, as the row says.
template <class P>
class StepwiseSums {
 public:
  using Types = precisions<P, Conv>;

  explicit StepwiseSums(const ConvCase& c)
      : case_(c), x_(random_integers<f32>(c.picture(), 1)), weight_(random_integers<f32>(c.weight(), 2)) {
    // Above 256 sums of bf16 go by two.
    for (std::int64_t i = 0; i < x_.elements(); i += c.channels) x_.data()[i] = 300;
    const ConvSizes sizes = c.sizes();
    for (std::int64_t pixel = 0; pixel < sizes.pixels(); ++pixel)
      for (std::int64_t f = 0; f < c.features; ++f) expected_.push_back(sum_of(sizes, pixel, f));
  }

  bool are_exact() const { return wide(conv_of<P, f32>(case_, x_, weight_)) == expected_; }

 private:
  double sum_of(const ConvSizes& sizes, std::int64_t pixel, std::int64_t feature) const {
    using Operand = typename Types::operand;
    const std::int64_t line = pixel / sizes.out_width, taps = case_.kernel_height * case_.kernel_width;
    double sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t y = line % sizes.out_height + tap / case_.kernel_width - case_.pad_top,
                         column = pixel % sizes.out_width + tap % case_.kernel_width - case_.pad_left;
      if (y < 0 || y >= case_.height || column < 0 || column >= case_.width) continue;
      const f32* const from =
          x_.data() + ((line / sizes.out_height * case_.height + y) * case_.width + column) * case_.channels;
      for (std::int64_t k = 0; k < case_.channels; ++k)
        sum = kept_in<typename Types::accumulate>(
            sum + kept_in<Operand>(from[k]) *
                      kept_in<Operand>(weight_.data()[(feature * case_.channels + k) * taps + tap]));
    }
    return kept_in<typename Types::result>(sum);
  }

  ConvCase case_;
  HostTensor<f32> x_, weight_;
  std::vector<double> expected_;
};

/// Two tiles of rows and features, more stages than there is memory for, and a part of one; the same one
/// value at a time.
template <class P, class X>
void check_proof_of_tiles(const std::string& name) {
  const Products<P, X> wide(70, 330, 66, 16), narrow(20, 75, 9, 3);
  check_proof(name, [&] { return wide.are_exact() && narrow.are_exact(); });
}

}  // namespace

TEST_CASE("proof of matmul in bf16", "[matmul][proof]") {
  check_proof_of_tiles<Policy<Storage<bf16>>, bf16>("matmul, bf16");
}
TEST_CASE("proof of matmul in tf32", "[matmul][proof]") {
  check_proof_of_tiles<Policy<Storage<f32>, Compute<tf32>>, f32>("matmul, tf32");
}
TEST_CASE("proof of matmul in f32", "[matmul][proof]") {
  check_proof_of_tiles<Policy<Storage<f32>>, f32>("matmul, f32");
}
TEST_CASE("proof of matmul of f16 weights and f32 rows in bf16", "[matmul][proof]") {
  check_proof_of_tiles<Policy<Storage<f16>, Compute<bf16>>, f32>("matmul, f32 by f16 in bf16");
}

TEST_CASE("proof of matmul by warpgroups", "[matmul][warpgroups][proof]") {
  using Copied = precisions<Policy<Storage<bf16>>, Matmul>;
  using Rounded = precisions<Policy<Storage<f16>, Compute<bf16>, Activation<f32>>, Matmul>;
  constexpr auto small = gpu::select_matmul_tile(gpu::Architecture::sm_90, gpu::MatmulTileSize::small);
  constexpr auto large = gpu::select_matmul_tile(gpu::Architecture::sm_90, gpu::MatmulTileSize::large);
  STATIC_REQUIRE((small.warpgroups && large.warpgroups));
  // More stages than there are at a time; rows that are copied, rows of odd lengths, and rows that are
  // rounded.
  const auto x = with_a_nine(random_integers<bf16>({70, 424}, 1)), odd = random_integers<bf16>({70, 329}, 2);
  const auto weight = random_integers<bf16>({68, 424}, 3), odd_weight = random_integers<bf16>({68, 329}, 4);
  const auto bias = random_integers<bf16>({68}, 5);
  const auto wide_x = with_a_nine(random_integers<f32>({70, 424}, 6));
  const auto f16_weight = with_a_nine(random_integers<f16>({68, 424}, 7)),
             f16_bias = random_integers<f16>({68}, 8);
  const auto sums = expected_products<Copied>(x, weight, bias);
  const auto odd_sums = expected_products<Copied>(odd, odd_weight, bias);
  const auto rounded_sums = expected_products<Rounded>(wide_x, f16_weight, f16_bias);
  check_proof("matmul by warpgroups, bf16", [&] {
    return sums.inexact(tiled_product<Copied, small>(x, weight, bias)).empty() &&
           sums.inexact(tiled_product<Copied, large>(x, weight, bias)).empty() &&
           odd_sums.inexact(tiled_product<Copied, small>(odd, odd_weight, bias)).empty() &&
           rounded_sums.inexact(tiled_product<Rounded, small>(wide_x, f16_weight, f16_bias)).empty();
  });
}

TEST_CASE("proof of skinny GEMM", "[matmul][proof]") {
  using P = Policy<Storage<bf16>>;
  const Products<P, bf16> one(1, 530, 9, 16), eight(8, 300, 7, 0), narrow(3, 45, 6, 1);
  const Products<Policy<Storage<f16>, Compute<bf16>>, f32> rounded(2, 300, 7, 0), rounded_narrow(2, 45, 6, 1);
  check_proof("skinny GEMM, bf16", [&] {
    return one.are_exact() && eight.are_exact() && narrow.are_exact() && rounded.are_exact() &&
           rounded_narrow.are_exact();
  });
}

TEST_CASE("proof of products whose sums are narrower than f32", "[matmul][conv][proof]") {
  using P = Policy<Storage<f32>, Compute<bf16>, Accumulate<bf16>, Activation<f32>>;
  const StepwiseSums<P> product({5, 1, 1, 32, 50, 1, 1}), of_pictures({2, 4, 3, 8, 9, 3, 3, 1, 1, 1, 1, 1});
  check_proof("products summed in bf16", [&] { return product.are_exact() && of_pictures.are_exact(); });
}

TEST_CASE("proof of products with a weight in blocks", "[matmul][blocks][proof]") {
  using P = Policy<Storage<Blocks32>>;
  using Types = precisions<P, Matmul>;
  struct Check {
    HostTensor<bf16> x;
    BlockMatrix<Blocks32, HostMemory> weight;
    HostTensor<f32> bias;
    ExpectedSums<Types> sums;
  };
  std::vector<Check> checks;
  // Few rows, whose columns take more slabs than there is memory for, and many; columns that end within a
  // block.
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 2381}, {3, 339}, {30, 336}}) {
    auto x = random_integers<bf16>({rows, columns}, 1);
    auto weight = random_integer_blocks({66, columns}, 2);
    weight.data()[0].integers[0] = 9;  // four significant bits
    auto bias = random_integers<f32>({66}, 3);
    auto sums = expected_products<Types>(x, values_of(weight), bias);
    checks.push_back({std::move(x), std::move(weight), std::move(bias), std::move(sums)});
  }
  check_proof("matmul, bf16 by blocks", [&] {
    for (const Check& check : checks) {
      auto out = not_written<bf16>({check.x.rows(), 66});
      gpu::matmul_transposed<Types, bf16>(
          on_device(check.x),
          BlockViewIn<const Blocks32, DeviceSpace>(check.weight.data(), check.weight.shape()),
          Epilogue{on_device(check.bias), ActivationFunction::none}, on_device(out));
      if (!check.sums.inexact(out).empty()) return false;
    }
    return true;
  });
}

TEST_CASE("proof of convolution", "[conv][proof]") {
  using P = Policy<Storage<bf16>>;
  using Types = precisions<P, Conv>;
  struct Check {
    ConvCase of;
    HostTensor<bf16> x, weight, bias;
    HostTensor<f32> wide_x;
    ExpectedSums<Types> sums;
  };
  std::vector<Check> checks;
  for (const ConvCase& c :
       {ConvCase{2, 6, 7, 40, 66, 3, 3, 1, 1, 1, 1, 1}, {1, 5, 9, 3, 5, 3, 3, 2, 0, 0, 1, 1}}) {
    auto x = with_a_nine(random_integers<bf16>({c.batch, c.height, c.width, c.channels}, 1));
    auto weight = random_integers<bf16>({c.features, c.channels, c.kernel_height, c.kernel_width}, 2);
    auto bias = random_integers<bf16>({c.features}, 3);
    auto sums = expected_conv<Types>(c, x, weight, bias);
    auto wide_x = in_f32(x);
    checks.push_back(
        {c, std::move(x), std::move(weight), std::move(bias), std::move(wide_x), std::move(sums)});
  }
  check_proof("conv, bf16", [&] {
    for (const Check& check : checks)
      if (!check.sums.inexact(conv_of<P, bf16>(check.of, check.x, check.weight, check.bias)).empty() ||
          !check.sums.inexact(conv_of<P, f32>(check.of, check.wide_x, check.weight, check.bias)).empty())
        return false;
    return true;
  });
}

TEST_CASE("proof of transposition", "[transpose][proof]") {
  const auto from = random_tensor<f32>({40, 35}, 1);
  check_proof("transpose", [&] {
    HostTensor<f32> to({35, 40});
    gpu::transpose<f32>(on_device(from), on_device(to), gpu::current_stream());
    for (std::int64_t r = 0; r < 40; ++r)
      for (std::int64_t c = 0; c < 35; ++c)
        if (to.data()[c * 40 + r] != from.data()[r * 35 + c]) return false;
    return true;
  });
}
