// Products with a weight in blocks on the device: against float64, and against the same product of the
// decoded values.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/check_proof.hpp>
#include <cuda/product_runs.hpp>
#include <simt/session.hpp>
#include <support/block_source.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/decode_chunk.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/ops/linear.hpp>
#include <precast/quant/scaled_rows.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

const gpu::BlockProductsRegistration products_in_bf16{gpu::block_products<bf16, BlockFormats>};
const gpu::BlockProductsRegistration products_in_f32{gpu::block_products<f32, BlockFormats>};

/// A matrix in blocks of a file, and its values.
struct StoredInBlocks {
  DtypeInfo format;
  Shape shape;
  std::vector<std::byte> bytes;
  HostTensor<f32> values;

  StoredInBlocks(std::string_view name, std::int64_t features, std::int64_t columns, std::uint32_t seed)
      : format(facts_of(name)), shape{features, columns}, values(shape) {
    // In the last block of a row, other values follow those that belong to it.
    const std::int64_t stride =
        (columns + format.values_per_block - 1) / format.values_per_block * format.values_per_block;
    bytes = encoded(name, random_tensor<f32>({features, stride}, seed).values());
    const std::vector<f32> all = decoded(name, bytes);
    for (std::int64_t f = 0; f < features; ++f)
      std::copy_n(all.data() + f * stride, columns, values.data() + f * columns);
  }

  template <PolicyType P>
  LinearWeight<P> weight(std::span<const typename LinearWeight<P>::BiasStorage> bias) const {
    return LinearWeight<P>::in_blocks(
        format, shape[0], shape[1],
        [&](std::span<std::byte> rows) {
          REQUIRE(rows.size() == bytes.size());
          std::memcpy(rows.data(), bytes.data(), bytes.size());
        },
        bias);
  }
};

template <ScalarDtype T>
HostTensor<T> rounded(const HostTensor<f32>& values) {
  HostTensor<T> result(values.shape());
  for (std::int64_t i = 0; i < values.elements(); ++i) result.data()[i] = convert_value<T>(values.data()[i]);
  return result;
}

std::vector<std::string> kernels_of(const simt::Session& session) {
  std::vector<std::string> names;
  for (const simt::LaunchRecord& launch : session.launches()) names.push_back(launch.kernel);
  return names;
}

/// The product with blocks and with their values: within the bounds of its sums, and outside of them with
/// other values. Of many rows both are added in one order.
template <PolicyType P, class X = typename precisions<P, Matmul>::result>
void check(const StoredInBlocks& stored, const StoredInBlocks& other, std::int64_t rows) {
  using Types = precisions<P, Matmul>;
  using Storage = typename Types::storage;
  CAPTURE(stored.format.name, rows, stored.shape[0], stored.shape[1]);
  const auto bias = random_tensor<typename LinearWeight<P>::BiasStorage>({stored.shape[0]}, 3);
  const auto x = random_tensor<X>({rows, stored.shape[1]}, 4);
  const auto weight = stored.weight<P>(bias.values()), of_other = other.weight<P>(bias.values());
  CHECK(weight.weight().blocks() != nullptr);
  CHECK(weight.weight().bytes() == std::ssize(stored.bytes));
  const Tensor<X> on_device_x = sent(x);
  const auto run = [&](const LinearWeight<P>& with) { return to_host(linear<P>(on_device_x, with)); };
  const auto expected = expected_products<Types>(x, stored.values, in_f32(bias));
  const simt::Session session;
  const auto result = run(weight);
  const bool rounds_x = !std::is_same_v<gpu::LibraryOperand<typename Types::operand>, X>;
  std::vector<std::string> launched{rows <= gpu::max_skinny_rows ? "block_gemv" : "block_matmul"};
  if (rounds_x) launched.insert(launched.begin(), "round_values");
  CHECK(kernels_of(session) == launched);
  CHECK(expected.outside(result) == "");
  CHECK(expected.outside(run(of_other)) != "");
  if (rows > gpu::max_skinny_rows) {
    const LinearWeight<P> dense(rounded<Storage>(stored.values).view(), bias.values());
    if (widens_exactly<Storage, typename Types::operand>) CHECK(same_bits(result, run(dense)));
  }
}

template <PolicyType P, class X = typename precisions<P, Matmul>::result>
void check_sizes(std::string_view format) {
  const std::int64_t in_block = facts_of(format).values_per_block;
  // Slabs of 512 columns: a part of one, and more than are in shared memory at a time.
  for (const std::int64_t columns : {in_block, 3 * in_block, 2048 + 256 + in_block})
    for (const std::int64_t features : {1, 21}) {
      const StoredInBlocks stored(format, features, columns, 1), other(format, features, columns, 2);
      for (const std::int64_t rows : {1, 3, 8}) check<P, X>(stored, other, rows);
    }
  for (const std::int64_t columns : {in_block, 3 * in_block}) {
    const StoredInBlocks stored(format, 70, columns, 1), other(format, 70, columns, 2);
    for (const std::int64_t rows : {9, 67}) check<P, X>(stored, other, rows);
  }
  // Columns that end in a block.
  const StoredInBlocks stored(format, 7, 83, 1), other(format, 7, 83, 2);
  for (const std::int64_t rows : {1, 2, 10}) check<P, X>(stored, other, rows);
}

}  // namespace

TEMPLATE_TEST_CASE("linear multiplies with blocks of a file on the device, without a decoded copy",
                   "[linear][blocks]", Policy<Storage<bf16>>, Policy<Storage<f32>>,
                   (Policy<Storage<bf16>, Upcast<Matmul>>)) {
  for (const std::string_view format : {"q8_0", "q4_k"}) check_sizes<TestType>(format);
}

TEST_CASE("every block format is multiplied as it lies on the device", "[linear][blocks]") {
  for (const BlockFormat& format : block_formats) {
    if (!block_format_compiled(format.info.name)) continue;
    const std::int64_t columns = 2 * format.info.values_per_block + 9;
    const StoredInBlocks stored(format.info.name, 9, columns, 1), other(format.info.name, 9, columns, 2);
    for (const std::int64_t rows : {1, 2, 9}) {
      check<Policy<Storage<bf16>>>(stored, other, rows);
      check<Policy<Storage<f32>>>(stored, other, rows);
    }
  }
}

TEST_CASE("chunks of blocks are decoded to the bits of whole blocks", "[blocks]") {
  std::mt19937 engine(1);
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      constexpr int count = dtype_traits<Format>::values_per_block, chunk = values_in_chunk<Format>;
      for (int n = 0; n < 200; ++n) {
        std::array<std::byte, sizeof(Format)> bytes;
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine());
        Format block;
        std::memcpy(static_cast<void*>(&block), bytes.data(), bytes.size());
        std::array<f32, count> whole, chunks;
        dtype_traits<Format>::decode(block, 0, count, whole.data());
        for (int first = 0; first < count; first += chunk)
          decode_chunk<Format, chunk>(block, first, chunks.data() + first);
        // NaN is NaN, whatever its bits.
        for (int i = 0; i < count; ++i)
          if (whole[static_cast<std::size_t>(i)] == whole[static_cast<std::size_t>(i)] ||
              chunks[static_cast<std::size_t>(i)] == chunks[static_cast<std::size_t>(i)])
            REQUIRE(bit_cast<std::uint32_t>(whole[static_cast<std::size_t>(i)]) ==
                    bit_cast<std::uint32_t>(chunks[static_cast<std::size_t>(i)]));
      }
    });
}

TEST_CASE("codes of a row are read to the end of the row and no further", "[linear][blocks]") {
  // A matrix that ends where a page does, before one that nobody may read.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::int64_t features = 3;
  using P = Policy<Storage<int8_row>, Compute<f32>>;
  for (const std::int64_t columns : {1, 7, 9, 130}) {
    CAPTURE(columns);
    auto* const pages = static_cast<std::byte*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
    const auto bytes = static_cast<std::size_t>(features * (row_head_bytes + columns));
    std::byte* const first = pages + page - bytes;
    const auto values = random_integers<f32>({features, columns}, 1),
               x = random_integers<f32>({9, columns}, 2);
    quant::encode_rows<int8_row>(values.values(), static_cast<std::size_t>(columns), {first, bytes});
    const BlockViewIn<const int8_row, DeviceSpace> weight(reinterpret_cast<const int8_row*>(first),
                                                          Shape{features, columns});
    HostTensor<f32> out(Shape{9, features});
    using Types = precisions<P, Matmul>;
    gpu::matmul_transposed<Types, f32>(on_device(x), weight, Epilogue{}, on_device(out));
    for (std::int64_t r = 0; r < 9; ++r)
      for (std::int64_t f = 0; f < features; ++f) {
        double sum = 0, sizes = 0;
        for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
          const double term =
              static_cast<double>(x.view().row(r)[c]) * static_cast<double>(values.view().row(f)[c]);
          sum += term, sizes += std::abs(term);
        }
        CHECK(std::abs(out.view().row(r)[static_cast<std::size_t>(f)] - sum) <= sizes / 64);
      }
    munmap(pages, 2 * page);
  }
}

TEST_CASE("rows in f32 are rounded to operands for a product with blocks of a file", "[linear][blocks]") {
  check_sizes<Policy<Storage<bf16>>, f32>("q4_k");
}

TEST_CASE("a weight in blocks is decoded as it is loaded where the program has no product of it",
          "[linear][blocks]") {
  using P = Policy<Storage<f16>>;  // for whose operands this program has registered none
  const StoredInBlocks stored("q8_0", 21, 96, 1);
  const auto weight = stored.weight<P>({});
  CHECK(weight.weight().blocks() == nullptr);
  const LinearWeight<P> dense(rounded<f16>(stored.values).view());
  const auto x = random_tensor<f16>({5, 96}, 2);
  const Tensor<f16> on_device_x = sent(x);
  CHECK(same_bits(to_host(linear<P>(on_device_x, weight)), to_host(linear<P>(on_device_x, dense))));
}

TEST_CASE("rows of scalars are not taken of a weight in blocks", "[linear][blocks]") {
  using P = Policy<Storage<bf16>>;
  const auto weight = StoredInBlocks("q8_0", 4, 32, 1).weight<P>({});
  CHECK_THROWS_WITH(weight.weight().view(), Catch::Contains("q8_0"));
}

TEST_CASE("proof of GEMV with blocks of a file", "[matmul][blocks][proof]") {
  using P = Policy<Storage<bf16>>;
  struct Check {
    LinearWeight<P> weight;
    HostTensor<bf16> x;
    ExpectedSums<precisions<P, Matmul>> sums;
  };
  std::vector<Check> checks;
  for (const auto& [format, rows] : {std::pair("q8_0", 1), {"q4_k", 3}}) {
    const StoredInBlocks stored(format, 19, 2309, 1);
    auto x = random_integers<bf16>({rows, 2309}, 2);
    auto sums = expected_products<precisions<P, Matmul>>(x, stored.values, HostTensor<f32>());
    checks.push_back({stored.weight<P>({}), std::move(x), std::move(sums)});
  }
  check_proof("GEMV, bf16 by blocks of a file", [&] {
    for (const Check& check : checks) {
      const Tensor<bf16> on_device_x = sent(check.x);
      if (!check.sums.outside(to_host(linear<P>(on_device_x, check.weight))).empty()) return false;
    }
    return true;
  });
}
