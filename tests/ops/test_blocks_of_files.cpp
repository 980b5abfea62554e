// Products of a policy of scalars with weights in blocks of a file's choosing: what the same product makes of
// the decoded values, bit for bit; of few rows, whose products are of codes, the sums in float64 of values
// that nothing rounded.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/block_source.hpp>
#include <support/products.hpp>

#include <precast/host/blocks/block_dots.hpp>
#include <precast/host/matmul/skinny_gemm.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using BlockPolicies =
    std::tuple<Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>, Policy<Storage<fp8_e4m3>>,
               Policy<Storage<f16>, Overflow<Saturate>>, Policy<Storage<f16>, Downcast<Matmul>>>;

/// A matrix in blocks, and its values.
struct Stored {
  DtypeInfo format;
  Shape shape;
  HostTensor<f32> original;
  std::vector<std::byte> bytes;
  HostTensor<f32> values;

  Stored(std::string_view name, std::int64_t features, std::int64_t columns, std::uint32_t seed)
      : format(facts_of(name)),
        shape{features, columns},
        original(random_tensor<f32>(shape, seed)),
        bytes(encoded(name, original.values())),
        values(shape, decoded(name, bytes)) {}

  /// What each value is more than a multiple of its code: of formats with a least value, the value of code 0.
  std::vector<f32> offsets() const {
    std::vector<f32> found(static_cast<std::size_t>(values.elements()));
    visit_block_format(format.name, [&]<class Format>(std::type_identity<Format>) {
      if constexpr (requires(Format block) { block.least; }) {
        std::vector<Format> blocks(bytes.size() / sizeof(Format));
        std::memcpy(blocks.data(), bytes.data(), bytes.size());
        for (Format& block : blocks) {
          std::memset(block.low, 0, sizeof block.low);
          if constexpr (requires { block.high; }) std::memset(block.high, 0, sizeof block.high);
        }
        decode_run<Format>(blocks.data(), 0, std::ssize(found), found.data());
      }
    });
    return found;
  }

  template <PolicyType P>
  LinearWeight<P> in_blocks(std::span<const typename LinearWeight<P>::BiasStorage> bias) const {
    return LinearWeight<P>::in_blocks(
        format, shape[0], shape[1],
        [&](std::span<std::byte> rows) {
          REQUIRE(rows.size() == bytes.size());
          std::memcpy(rows.data(), bytes.data(), bytes.size());
        },
        bias);
  }
};

template <class T>
HostTensor<T> rounded(const HostTensor<f32>& values) {
  HostTensor<T> result(values.shape());
  host::convert_row<T>(std::span<const f32>(values.values()), result.values());
  return result;
}

/// Whether so many rows meet the codes of a format, and not its values as operands.
template <class Types>
bool multiplies_codes(std::string_view format, std::int64_t rows) {
  return rows <= host::max_skinny_rows && host::codes_are_operands<typename Types::operand> &&
         std::is_same_v<typename Types::accumulate, f32> && host::block_gemv_for<f32>(format).multiply;
}

/// The sums of few rows with codes: of x as operands and of the values of blocks as they are.
template <class Types, class X, class B>
ExpectedSums<Types> expected_of_codes(const HostTensor<X>& x, const Stored& stored,
                                      const HostTensor<B>& bias) {
  const std::int64_t columns = stored.shape[1];
  const auto wide_x = operands<Types>(x), weight = wide(stored.values), wide_bias = wide(bias);
  const std::vector<f32> offsets = stored.offsets();
  ExpectedSums<Types> sums;
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t f = 0; f < stored.shape[0]; ++f) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto at = static_cast<std::size_t>(f * columns + k);
        const double factor = wide_x[static_cast<std::size_t>(r * columns + k)], offset = offsets[at];
        sum += factor * weight[at];
        // Codes and offsets are added apart, and may cancel.
        magnitude += std::abs(factor) * (std::abs(weight[at] - offset) + std::abs(offset));
      }
      // A product with a code is exact; a term passes fewer additions than there are columns, its scale's
      // product, and two roundings of the values that it is compared with.
      sums.add(sum, magnitude, columns + 3, wide_bias[static_cast<std::size_t>(f)]);
    }
  return sums;
}

template <PolicyType P>
void check(const Stored& stored, std::initializer_list<std::int64_t> rows) {
  using Types = precisions<P, Matmul>;
  using Bias = typename LinearWeight<P>::BiasStorage;
  const auto bias = random_tensor<Bias>({stored.shape[0]}, 7);
  const auto weight = stored.in_blocks<P>(bias.values());
  // The policy's operands, which its storage holds exactly here: what the blocks are rounded to.
  const LinearWeight<P> dense(rounded<typename Types::storage>(stored.values).view(), bias.values());
  const LinearWeight<P> before(rounded<typename Types::storage>(stored.original).view(), bias.values());
  CHECK(weight.weight().bytes() == static_cast<std::int64_t>(stored.bytes.size()));
  for (const std::int64_t count : rows) {
    CAPTURE(stored.format.name, stored.shape[0], stored.shape[1], count);
    const auto x = random_tensor<typename Types::result>({count, stored.shape[1]}, 3);
    const auto result = linear<P>(x, weight);
    if (multiplies_codes<Types>(stored.format.name, count)) {
      const auto expected = expected_of_codes<Types>(x, stored, bias);
      CHECK(expected.outside(result) == "");
      CHECK(expected.outside(linear<P>(x, before)) != "");
      // A row has the same sums alone and among others.
      const auto alone = linear<P>(x.view().rows_between(count - 1, 1), weight);
      const auto among = result.view().row(count - 1);
      CHECK(std::memcmp(alone.data(), among.data(), among.size_bytes()) == 0);
    } else {
      CHECK(same_bits(result, linear<P>(x, dense)));
      CHECK_FALSE(same_bits(result, linear<P>(x, before)));
    }
    CHECK(same_on_any_threads([&] { return linear<P>(x, weight); }));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear multiplies blocks of a file as it does their values", "[linear][blocks]",
                        BlockPolicies) {
  for (const std::string_view name : {"q8_0", "q4_k", "q4_0"})
    check<TestType>(Stored(name, 150, 512, 1), {1, 3, 20});
}

TEMPLATE_TEST_CASE("every block format of a file is multiplied", "[linear][blocks]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>) {
  for (const BlockFormat& format : block_formats)
    if (block_format_compiled(format.info.name)) {
      check<TestType>(Stored(format.info.name, 65, 256, 2), {1, 4, 5});
      // Rows that end within a chunk of columns.
      if (format.info.values_per_block == 32) check<TestType>(Stored(format.info.name, 9, 96, 2), {2, 33});
    }
}

TEMPLATE_TEST_CASE("blocks of a file give the same bits in large products", "[linear][blocks]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>) {
  // Panels alone and in pairs, rows in one block and in several.
  check<TestType>(Stored("q8_0", 320, 3072, 5), {300, 777});
  check<TestType>(Stored("q4_0", 130, 4608, 5), {300});
}

TEST_CASE("operands that are wider than the policy's storage take blocks as they are", "[linear][blocks]") {
  using P = Policy<Storage<bf16>, Upcast<Matmul>>;
  using Wide = Policy<Storage<f32>, Activation<bf16>>;
  const Stored stored("q6_k", 70, 256, 1);
  const LinearWeight<Wide> dense(stored.values.view());
  for (const std::int64_t rows : {1, 40}) {
    const auto x = random_tensor<bf16>({rows, 256}, 3);
    const auto result = linear<P>(x, stored.in_blocks<P>({}));
    HostTensor<f32> no_bias(Shape{70});
    std::ranges::fill(no_bias.values(), 0.0f);
    if (multiplies_codes<precisions<P, Matmul>>("q6_k", rows))
      CHECK(expected_of_codes<precisions<P, Matmul>>(x, stored, no_bias).outside(result) == "");
    else
      CHECK(same_bits(result, linear<Wide>(x, dense)));
  }
}

TEST_CASE("a decoder that does not decode to the operands is refused, and a format that is none of blocks",
          "[linear][blocks]") {
  const auto zeros = [](std::span<std::byte> rows) { std::memset(rows.data(), 0, rows.size()); };
  const auto load = [&]<PolicyType P>(std::type_identity<P>, const host::BlockDecoder& decoder) {
    using Types = precisions<P, Matmul>;
    return host::PackedWeight<typename Types::storage>::template in_blocks<Types>(decoder, {4, 32}, zeros);
  };
  using Narrow = std::type_identity<Policy<Storage<bf16>>>;
  using Wide = std::type_identity<Policy<Storage<f32>>>;
  const auto of_narrow = host::block_decoder<precisions<Narrow::type, Matmul>>(dtype_info<q8_0>);
  const auto of_wide = host::block_decoder<precisions<Wide::type, Matmul>>(dtype_info<q8_0>);
  CHECK_NOTHROW(load(Narrow{}, of_narrow));
  CHECK_NOTHROW(load(Wide{}, of_wide));
  CHECK_THROWS_AS(load(Narrow{}, of_wide), InputError);
  const DtypeInfo of_none{"blocks32", 32, 20};
  CHECK_THROWS_WITH(LinearWeight<Wide::type>::in_blocks(of_none, 4, 32, zeros), Catch::Contains("blocks32"));
  CHECK(LinearWeight<Wide::type>::bytes_in_blocks(of_none, 4, 32) == std::nullopt);
  CHECK(LinearWeight<Wide::type>::bytes_in_blocks(dtype_info<q8_0>, 4, 33) == 4 * 2 * 34);
}

TEST_CASE("a weight in blocks of a file is turned over", "[linear][blocks]") {
  using P = Policy<Storage<f32>>;
  const Stored stored("q5_1", 70, 64, 1);
  const auto y = random_tensor<f32>({5, 70}, 3);
  CHECK(same_bits(linear_input_gradient<P>(y, TransposedWeight<P>(stored.in_blocks<P>({}))),
                  linear_input_gradient<P>(y, TransposedWeight<P>(LinearWeight<P>(stored.values.view())))));
}
