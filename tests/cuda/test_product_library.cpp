// What is given to the library of products, and what is not.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <cuda/product_runs.hpp>
#include <simt/session.hpp>

#include <precast/cuda/matmul/multiply_in_parts.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/cuda/runtime/shared_library.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/linear.hpp>

#if __has_include(<cublasLt.h>)
#include <precast/cuda/matmul/cublaslt_plan.hpp>
#endif

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("cuda: the library multiplies its dtypes, with bias, gelu and residual", "[library]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>,
                   (Policy<Storage<f32>, Compute<tf32>>), (Policy<Storage<bf16>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using Operand = gpu::HeldDtype<typename Types::operand>;
  using T = typename Types::result;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<Operand>({20, 64}, 1);
  const auto weight = random_tensor<typename Types::storage>({40, 64}, 2, 0.2),
             bias = random_tensor<typename Types::storage>({40}, 3);
  const auto expected = expected_products<Types>(x, weight, bias);
  REQUIRE(expected.outside(product<Types>(x, weight, bias)) == "");
  REQUIRE(host.multiplied.size() == 1);
  REQUIRE(host.multiplied[0].operand == gpu::library_dtype<typename Types::operand>());
  REQUIRE(expected.outside(product<Types>(x, weight, bias, ActivationFunction::gelu_tanh),
                           ActivationFunction::gelu_tanh) == "");
  REQUIRE(host.multiplied.size() == 2);
  // Its gelu is too coarse for operands of f32; what follows results of f32 in a pass of its own rounds once.
  REQUIRE(host.multiplied[1].gelu_tanh == !std::is_same_v<typename Types::operand, f32>);

  auto out = random_integers<T>({20, 40}, 3);
  const auto residual = wide(out);
  const auto integers = random_integers<Operand>({20, 64}, 4);
  const auto integer_weight = random_integers<typename Types::storage>({40, 64}, 5);
  const auto sums =
      expected_products<Types>(integers, integer_weight, HostTensor<typename Types::storage>()).values();
  gpu::matmul_transposed_with<Types, Operand>({.residual = on_device(out)}, on_device(integers),
                                              on_device(integer_weight), {}, on_device(out));
  REQUIRE(host.multiplied.size() == 3);
  for (std::size_t i = 0; i < sums.size(); ++i)
    REQUIRE(to_double(out.data()[i]) == to_double(from_double<T>(sums[i] + residual[i])));

  // Ours: few rows, what the library has no epilogue for where results are narrow, and what it refuses.
  const HostView<const Operand> few = x.view().rows_between(0, 8);
  REQUIRE(product<Types>(few, weight, bias).rows() == 8);
  for (const ActivationFunction activate : {ActivationFunction::gelu_erf, ActivationFunction::quick_gelu,
                                            ActivationFunction::silu, ActivationFunction::relu})
    REQUIRE(expected.outside(product<Types>(x, weight, bias, activate), activate) == "");
  const std::size_t multiplied = std::is_same_v<T, f32> ? 7 : 3;
  REQUIRE(host.multiplied.size() == multiplied);
  host.has_code = false;
  REQUIRE(expected.outside(product<Types>(x, weight, bias)) == "");
  REQUIRE(host.multiplied.size() == multiplied);
}

TEMPLATE_TEST_CASE("cuda: the library is told of rows that begin off the multiples of 16 bytes", "[library]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>,
                   (Policy<Storage<f32>, Compute<tf32>>), (Policy<Storage<bf16>, Compute<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using Operand = gpu::HeldDtype<typename Types::operand>;
  using S = typename Types::storage;
  using T = typename Types::result;
  constexpr bool in_parts = gpu::multiplies_in_parts<Types, Operand>;
  constexpr bool x_is_copied = in_parts || std::is_same_v<typename Types::operand, tf32>,
                 weight_is_copied = std::is_same_v<typename Types::operand, tf32>;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  // Two values are on 4 bytes or 8, 40 on 16; all of them also from the second of a row on.
  const auto x = random_integers<Operand>({20, 66}, 1);
  const auto weight = random_integers<S>({38, 66}, 2);
  const auto residual = random_integers<T>({20, 40}, 3);
  for (const std::int64_t first : {0, 1}) {
    CAPTURE(first);
    const auto columns = 65 - first;
    const auto part = x.view().columns_between(first, columns);
    const auto features = weight.view().columns_between(first, columns);
    HostTensor<S> narrow({38, columns});
    for (std::int64_t r = 0; r < 38; ++r) std::ranges::copy(features.row(r), narrow.view().row(r).begin());
    const auto sums = expected_products<Types>(part, narrow, HostTensor<S>()).values();
    auto out = not_written<T>({20, 40});
    const auto results = out.view().columns_between(first, 38);
    const auto added = residual.view().columns_between(2, 38);
    host.multiplied.clear();
    gpu::matmul_transposed_with<Types, Operand>({.residual = on_device(added)}, on_device(part),
                                                on_device(features), {}, on_device(results));
    REQUIRE(host.multiplied.size() == (in_parts ? 3 : 1));
    for (std::int64_t r = 0; r < 20; ++r)
      for (std::int64_t f = 0; f < 38; ++f)
        REQUIRE(to_double(results.row(r)[static_cast<std::size_t>(f)]) ==
                to_double(from_double<T>(sums[static_cast<std::size_t>(r * 38 + f)] +
                                         to_double(added.row(r)[static_cast<std::size_t>(f)]))));
    // Rows of 66 values are apart by multiples of two, those of 40 by multiples of 16 bytes.
    const auto values = [](std::size_t count, std::size_t bytes) {
      return static_cast<std::uint32_t>(count * bytes);
    };
    const gpu::ProductRequest& told = host.multiplied[0];
    CHECK(told.x.rows.alignment == (x_is_copied ? 16 : values(first ? 1 : 2, sizeof(Operand))));
    CHECK(told.weight.rows.alignment == (weight_is_copied ? 16 : values(first ? 1 : 2, sizeof(S))));
    CHECK(told.out.rows.alignment == (first ? values(1, sizeof(T)) : 16));
    CHECK(told.residual.rows.alignment == values(2, sizeof(T)));
    if (in_parts) CHECK(host.multiplied[1].residual.rows == told.out.rows);
  }
}

TEMPLATE_TEST_CASE("cuda: the library multiplies f32 by a narrow weight in three parts, as exactly as f32",
                   "[library]", (Policy<Storage<bf16>, Compute<f32>>),
                   (Policy<Storage<fp8_e5m2>, Compute<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  for (const double size : {1e-30, 1.0, 1e30}) {
    const auto x = random_tensor<f32>({20, 72}, 1, size);
    const auto weight = random_tensor<S>({40, 72}, 2, 0.2), bias = random_tensor<S>({40}, 3);
    const auto expected = expected_products<Types>(x, weight, bias);
    host.multiplied.clear();
    CHECK(expected.outside(product<Types>(x, weight, bias)) == "");
    REQUIRE(host.multiplied.size() == 3);
    for (const gpu::ProductRequest& part : host.multiplied)
      CHECK((part.operand == gpu::LibraryDtype::bf16 && part.result == gpu::LibraryDtype::f32));
    const simt::Session without({.planted = simt::KernelFault{"part_of_rows", "part of a row"}});
    CHECK(expected_products<Types>(x, weight, HostTensor<S>())
              .outside(product<Types>(x, weight, HostTensor<S>())) != "");
  }
  // What is not finite stays what it is, the residual may be the result, and activations come last.
  auto x = random_integers<f32>({20, 72}, 4);
  const auto weight = filled<S>({40, 72}, 1);
  x.data()[0] = std::numeric_limits<f32>::infinity();
  x.data()[72] = std::nanf("1");
  auto out = random_integers<f32>({20, 40}, 3);
  const auto residual = wide(out), sums = expected_products<Types>(x, weight, HostTensor<S>()).values();
  gpu::matmul_transposed_with<Types, f32>({.residual = on_device(out)}, on_device(x), on_device(weight), {},
                                          on_device(out));
  for (std::size_t i = 80; i < sums.size(); ++i) CHECK(to_double(out.data()[i]) == sums[i] + residual[i]);
  CHECK(out.data()[0] == std::numeric_limits<f32>::infinity());
  CHECK(std::isnan(out.data()[40]));
  const auto positive = product<Types>(x, weight, HostTensor<S>(), ActivationFunction::relu);
  for (std::size_t i = 80; i < sums.size(); ++i)
    CHECK(to_double(positive.data()[i]) == std::max(sums[i], 0.0));
}

TEST_CASE("cuda: a product in parts of which the library has not all is ours", "[library]") {
  using Types = precisions<Policy<Storage<bf16>, Compute<f32>>, Matmul>;
  HostLibrary host;
  const auto x = random_tensor<f32>({20, 72}, 1);
  const auto weight = random_tensor<bf16>({40, 72}, 2), bias = random_tensor<bf16>({40}, 3);
  const auto expected = expected_products<Types>(x, weight, bias);
  const auto last = [](const gpu::ProductRequest& part) { return part.has_bias && part.has_residual; };
  gpu::ProductLibrary library = host.library();
  library.has_code = [&](const gpu::ProductRequest& part) { return !last(part); };
  {
    const gpu::LibraryScope scope(library);
    CHECK(expected.outside(product<Types>(x, weight, bias)) == "");
    CHECK(host.multiplied.empty());
  }
  library = host.library();  // it refuses only when it is called
  library.multiply = [&, multiply = library.multiply](const gpu::ProductRequest& part, gpu::Stream stream) {
    return !last(part) && multiply(part, stream);
  };
  const gpu::LibraryScope scope(library);
  CHECK(expected.outside(product<Types>(x, weight, bias)) == "");
  CHECK(host.multiplied.size() == 2);
}

// A policy whose results are f32 shows what the library's gelu lacks, of values that bf16 and f16 hold too.
TEMPLATE_TEST_CASE("cuda: gelu of 16-bit values in f32 is the library's only where results are as narrow",
                   "[library]", bf16, f16) {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<TestType>({20, 64}, 1), weight = random_tensor<TestType>({40, 64}, 2, 0.2);
  const auto multiply = [&]<class Result>(Result) {
    using Types = OpDtypes<TestType, f32, f32, NoDtype, Result>;
    const auto expected = expected_products<Types>(x, weight, HostTensor<TestType>());
    const auto out = product<Types>(x, weight, HostTensor<TestType>(), ActivationFunction::gelu_tanh);
    CHECK(expected.outside(out, ActivationFunction::gelu_tanh) == "");
    CHECK(host.multiplied.back().operand == gpu::library_dtype<TestType>());
    return host.multiplied.back().gelu_tanh;
  };
  CHECK_FALSE(multiply(f32{}));
  CHECK(multiply(TestType{}));
}

TEMPLATE_TEST_CASE("cuda: a weight of another dtype is rounded for the library where rows are many",
                   "[library]", (Policy<Storage<f32>, Compute<bf16>, Activation<f32>>),
                   (Policy<Storage<fp8_e4m3>, Compute<f16>>)) {
  using Types = precisions<TestType, Matmul>;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  for (const std::int64_t rows : {255, 256}) {
    CAPTURE(rows);
    const auto x = random_tensor<typename Types::result>({rows, 24}, 1);
    const auto weight = random_tensor<typename Types::storage>({16, 24}, 2, 0.2),
               bias = random_tensor<typename Types::storage>({16}, 3);
    CHECK(expected_products<Types>(x, weight, bias).outside(product<Types>(x, weight, bias)) == "");
    CHECK(host.multiplied.size() == (rows == 256 ? 1 : 0));
  }
}

TEST_CASE("cuda: a bias that results cannot hold is added by our kernel", "[library]") {
  using Types = precisions<Policy<Storage<f32>, Compute<bf16>, Activation<bf16>>, Matmul>;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<bf16>({256, 24}, 1);
  const auto weight = random_tensor<f32>({16, 24}, 2, 0.2), bias = random_tensor<f32>({16}, 3);
  CHECK(expected_products<Types>(x, weight, bias).outside(product<Types>(x, weight, bias)) == "");
  CHECK(host.multiplied.empty());
  CHECK(expected_products<Types>(x, weight, HostTensor<f32>())
            .outside(product<Types>(x, weight, HostTensor<f32>())) == "");
  CHECK(host.multiplied.size() == 1);
}

TEMPLATE_TEST_CASE("cuda: what a library works in is counted, and a dry run counts the same", "[library]",
                   (Policy<Storage<bf16>>), (Policy<Storage<bf16>, Compute<f32>>)) {
  using P = TestType;
  using A = typename P::activation;
  HostLibrary host;
  host.workspace_bytes = 300'000;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<A>({20, 64}, 1);
  const auto values = random_tensor<bf16>({40, 64}, 2, 0.2);
  const auto run = [&] {
    const LinearWeight<P> weight(values);
    for (int i = 0; i < 3; ++i) (void)linear<P>(Tensor<A>(x.shape(), x.values()), weight);
  };
  const auto counted = [&] {
    DryRun dry(DryRun::Counts::device_memory);
    run();
    return dry.peak();
  };
  const std::int64_t with_workspace = counted();
  std::int64_t before = 0, taken = 0, after = 0;
  {
    const gpu::OwnStream stream;
    before = gpu::memory_use().in_use;
    gpu::reset_peak_memory();
    run();
    taken = gpu::memory_use().peak - before;
    // It is kept for the stream's next product, and goes with the stream.
    CHECK(gpu::memory_use().in_use - before == 300'000);
  }
  after = gpu::memory_use().in_use;
  CHECK(after == before);
  CHECK(with_workspace == taken);
  host.workspace_bytes = 0;
  const gpu::LibraryScope without(host.library());
  CHECK(counted() == with_workspace - 300'000);
}

TEST_CASE("cuda: a product that the library refuses only when it is called is ours", "[library]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  HostLibrary host;
  host.multiplies = false;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<bf16>({20, 64}, 1), weight = random_tensor<bf16>({40, 64}, 2, 0.2),
             bias = random_tensor<bf16>({40}, 3);
  CHECK(expected_products<Types>(x, weight, bias).outside(product<Types>(x, weight, bias)) == "");
  CHECK(host.multiplied.size() == 1);
}

TEMPLATE_TEST_CASE("cuda: x is rounded for the library", "[library]", Policy<Storage<bf16>>,
                   (Policy<Storage<f32>, Compute<tf32>>), Policy<Storage<fp8_e4m3>>) {
  using Types = precisions<TestType, Matmul>;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto wide_x = random_tensor<f32>({20, 70}, 1);
  const auto x = wide_x.view().columns_between(3, 60);
  const auto weight = random_tensor<typename Types::storage>({40, 64}, 2, 0.2);
  HostTensor<typename Types::result> out({20, 40});
  HostTensor<typename Types::storage> narrow({40, 60});
  for (std::int64_t r = 0; r < 40; ++r)
    std::ranges::copy(weight.view().row(r).first(60), narrow.view().row(r).begin());
  const auto weight_view = weight.view().columns_between(0, 60);
  gpu::matmul_transposed<Types, f32>(on_device(x), on_device(weight_view), {}, on_device(out), gpu::Stream{});
  REQUIRE(host.multiplied.size() == 1);
  REQUIRE(expected_products<Types>(x, narrow, HostTensor<typename Types::storage>()).outside(out) == "");
}

TEMPLATE_TEST_CASE("cuda: a layer's weight and bias lie as the library takes them", "[library]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>,
                   (Policy<Storage<f32>, Compute<tf32>>), (Policy<Storage<bf16>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<gpu::HeldDtype<typename Types::operand>>({20, 64}, 1);
  const auto weight = random_tensor<S>({40, 64}, 2, 0.2), bias = random_tensor<S>({40}, 3);
  const LinearWeight<TestType> held(weight, bias.values());
  const Tensor<gpu::HeldDtype<typename Types::operand>> there(x.shape(), x.values());
  // tf32's x is rounded for each product, as results of other ops are.
  const std::size_t launches = std::is_same_v<typename Types::operand, tf32> ? 1 : 0;
  const simt::Session session;
  const auto result = to_host(linear<TestType>(there, held));
  CHECK(expected_products<Types>(x, weight, bias).outside(result) == "");
  CHECK(host.multiplied.size() == 1);
  CHECK(session.launches().size() == launches);
  // The weight itself is there too, for products in f32.
  const auto in_f32 = expected_products<widened_to_f32<Types>>(x, weight, bias);
  Tensor<f32> wide_result({20, 40});
  gpu::matmul_transposed<widened_to_f32<Types>>(as_view(there), held.weight(),
                                                held.epilogue(ActivationFunction::none), wide_result.view());
  CHECK(in_f32.outside(to_host(wide_result)) == "");
}

TEST_CASE("cuda: the library is not asked for dtypes that it does not multiply as the op table says",
          "[library]") {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const auto run = [&]<class P, class X>(P, X) {
    using Types = precisions<P, Matmul>;
    (void)product<Types>(random_tensor<X>({20, 64}, 1), random_tensor<typename Types::storage>({40, 64}, 2));
  };
  run(Policy<Storage<f16>, Compute<bf16>>{}, f16{});                   // weights must be rounded first
  run(Policy<Storage<f32>, Compute<bf16>>{}, f32{});                   // so must these
  run(Policy<Storage<bf16>, Overflow<Saturate>>{}, bf16{});            // it does not clamp
  run(Policy<Storage<fp8_e4m3>, Activation<fp8_e4m3>>{}, fp8_e4m3{});  // it clamps fp8
  run(Policy<Storage<f16>, Accumulate<f16>>{}, f16{});                 // it sums in f32
  run(Policy<Storage<f16>, Activation<bf16>>{}, f16{});                // it knows no such results
  REQUIRE(host.multiplied.empty());
}

TEST_CASE("cuda: the library scales fp8 operands, and is not asked to scale others", "[library]") {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  const HostTensor<f32> scale(Shape{1}, std::vector<f32>{2});
  const auto run = [&]<class T>(T) {
    using Types = precisions<Policy<Storage<T>, Activation<bf16>>, Matmul>;
    HostTensor<bf16> out({20, 32});
    gpu::matmul_transposed_with<Types, T>({.scales = {nullptr, scale.data()}},
                                          on_device(random_integers<T>({20, 32}, 1)),
                                          on_device(random_integers<T>({32, 32}, 2)), {}, on_device(out));
  };
  run(bf16{});
  REQUIRE(host.multiplied.empty());
  run(fp8_e4m3{});
  REQUIRE(host.multiplied.size() == 1);
  REQUIRE(host.multiplied[0].scales.weight == scale.data());
}

TEST_CASE("cuda: the library is not asked for rows that lie over each other", "[library]") {
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  using Types = precisions<Bf16, Matmul>;
  const auto values = random_tensor<bf16>({1, 224}, 1), weight = random_tensor<bf16>({40, 64}, 2, 0.2);
  for (const std::int64_t row_stride : {0, 8}) {  // one row twenty times, and windows over one row
    CAPTURE(row_stride);
    const HostView<const bf16> x(values.data(), Shape{20, 64}, row_stride);
    const auto expected = expected_products<Types>(x, weight, HostTensor<bf16>());
    CHECK(expected.outside(product<Types>(x, weight, HostTensor<bf16>())) == "");
    const HostView<const bf16> weights(values.data(), Shape{20, 64}, row_stride);
    HostTensor<bf16> out(Shape{40, 20});
    gpu::matmul_transposed<Types, bf16>(on_device(weight), on_device(weights), Epilogue{}, on_device(out));
  }
  CHECK(host.multiplied.empty());
  // Copies lie apart.
  using Rounded = precisions<Policy<Storage<f32>, Compute<tf32>>, Matmul>;
  const auto wide = random_integers<f32>({1, 224}, 1), x = random_integers<f32>({40, 64}, 2);
  const HostView<const f32> windows(wide.data(), Shape{20, 64}, 8);
  HostTensor<f32> apart({20, 64}), out({40, 20});
  for (std::int64_t r = 0; r < 20; ++r) std::ranges::copy(windows.row(r), apart.view().row(r).begin());
  gpu::matmul_transposed<Rounded, f32>(on_device(x), on_device(windows), Epilogue{}, on_device(out));
  CHECK(expected_products<Rounded>(x, apart, HostTensor<f32>()).inexact(out) == "");
  CHECK(host.multiplied.size() == 1);
}

#if __has_include(<cublasLt.h>)
TEST_CASE("cuda: products that differ in more than their memory have plans of their own", "[library]") {
  using Request = gpu::ProductRequest;
  const f32 scale = 1;
  const gpu::RowLayout rows{.stride = 64, .alignment = 16};
  const Request product{.operand = gpu::LibraryDtype::bf16,
                        .result = gpu::LibraryDtype::bf16,
                        .rows = 64,
                        .features = 64,
                        .columns = 64,
                        .x = {nullptr, rows},
                        .weight = {nullptr, rows},
                        .out = {nullptr, rows},
                        .has_residual = true,
                        .residual = {nullptr, rows}};
  const auto differs = [&](auto change) {
    Request other = product;
    change(other);
    return gpu::shape_of(other) != gpu::shape_of(product);
  };
  CHECK(differs([](Request& p) { p.operand = gpu::LibraryDtype::f16; }));
  CHECK(differs([](Request& p) { p.result = gpu::LibraryDtype::f32; }));
  for (std::int64_t Request::*const size : {&Request::rows, &Request::features, &Request::columns})
    CHECK(differs([&](Request& p) { p.*size = 72; }));
  for (const gpu::RowLayout other : {gpu::RowLayout{.stride = 72, .alignment = 16}, {64, 2}}) {
    CHECK(differs([&](Request& p) { p.x.rows = other; }));
    CHECK(differs([&](Request& p) { p.weight.rows = other; }));
    CHECK(differs([&](Request& p) { p.out.rows = other; }));
    CHECK(differs([&](Request& p) { p.residual.rows = other; }));
  }
  for (bool Request::*const property : {&Request::x_transposed, &Request::weight_transposed,
                                        &Request::has_bias, &Request::has_residual, &Request::gelu_tanh})
    CHECK(differs([&](Request& p) { p.*property = !(p.*property); }));
  CHECK(differs([&](Request& p) { p.scales.x = &scale; }));
  CHECK(differs([&](Request& p) { p.scales.weight = &scale; }));
  CHECK_FALSE(differs([&](Request& p) { p.x.data = p.weight.data = &scale; }));
}

TEST_CASE("cuda: cuBLASLt is not asked for fp8 off the multiples of 16 bytes", "[library]") {
  using Request = gpu::ProductRequest;
  const auto takes = [](gpu::LibraryDtype operand, auto change) {
    const gpu::RowLayout rows{.stride = 64, .alignment = 16};
    Request product{.operand = operand,
                    .result = gpu::LibraryDtype::bf16,
                    .rows = 20,
                    .features = 64,
                    .columns = 64,
                    .x = {nullptr, rows},
                    .weight = {nullptr, rows},
                    .out = {nullptr, rows},
                    .residual = {nullptr, rows}};
    change(product);
    return gpu::cublaslt_takes(product);
  };
  constexpr auto fp8 = gpu::LibraryDtype::fp8_e4m3, bf16 = gpu::LibraryDtype::bf16;
  CHECK(takes(fp8, [](Request&) {}));
  // There is no residual, whose alignment then says nothing.
  CHECK(takes(fp8, [](Request& p) { p.residual.rows.alignment = 2; }));
  const auto refused = [&](auto change) { return takes(bf16, change) && !takes(fp8, change); };
  CHECK(refused([](Request& p) { p.features = 72; }));
  CHECK(refused([](Request& p) { p.columns = 72; }));
  CHECK(refused([](Request& p) { p.x.rows.alignment = 8; }));
  CHECK(refused([](Request& p) { p.weight.rows.alignment = 8; }));
  CHECK(refused([](Request& p) { p.out.rows.alignment = 8; }));
  CHECK(refused([](Request& p) { p.x.rows = {.stride = 64}; }));  // no alignment is promised
  CHECK(refused([](Request& p) {
    p.has_residual = true;
    p.residual.rows.alignment = 2;
  }));
  CHECK(refused([](Request& p) {
    p.result = gpu::LibraryDtype::f32;
    p.has_bias = true;
  }));
}
#endif

TEST_CASE("cuda: a shared library that is not there says so, and has no functions", "[library]") {
  gpu::SharedLibrary none({"libprecast_none.so.1", "libprecast_none.so"});
  REQUIRE_FALSE(none);
  REQUIRE_THAT(none.problem(),
               Catch::Contains("libprecast_none.so.1") && Catch::Contains("libprecast_none.so:"));
  void (*function)() = nullptr;
  REQUIRE_FALSE(none.find("anything", function));
  gpu::SharedLibrary c({"libprecast_none.so.1", "libc.so.6"});
  REQUIRE(c);
  REQUIRE(c.name() == "libc.so.6");
  int (*write)(const char*) = nullptr;
  REQUIRE(c.find("puts", write));
  REQUIRE_FALSE(c.find("precast_has_no_such_function", function));
  REQUIRE_THAT(c.problem(), Catch::Contains("precast_has_no_such_function"));
}
