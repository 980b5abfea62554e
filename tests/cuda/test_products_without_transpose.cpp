// Products of gradients by the library, which reads both sides as they lie.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <cuda/product_runs.hpp>
#include <simt/session.hpp>

#include <precast/cuda/matmul/product_gradient.hpp>
#include <precast/cuda/runtime/own_stream.hpp>

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

/// A matrix within rows that are longer, from `first` on; what surrounds it is NaN.
template <class T>
struct Part {
  HostTensor<T> whole;
  HostView<T> view;
  Part(const HostTensor<T>& matrix, std::int64_t first, std::int64_t after)
      : whole(not_written<T>({matrix.rows(), first + matrix.columns() + after})),
        view(whole.view().columns_between(first, matrix.columns())) {
    for (std::int64_t r = 0; r < matrix.rows(); ++r)
      std::ranges::copy(matrix.view().row(r), view.row(r).begin());
  }
  DeviceView<const T> device() const { return on_device(HostView<const T>(view)); }
  bool holds(const HostTensor<T>& matrix) const {
    for (std::int64_t r = 0; r < matrix.rows(); ++r)
      if (!std::ranges::equal(matrix.view().row(r), view.row(r),
                              [](T a, T b) { return to_double(a) == to_double(b); }))
        return false;
    const auto numbers = std::ranges::count_if(whole.values(), [](T v) { return !std::isnan(to_double(v)); });
    return numbers == matrix.elements();
  }
};

/// At which value of longer rows each matrix begins.
struct Begin {
  std::int64_t left, right, out;
};
/// Of parts of longer rows the library makes what our own kernels make of the same values.
template <class Types, class T>
void check_parts(const Sides<T>& sides, const Begin& begin, HostLibrary& host) {
  using Result = typename Types::result;
  CAPTURE(begin.left, begin.right, begin.out);
  const Part<T> left(sides.left, begin.left, 24 - begin.left),
      by_rows(sides.by_rows, begin.left, 32 - begin.left), right(sides.right, begin.right, 16 - begin.right);
  const gpu::LibraryScope without(gpu::ProductLibrary{});
  const auto check = [&](const HostTensor<Result>& start, const HostTensor<Result>& expected, auto&& run) {
    Part<Result> out(start, begin.out, 40 - begin.out);
    const gpu::LibraryScope scope(host.library());
    run(on_device(out.view));
    CHECK(out.holds(expected));
  };
  const auto products = multiplied<Types>(sides);
  check(HostTensor<Result>(products.shape()), products, [&](const DeviceView<Result>& out) {
    gpu::multiply<Types, T, T>(by_rows.device(), right.device(), out, gpu::Stream{});
  });
  const auto start = random_integers<Result>({sides.left.columns(), sides.right.columns()}, 4);
  for (const bool accumulate : {false, true})
    check(start, summed_over_rows<Types>(sides, accumulate), [&](const DeviceView<Result>& out) {
      gpu::multiply_over_rows<Types, T, T>(left.device(), right.device(),
                                           GradientOptions{.accumulate = accumulate}, out, gpu::Stream{});
    });
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
  CHECK(host.multiplied[2].residual.data == host.multiplied[2].out.data);
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

TEMPLATE_TEST_CASE("cuda: sides and results may be parts of longer rows", "[library][gradients]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, (Policy<Storage<bf16>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using T = typename Types::result;
  HostLibrary host;
  const auto without_transpose = [&] {
    return std::ranges::count_if(host.multiplied, &gpu::ProductRequest::weight_transposed);
  };
  const Sides<T> sides(16, 24, 40);
  check_parts<Types>(sides, {0, 0, 0}, host);
  CHECK(without_transpose() == 3);
  for (const Begin& begin : {Begin{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    host.multiplied.clear();
    check_parts<Types>(sides, begin, host);
    CHECK(without_transpose() == 3);
  }
  // Rows that are no multiples of 16 bytes.
  host.multiplied.clear();
  check_parts<Types>(Sides<T>(13, 19, 40), {0, 0, 0}, host);
  CHECK(without_transpose() == 3);
}

TEMPLATE_TEST_CASE("cuda: the products of a vocabulary off the multiples of 8 are the library's",
                   "[library][gradients]", f32, bf16, f16) {
  using T = TestType;
  using Types = precisions<Policy<Storage<T>>, Matmul>;
  constexpr std::int64_t rows = 24, width = 32, vocabulary = 97;
  const auto x = random_integers<T>({rows, width}, 1), weight = random_integers<T>({vocabulary, width}, 2),
             dy = random_integers<T>({rows, vocabulary}, 3);
  HostLibrary host;
  /// What the library makes, which is what our own kernels make, and how it is told that matrices are
  /// aligned.
  const auto told = [&](const Shape& shape, auto&& multiply) {
    const auto run = [&](const gpu::ProductLibrary& library) {
      const gpu::LibraryScope scope(library);
      auto out = not_written<T>(shape);
      multiply(on_device(out));
      return out;
    };
    host.multiplied.clear();
    CHECK(same_bits(run(host.library()), run(gpu::ProductLibrary{})));
    REQUIRE(host.multiplied.size() == 1);
    const gpu::ProductRequest& product = host.multiplied[0];
    return std::array{product.x.rows.alignment, product.weight.rows.alignment, product.out.rows.alignment};
  };
  constexpr std::uint32_t odd = sizeof(T);
  const auto logits = told({rows, vocabulary}, [&](const DeviceView<T>& out) {
    gpu::matmul_transposed<Types, T>(on_device(x), on_device(weight), Epilogue{}, out, gpu::Stream{});
  });
  CHECK(logits == std::array<std::uint32_t, 3>{16, 16, odd});
  const auto dx = told({rows, width}, [&](const DeviceView<T>& out) {
    gpu::multiply<Types, T, T>(on_device(dy), on_device(weight), out, gpu::Stream{});
  });
  CHECK(dx == std::array<std::uint32_t, 3>{odd, 16, 16});
  const auto dw = told({vocabulary, width}, [&](const DeviceView<T>& out) {
    gpu::multiply_over_rows<Types, T, T>(on_device(dy), on_device(x), {}, out, gpu::Stream{});
  });
  CHECK(dw == std::array<std::uint32_t, 3>{odd, 16, 16});
}

TEST_CASE("cuda: a gradient of no rows, and of a library without code, is ours", "[library][gradients]") {
  HostLibrary host;
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  check_both<Types>(Sides<bf16>(0, 24, 40), host);
  host.has_code = false;
  check_both<Types>(Sides<bf16>(16, 24, 40), host);
  CHECK(host.multiplied.empty());
}

TEST_CASE("cuda: the library is not given one row of a stride that is shorter than the row",
          "[library][gradients]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  const Sides<bf16> sides(1, 24, 40);
  const auto repeated = [](const HostTensor<bf16>& row) {
    return on_device(HostView<const bf16>(row.data(), row.shape(), 0));
  };
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto expected = summed_over_rows<Types>(sides, false);
  REQUIRE(host.multiplied.size() == 1);
  HostTensor<bf16> out({24, 40});
  gpu::multiply_over_rows<Types, bf16, bf16>(repeated(sides.left), repeated(sides.right), {}, on_device(out),
                                             gpu::Stream{});
  CHECK(same_bits(out, expected));
  for (const gpu::ProductRequest& product : host.multiplied) {
    CHECK(product.x.rows.stride >= (product.x_transposed ? product.rows : product.columns));
    CHECK(product.weight.rows.stride >= (product.weight_transposed ? product.features : product.columns));
  }
}

TEST_CASE("cuda: a dry run counts what gradients take in the library's products", "[library][gradients]") {
  using Types = precisions<Policy<Storage<bf16>, Activation<f32>>, Matmul>;
  const Sides<f32> sides(16, 24, 40);
  HostLibrary host;
  host.workspace_bytes = 300'000;
  const gpu::LibraryScope scope(host.library());
  HostTensor<f32> out({24, 40});
  const auto run = [&](gpu::Stream stream) {
    gpu::multiply<Types, f32, f32>(on_device(sides.by_rows), on_device(sides.right), on_device(out), stream);
    gpu::multiply_over_rows<Types, f32, f32>(on_device(sides.left), on_device(sides.right),
                                             GradientOptions{.accumulate = true}, on_device(out), stream);
  };
  const std::int64_t counted = [&] {
    DryRun dry(DryRun::Counts::device_memory);
    run(gpu::current_stream());
    return dry.peak();
  }();
  CHECK(host.multiplied.empty());
  const gpu::OwnStream stream;
  const std::int64_t before = gpu::memory_use().in_use;
  gpu::reset_peak_memory();
  run(gpu::current_stream());
  CHECK(gpu::memory_use().peak - before == counted);
  REQUIRE(host.multiplied.size() == 2);
  for (const gpu::ProductRequest& product : host.multiplied) {
    CHECK(product.workspace);
    CHECK(product.workspace_bytes == 300'000);
  }
}

TEST_CASE("cuda: sides that the library does not read as they lie are transposed", "[library][gradients]") {
  HostLibrary host;
  check_both<precisions<Policy<Storage<f32>, Compute<tf32>>, Matmul>>(Sides<f32>(16, 24, 40), host);
  REQUIRE(host.multiplied.size() == 3);
  for (const gpu::ProductRequest& product : host.multiplied) {
    CHECK_FALSE(product.x_transposed);
    CHECK_FALSE(product.weight_transposed);
  }
  host.multiplies = false;  // as cuBLASLt may, only when it is called
  check_both<precisions<Policy<Storage<bf16>>, Matmul>>(Sides<bf16>(16, 24, 40), host);
  for (const gpu::ProductRequest& product : host.multiplied) CHECK(product.columns == 16);
}
