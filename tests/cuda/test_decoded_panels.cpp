// Products of many rows with a weight in blocks on the device: panels of it are decoded ahead of the
// library's product, for which one of the host stands.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/check_proof.hpp>
#include <cuda/host_library.hpp>
#include <cuda/product_runs.hpp>
#include <simt/session.hpp>
#include <support/block_source.hpp>

#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/ops/linear.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// A matrix in blocks of a file, and its values.
struct Stored {
  std::string_view name;
  Shape shape;
  std::vector<std::byte> bytes;
  HostTensor<f32> values;

  Stored(std::string_view format, std::int64_t features, std::int64_t columns, std::uint32_t seed)
      : name(format), shape{features, columns}, values(shape) {
    bytes = encoded(name, random_tensor<f32>(shape, seed).values());
    const std::vector<f32> all = decoded(name, bytes);
    std::copy(all.begin(), all.end(), values.data());
  }
};

/// What is asked of a product by panels, and where its results go.
template <ScalarDtype Operand, ScalarDtype Result>
struct Run {
  HostTensor<Operand> x;
  HostTensor<Result> bias;
  HostTensor<f32> wide_bias;
  HostTensor<Result> out;

  Run(std::int64_t rows, const Shape& weight)
      : x(random_tensor<Operand>({rows, weight[1]}, 4)),
        bias(random_tensor<Result>({weight[0]}, 5)),
        wide_bias(in_f32(bias)),
        out(not_written<Result>({rows, weight[0]})) {}

  Epilogue epilogue(ActivationFunction activate) {
    return {on_device(wide_bias), activate, NarrowBias(View<const Result>(on_device(bias)))};
  }
  gpu::BlockProductRequest request(const Stored& stored, ActivationFunction activate) {
    return {.rows = x.rows(),
            .columns = stored.shape[1],
            .features = stored.shape[0],
            .x = x.data(),
            .x_stride = stored.shape[1],
            .weight = stored.bytes.data(),
            .epilogue = epilogue(activate),
            .result = gpu::library_dtype<Result>(),
            .out = out.data(),
            .out_stride = stored.shape[0]};
  }
};

}  // namespace

TEST_CASE("panels of blocks are decoded to the operands that the library multiplies", "[library][blocks]") {
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      const std::int64_t columns = 2 * dtype_traits<Format>::values_per_block;
      const Stored stored(format.info.name, 40, columns, 1);
      const auto check = [&]<class Operand, class Result>(Operand, Result) {
        CAPTURE(format.info.name);
        HostTensor<Operand> dense(stored.shape);
        for (std::int64_t i = 0; i < dense.elements(); ++i)
          dense.data()[i] = convert_value<Operand>(stored.values.data()[i]);
        for (const ActivationFunction activate : {ActivationFunction::none, ActivationFunction::gelu_tanh}) {
          HostLibrary host;
          const gpu::LibraryScope scope(host.library());
          Run<Operand, Result> run(5, stored.shape), whole(5, stored.shape);
          REQUIRE(gpu::multiply_decoded_panels<Format, Operand, Result>(run.request(stored, activate), 16,
                                                                        gpu::Stream{}));
          REQUIRE(host.multiplied.size() == 3);  // of 16, 16 and 8 features
          CHECK(host.multiplied[2].features == 8);
          using Types = OpDtypes<Operand, Operand, f32, NoDtype, Result>;
          REQUIRE(gpu::multiply_by_library<Types, Operand>(
              on_device(whole.x), gpu::PackedWeight<Operand>::template borrowed<Types>(on_device(dense)),
              whole.epilogue(activate), {}, on_device(whole.out), gpu::Stream{}));
          CHECK(same_bits(run.out, whole.out));
        }
      };
      check(bf16{}, bf16{});
      check(f16{}, f32{});
      check(f32{}, f32{});
    });
}

TEST_CASE("many rows go to the library in panels, and fewer, or what it has no code for, do not",
          "[library][blocks]") {
  const Stored stored("q8_0", 24, 32, 1);
  const auto kernels = [&](std::int64_t rows, ActivationFunction activate, HostLibrary* host,
                           bool has_narrow_bias = true) {
    const gpu::LibraryScope scope(host ? host->library() : gpu::ProductLibrary{});
    Run<bf16, bf16> run(rows, stored.shape);
    auto request = run.request(stored, activate);
    if (!has_narrow_bias) request.epilogue.narrow_bias = {};
    const simt::Session session;
    gpu::multiply_blocks<q8_0, bf16>(request, gpu::Stream{});
    const auto expected =
        expected_products<precisions<Policy<Storage<bf16>>, Matmul>>(run.x, stored.values, run.wide_bias);
    CHECK(expected.outside(run.out, activate) == "");
    std::vector<std::string> names;
    for (const simt::LaunchRecord& launch : session.launches()) names.push_back(launch.kernel);
    return names;
  };
  constexpr auto none = ActivationFunction::none;
  constexpr std::int64_t many = gpu::max_skinny_rows + 1;
  const std::string few = "block_gemv", tiled = "block_matmul", decode = "decode_panel";
  using Names = std::vector<std::string>;
  HostLibrary host;
  CHECK(kernels(many, none, &host) == Names{decode});
  CHECK(host.multiplied.size() == 1);
  CHECK(kernels(gpu::max_skinny_rows, none, &host) == Names{few});
  CHECK(kernels(many, ActivationFunction::silu, &host) == Names{tiled});
  CHECK(kernels(many, none, &host, false) == Names{tiled});
  CHECK(kernels(many, none, nullptr) == Names{tiled});
  CHECK(host.multiplied.size() == 1);
  host.has_code = false;
  CHECK(kernels(many, none, &host) == Names{decode, tiled});
  host.has_code = true;
  host.multiplies = false;
  CHECK(kernels(many, none, &host).back() == tiled);
}

namespace {

/// The kernels of x, whose rows may lie anyhow, times a weight in blocks. Results are checked.
std::vector<std::string> kernels_for(const HostView<const bf16>& x, std::int64_t features) {
  const Stored stored("q8_0", features, x.columns(), 1);
  Run<bf16, bf16> run(x.shape()[0], stored.shape);
  auto request = run.request(stored, ActivationFunction::none);
  request.rows = run.out.rows();  // of no columns a view has no rows
  request.x = x.data();
  request.x_stride = x.row_stride();
  const simt::Session session;
  gpu::multiply_blocks<q8_0, bf16>(request, gpu::Stream{});
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  const auto same = [](bf16 a, bf16 b) { return to_double(a) == to_double(b); };
  if (x.columns() != 0)
    CHECK(expected_products<Types>(x, stored.values, run.wide_bias).outside(run.out) == "");
  else
    for (std::int64_t r = 0; r < run.out.rows(); ++r)
      CHECK(std::ranges::equal(run.out.view().row(r), run.bias.values(), same));
  std::vector<std::string> names;
  for (const simt::LaunchRecord& launch : session.launches()) names.push_back(launch.kernel);
  return names;
}

}  // namespace

TEST_CASE("panels are multiplied with rows that begin off the multiples of 16 bytes", "[library][blocks]") {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto longer = random_tensor<bf16>({gpu::max_skinny_rows + 1, 40}, 4);
  CHECK(kernels_for(longer.view().columns_between(1, 32), 20) == std::vector<std::string>{"decode_panel"});
  REQUIRE(host.multiplied.size() == 1);
  CHECK(host.multiplied[0].x.rows.alignment == 2);
  CHECK(host.multiplied[0].out.rows.alignment == 8);
}

TEST_CASE("nothing is decoded for rows that lie over each other, or of no columns", "[library][blocks]") {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  constexpr std::int64_t rows = gpu::max_skinny_rows + 1;
  const auto values = random_tensor<bf16>({rows, 32}, 4);
  for (const auto& x : {HostView<const bf16>(values.data(), Shape{rows, 32}, 8),
                        HostView<const bf16>(values.view().columns_between(0, 0))})
    CHECK(kernels_for(x, 24) == std::vector<std::string>{"block_matmul"});
  CHECK(host.multiplied.empty());
}

TEST_CASE("a panel is whole tiles of features, and no larger than it may be", "[blocks]") {
  CHECK(gpu::features_in_panel<bf16>(3072, 3072) == 3072);
  CHECK(gpu::features_in_panel<bf16>(12288, 3072) == 5376);
  CHECK(gpu::features_in_panel<f32>(12288, 3072) == 2688);
  CHECK(gpu::features_in_panel<bf16>(12288, std::int64_t{1} << 30) == 128);
  CHECK(gpu::features_in_panel<bf16>(40, 0) == 40);
}

TEST_CASE("proof of panels of blocks of a file", "[matmul][blocks][proof]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const Stored stored("q4_0", 32, 96, 1);
  const auto x = random_integers<bf16>({3, 96}, 2);
  const auto expected = expected_products<Types>(x, stored.values, HostTensor<f32>());
  check_proof("panels of blocks of a file", [&] {
    Run<bf16, bf16> run(3, stored.shape);
    std::ranges::copy(x.values(), run.x.data());
    auto request = run.request(stored, ActivationFunction::none);
    request.epilogue = {};
    return gpu::multiply_decoded_panels<q4_0, bf16, bf16>(request, 16, gpu::Stream{}) &&
           expected.outside(run.out).empty();
  });
}
