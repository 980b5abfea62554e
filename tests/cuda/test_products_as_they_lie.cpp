// Products of gradients by the library, which reads both sides as they lie.
#include <cstdint>
#include <type_traits>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <cuda/product_runs.hpp>
#include <simt/session.hpp>

#include <precast/cuda/matmul/product_gradient.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Whole numbers, whose products and sums are exact in any order.
template <class T>
struct Sides {
  HostTensor<T> left, by_rows, right;
  Sides(std::int64_t depth, std::int64_t rows, std::int64_t columns)
      : left(random_integers<T>({depth, rows}, 1)),
        by_rows(random_integers<T>({rows, depth}, 2)),
        right(random_integers<T>({depth, columns}, 3)) {}
};

template <class Types, class T>
HostTensor<typename Types::result> multiplied(const Sides<T>& sides) {
  auto out = not_written<typename Types::result>({sides.by_rows.rows(), sides.right.columns()});
  gpu::multiply<Types, T, T>(on_device(sides.by_rows), on_device(sides.right), on_device(out), gpu::Stream{});
  return out;
}
template <class Types, class T>
HostTensor<typename Types::result> summed_over_rows(const Sides<T>& sides, bool accumulate) {
  auto out = random_integers<typename Types::result>({sides.left.columns(), sides.right.columns()}, 4);
  gpu::multiply_over_rows<Types, T, T>(on_device(sides.left), on_device(sides.right),
                                       GradientOptions{.accumulate = accumulate}, on_device(out),
                                       gpu::Stream{});
  return out;
}

/// What library and our own kernels make of the same sides.
template <class Types, class T>
void check_both(const Sides<T>& sides, HostLibrary& host) {
  const auto without = [&](auto&& run) {
    const gpu::LibraryScope scope(gpu::ProductLibrary{});
    return run();
  };
  const auto by = [&](auto&& run) {
    const gpu::LibraryScope scope(host.library());
    return run();
  };
  const auto products = [&] { return multiplied<Types>(sides); };
  CHECK(same_bits(by(products), without(products)));
  for (const bool accumulate : {false, true}) {
    CAPTURE(accumulate);
    const auto sums = [&] { return summed_over_rows<Types>(sides, accumulate); };
    CHECK(same_bits(by(sums), without(sums)));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("cuda: the library multiplies gradients' sides as they lie", "[library][gradients]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>,
                   (Policy<Storage<f32>, Compute<bf16>>), (Policy<Storage<bf16>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  HostLibrary host;
  check_both<Types>(Sides<typename Types::result>(16, 24, 40), host);
  REQUIRE(host.multiplied.size() == 3);
  CHECK_FALSE(host.multiplied[0].x_transposed);
  for (const gpu::ProductRequest& product : host.multiplied) {
    CHECK(product.weight_transposed);
    CHECK(product.columns == 16);
    CHECK(product.features == 40);
  }
  CHECK(host.multiplied[1].x_transposed);
  CHECK_FALSE(host.multiplied[1].has_residual);
  CHECK(host.multiplied[2].residual == host.multiplied[2].out);
  // A result is rounded once, to what it is stored as.
  for (const gpu::ProductRequest& product : host.multiplied)
    CHECK(product.result == gpu::library_dtype<typename Types::result>());
}

TEST_CASE("cuda: nothing is transposed or added in a pass of its own where the library reads as it lies",
          "[library][gradients]") {
  using Types = precisions<Policy<Storage<f32>>, Matmul>;
  const Sides<f32> sides(16, 24, 40);
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const simt::Session session;
  (void)summed_over_rows<Types>(sides, true);
  (void)multiplied<Types>(sides);
  CHECK(session.launches().empty());
}

TEST_CASE("cuda: sides that the library does not read as they lie are transposed", "[library][gradients]") {
  HostLibrary host;
  check_both<precisions<Policy<Storage<f32>, Compute<tf32>>, Matmul>>(Sides<f32>(16, 24, 40), host);
  REQUIRE(host.multiplied.size() == 3);
  for (const gpu::ProductRequest& product : host.multiplied) {
    CHECK_FALSE(product.x_transposed);
    CHECK_FALSE(product.weight_transposed);
  }
  host.multiplied.clear();
  check_both<precisions<Policy<Storage<bf16>>, Matmul>>(Sides<bf16>(16, 24, 37), host);  // rows of 74 bytes
  CHECK(host.multiplied.empty());
  host.multiplies = false;  // as cuBLASLt may, only when it is called
  check_both<precisions<Policy<Storage<bf16>>, Matmul>>(Sides<bf16>(16, 24, 40), host);
  for (const gpu::ProductRequest& product : host.multiplied) CHECK(product.columns == 16);
}
