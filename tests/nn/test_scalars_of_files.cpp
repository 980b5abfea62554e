// Layers of a policy of f32 whose file has matrices in narrower scalars: they stay as they are, and every
// result has the bits of the same values in f32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/memory_source.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/linear.hpp>

#include "../../examples/extend/e3m4.hpp"

namespace scalars_of_files {
/// A scalar dtype that files have no name for, of as many bytes as f16.
struct e6m9 {
  std::uint16_t bits = 0;
};
}  // namespace scalars_of_files

template <>
struct precast::dtype_traits<scalars_of_files::e6m9> {
  static constexpr std::string_view name = "e6m9";
  static constexpr int values_per_block = 1, bytes_per_block = 2;
  static constexpr precast::FloatFormat format{6, 9};
};

using namespace precast;
using namespace precast::testing;

namespace {

/// A weight in Held, its values in f32, and another weight; each with the same bias.
template <class Held>
MemorySource in_both(const Shape& shape) {
  const auto values = random_tensor<f32>(shape, 1), bias = random_tensor<f32>({shape[0]}, 2);
  std::vector<f32> rounded;
  for (const f32 value : values.values()) rounded.push_back(convert<f32>(convert<Held>(value)));
  MemorySource source;
  source.add<Held>("narrow.weight", shape, rounded);
  source.add<f32>("wide.weight", shape, rounded);
  source.add<f32>("other.weight", shape, random_tensor<f32>(shape, 9).values());
  for (const std::string name : {"narrow", "wide", "other"})
    source.add<f32>(name + ".bias", {shape[0]}, bias.values());
  return source;
}

/// What a load takes.
template <class Load>
std::int64_t memory_of(Load&& load) {
  const std::int64_t before = memory_use().in_use;
  const auto made = load();
  return memory_use().in_use - before;
}

/// `load` loads a layer from a place; `features` times `columns` values of its panels are held.
template <class Held, class Load, class Run>
void check(const MemorySource& source, std::int64_t panel_values, const Load& load, const Run& run) {
  const nn::ParameterPath root(source);
  const auto wide = run(load(root / "wide"));
  CHECK(same_bits(run(load(root / "narrow")), wide));
  CHECK_FALSE(same_bits(run(load(root / "other")), wide));
  const auto narrow_bytes = memory_of([&] { return load(root / "narrow"); });
  CHECK(memory_of([&] { return load(root / "wide"); }) - narrow_bytes ==
        panel_values * static_cast<std::int64_t>(sizeof(f32) - sizeof(Held)));
  DryRun dry;
  const auto described = load(root / "narrow");
  CHECK(dry.in_use() == narrow_bytes);
}

using F32 = Policy<Storage<f32>>;
using OperandsOfBf16 = Policy<Storage<f32>, Compute<bf16>>;
using OperandsOfF16 = Policy<Storage<f32>, Compute<f16>>;

template <class P, class Held>
void check_layers() {
  CAPTURE(dtype_traits<Held>::name);
  // Rows that meet a weight as vectors, as one block and as several; features that end within a panel.
  const MemorySource matrices = in_both<Held>({150, 70});
  for (const std::int64_t rows : {1, 4, 5, 700}) {
    CAPTURE(rows);
    const auto x = random_tensor<typename nn::Linear<P>::Result>({rows, 70}, 3);
    check<Held>(
        matrices, 192 * 80, [](const nn::ParameterPath& place) { return nn::Linear<P>(place, 70, 150); },
        [&](const nn::Linear<P>& layer) { return layer(x); });
  }
  // Pictures that are convolved as patches and in bands; of one pixel a patch, as rows.
  for (const std::int64_t kernel : {1, 3}) {
    const MemorySource kernels = in_both<Held>({64, 32, kernel, kernel});
    for (const std::int64_t side : {9, 40}) {
      CAPTURE(kernel, side);
      const auto x = random_tensor<typename nn::Conv2d<P>::Result>({2, side, side, 32}, 4);
      check<Held>(
          kernels, 64 * 32 * kernel * kernel,
          [&](const nn::ParameterPath& place) { return nn::Conv2d<P>(place, 32, 64, kernel); },
          [&](const nn::Conv2d<P>& layer) { return layer(x); });
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("layers of f32 keep matrices in their file's narrower dtype, with the bits of f32",
                   "[narrow]", F32, OperandsOfBf16, OperandsOfF16) {
  check_layers<TestType, f16>();
  check_layers<TestType, bf16>();
  check_layers<TestType, fp8_e4m3>();
}

TEMPLATE_TEST_CASE("codes of all kinds stay narrow with the bits of f32, at odd sizes", "[narrow]", f16, bf16,
                   fp8_e4m3, fp8_e5m2) {
  // Codes that are far apart, so that subnormals, infinities and NaN are among few of them.
  const auto codes = [](const Shape& shape) {
    std::vector<f32> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const auto code = static_cast<std::uint16_t>(i * 40503);
      TestType value;
      std::memcpy(&value, reinterpret_cast<const std::byte*>(&code) + 2 - sizeof(value), sizeof(value));
      values.push_back(convert<f32>(value));
    }
    return values;
  };
  const auto check_codes = [&](const Shape& shape, const auto& run) {
    MemorySource source;
    source.add<TestType>("narrow.weight", shape, codes(shape));
    source.add<f32>("wide.weight", shape, codes(shape));
    for (const std::string name : {"narrow", "wide"})
      source.add<f32>(name + ".bias", {shape[0]}, random_tensor<f32>({shape[0]}, 2).values());
    const nn::ParameterPath root(source);
    CAPTURE(to_string(shape));
    CHECK(same_bits(run(root / "narrow"), run(root / "wide")));
  };
  for (const std::int64_t features : {1, 17, 65})
    for (const std::int64_t columns : {1, 15, 33})
      for (const std::int64_t rows : {1, 3, 33})
        check_codes({features, columns}, [&](const nn::ParameterPath& place) {
          return nn::Linear<F32>(place, columns, features)(random_tensor<f32>({rows, columns}, 3));
        });
  for (const std::int64_t kernel : {1, 3})
    for (const std::int64_t channels : {1, 17, 33})
      check_codes({channels, channels, kernel, kernel}, [&](const nn::ParameterPath& place) {
        return nn::Conv2d<F32>(place, channels, channels, kernel)(random_tensor<f32>({1, 7, 9, channels}, 4));
      });
}

TEST_CASE("layers of narrow storage round what their file has, as they are loaded", "[narrow]") {
  const MemorySource source = in_both<f16>({64, 32});
  const auto load = [&](const char* name) {
    return nn::Linear<Policy<Storage<bf16>>>(nn::ParameterPath(source) / name, 32, 64);
  };
  CHECK(memory_of([&] { return load("narrow"); }) == memory_of([&] { return load("wide"); }));
}

TEST_CASE("all bytes of a matrix that stays narrow count as taken, at any address", "[narrow]") {
  const MemorySource source = in_both<f16>({65, 32});
  const nn::Linear<F32> layer(nn::ParameterPath(source) / "narrow", 32, 65, nn::Bias::absent);
  CHECK(source.bytes_taken() == std::size_t{65} * 32 * 2);
}

TEMPLATE_TEST_CASE("a program's own narrower dtype is held as it is, with the bits of f32", "[narrow]",
                   extend::e3m4, scalars_of_files::e6m9) {
  const auto check_own = [](const Shape& shape, const auto& load, const auto& load_wide, const auto& run) {
    HostTensor<TestType> narrow(shape);
    HostTensor<f32> wide(shape);
    for (std::int64_t i = 0; i < wide.elements(); ++i) {
      narrow.data()[i] = TestType{static_cast<decltype(TestType::bits)>(i * 40503)};
      if (!std::isfinite(to_double(narrow.data()[i]))) narrow.data()[i] = TestType{};
      wide.data()[i] = convert<f32>(narrow.data()[i]);
    }
    const std::int64_t columns = shape.elements() / shape[0];
    const auto fill = [&](std::int64_t first, HostView<TestType> rows) {
      std::copy_n(narrow.data() + first * columns, rows.elements(), rows.data());
    };
    CHECK(same_bits(run(load(fill)), run(load_wide(HostStoredView<const f32>(wide.view())))));
    CHECK(load(fill).bytes() < load_wide(HostStoredView<const f32>(wide.view())).bytes());
  };
  for (const std::int64_t rows : {1, 3, 33})
    check_own(
        {150, 70}, [](const auto& fill) { return LinearWeight<F32>::in_scalars<TestType>(150, 70, fill); },
        [](const auto& weight) { return LinearWeight<F32>(weight); },
        [&](const auto& weight) {
          return linear<F32>(random_tensor<f32>({rows, 70}, 3), weight);
        });
  for (const std::int64_t kernel : {1, 3})
    check_own(
        {33, 17, kernel, kernel},
        [&](const auto& fill) { return ConvWeight<F32>::in_scalars<TestType>(33, 17, kernel, kernel, fill); },
        [](const auto& weight) { return ConvWeight<F32>(weight); },
        [](const auto& weight) {
          return conv2d<F32>(random_tensor<f32>({2, 9, 7, 17}, 4), weight);
        });
}
