// ParameterPath: places in a source, and the one conversion from what a file holds to what a policy stores.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/memory_source.hpp>
#include <support/skip.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/nn/widened.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/quant/encode.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Values with ties, subnormals of every format, and what overflows the narrow ones.
std::vector<f32> awkward_values() {
  std::vector<f32> values{0.0f,
                          -0.0f,
                          1.0f,
                          -1.5f,
                          1.0f + 0x1p-8f,
                          1.0f + 3 * 0x1p-8f,
                          1.0f + 0x1p-11f,
                          65504.0f,
                          65520.0f,
                          -7e4f,
                          448.0f,
                          464.0f,
                          465.0f,
                          3e38f,
                          0x1p-24f,
                          0x1p-25f,
                          0x1p-10f,
                          1e-40f,
                          0x1p-133f,
                          0x1p-134f,
                          57344.0f};
  while (values.size() < 2500) values.push_back(values[values.size() - 20] * 1.0009765f + 1e-7f);
  values.push_back(std::numeric_limits<f32>::infinity());
  values.push_back(-std::numeric_limits<f32>::infinity());
  return values;
}

/// Loading a file of From as To rounds each value of the file once.
template <class From, class To>
void check_load() {
  INFO(dtype_traits<From>::name << " to " << dtype_traits<To>::name);
  const std::vector<f32> values = awkward_values();
  MemorySource source;
  const Shape shape{static_cast<std::int64_t>(values.size())};
  source.add<From>("place.weight", shape, values);
  const Tensor<To> loaded = nn::load_tensor<To>(nn::ParameterPath(source) / "place" / "weight", shape);
  int different = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const To expected = from_double<To>(to_double(convert<From>(values[i])));
    const double a = to_double(expected), b = to_double(loaded.values()[i]);
    different += !(a == b || (a != a && b != b));
  }
  CHECK(different == 0);
  CHECK(source.bytes_taken() == source.total_bytes());
}

template <class To>
void check_loads() {
  check_load<f32, To>();
  check_load<bf16, To>();
  check_load<f16, To>();
  check_load<fp8_e4m3, To>();
  check_load<fp8_e5m2, To>();
}

/// Rows of blocks with values of all sizes in them, as a file has them.
template <class Format>
HostStoredMatrix<Format> encoded_rows(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block;
  HostStoredMatrix<Format> blocks(Shape{rows, columns});
  std::vector<f32> values(static_cast<std::size_t>(rows * blocks_for<Format>(columns) * in_block));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<f32>(i)) * static_cast<f32>(1 + i % 97) * 0.37f;
  quant::encode<Format>(values, std::span(blocks.view().data(), values.size() / in_block));
  return blocks;
}

/// Any run of a parameter in blocks is each value's decoding, rounded once.
template <class Format, class To>
void check_blocks(std::int64_t columns) {
  if constexpr (!block_format_compiled(dtype_traits<Format>::name)) return;
  INFO(dtype_traits<Format>::name << " to " << dtype_traits<To>::name << ", rows of " << columns);
  constexpr std::int64_t rows = 70;
  const auto blocks = encoded_rows<Format>(rows, columns);
  MemorySource source;
  source.add<Format>("w", {rows, columns}, blocks.view());
  const nn::ParameterPath place = nn::ParameterPath(source) / "w";
  const nn::Parameter parameter = place.find({rows, columns});
  CHECK(parameter.dtype == dtype_info<Format>);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, rows * columns},
                                     {3 * columns, columns},
                                     {columns - 7, 9},
                                     {rows * columns - 1, 1}}) {
    std::vector<To> read(static_cast<std::size_t>(count));
    nn::read_values<To>(place, parameter, first, std::span(read));
    int different = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      f32 value = 0;
      decode_run<Format>(blocks.view().row((first + i) / columns), (first + i) % columns, 1, &value);
      const To expected = convert<To>(value);
      different += std::memcmp(&expected, &read[static_cast<std::size_t>(i)], sizeof expected) != 0;
    }
    CHECK(different == 0);
  }
}

std::string input_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every file dtype is rounded once to every storage") {
  check_loads<f32>();
  check_loads<bf16>();
  check_loads<f16>();
  check_loads<fp8_e4m3>();
  check_loads<fp8_e5m2>();
}

TEST_CASE("blocks of a file are decoded to every storage, rounded once") {
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, []<class Format>(std::type_identity<Format>) {
      check_blocks<Format, f32>(512);
      check_blocks<Format, bf16>(512);
      check_blocks<Format, f16>(512);
    });
}

TEST_CASE("blocks of a file are decoded alike at any address") {
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      if constexpr (!block_format_compiled(dtype_traits<Format>::name)) return;
      INFO(format.info.name);
      constexpr std::int64_t rows = 90, columns = 512, first = 300, count = 40000;
      const auto blocks = encoded_rows<Format>(rows, columns);
      std::vector<std::byte> moved(static_cast<std::size_t>(blocks.view().bytes()) + 1);
      std::memcpy(moved.data() + 1, blocks.view().data(), moved.size() - 1);
      MemorySource source;
      const nn::Parameter parameter{dtype_info<Format>, Shape{rows, columns}, std::span(moved).subspan(1)};
      std::vector<f32> read(static_cast<std::size_t>(count)), expected(read.size());
      nn::read_values<f32>(nn::ParameterPath(source), parameter, first, std::span(read));
      decode_run<Format>(blocks.view().data(), first, count, expected.data());
      CHECK(std::memcmp(read.data(), expected.data(), read.size() * sizeof(f32)) == 0);
    });
}

TEST_CASE("rows of blocks that end early begin with a block each") {
  check_blocks<q8_0, f32>(50);
  check_blocks<mxfp8, bf16>(33);
  check_blocks<q4_k, f32>(300);
}

TEST_CASE("rows that share blocks are decoded, and not taken for rows of blocks") {
  if (!block_format_compiled("q4_k")) return skip("this build leaves out q4_k");
  // As ComfyUI-GGUF stores a matrix of narrow rows.
  const auto blocks = encoded_rows<q4_k>(2, 256);
  MemorySource source;
  const nn::Parameter parameter{dtype_info<q4_k>, Shape{8, 64},
                                std::as_bytes(std::span(blocks.view().data(), 2))};
  std::vector<f32> read(512), expected(512);
  nn::read_values<f32>(nn::ParameterPath(source), parameter, 0, std::span(read));
  decode_run<q4_k>(blocks.view().data(), 0, 512, expected.data());
  CHECK(std::memcmp(read.data(), expected.data(), read.size() * sizeof(f32)) == 0);
  HostStoredMatrix<q4_k> rows(Shape{8, 64});
  CHECK_THAT(
      input_error_of([&] { nn::read_rows<q4_k>(nn::ParameterPath(source, "w"), parameter, 0, rows.view()); }),
      Catch::Contains("tensor 'w' of shape [8, 64] does not begin each row with a block of q4_k"));
}

TEST_CASE("blocks of another format than a policy stores are refused, with what to do") {
  const auto blocks = encoded_rows<q4_k>(2, 256);
  MemorySource source;
  const nn::Parameter parameter{dtype_info<q4_k>, Shape{2, 256},
                                std::as_bytes(std::span(blocks.view().data(), 2))};
  HostStoredMatrix<q8_0> rows(Shape{2, 256});
  CHECK_THAT(
      input_error_of([&] { nn::read_rows<q8_0>(nn::ParameterPath(source, "w"), parameter, 0, rows.view()); }),
      Catch::Contains("tensor 'w' has dtype q4_k, and q8_0 is asked for") &&
          Catch::Contains("a policy that stores scalars") && Catch::EndsWith("or a file in q8_0"));
}

TEST_CASE("all of a parameter in blocks counts as taken") {
  if (!block_format_compiled("q4_0")) return skip("this build leaves out q4_0");
  const auto blocks = encoded_rows<q4_0>(40, 640);
  MemorySource source;
  source.add<q4_0>("w", {40, 640}, blocks.view());
  nn::load_tensor<bf16>(nn::ParameterPath(source) / "w", {40, 640});
  CHECK(source.bytes_taken() == source.total_bytes());
}

TEST_CASE("sizes of 1 at a shape's end may be missing or too many") {
  MemorySource source;
  source.add<f32>("a", {2, 3}, std::vector<f32>(6, 1.0f));
  source.add<f32>("b", {2, 3, 1, 1}, std::vector<f32>(6, 1.0f));
  CHECK(nn::load_tensor<f32>(nn::ParameterPath(source) / "a", {2, 3, 1, 1}).shape() == Shape{2, 3, 1, 1});
  CHECK(nn::load_tensor<f32>(nn::ParameterPath(source) / "b", {2, 3}).shape() == Shape{2, 3});
  CHECK_THAT(input_error_of([&] {
               nn::load_tensor<f32>(nn::ParameterPath(source) / "a", {1, 2, 3});
             }),
             Catch::Contains("has shape [2, 3]"));
}

TEST_CASE("a place is a dotted name") {
  MemorySource source;
  const std::vector<f32> values{1, 2};
  source.add<f32>("blocks.3.attn.weight", {2}, values);
  const nn::ParameterPath root(source);
  CHECK(root.path().empty());
  CHECK((root / "blocks" / 3 / "attn").path() == "blocks.3.attn");
  CHECK((root / "blocks.3" / "attn").contains("weight"));
  CHECK(!root.contains("attn"));
  CHECK(nn::load_tensor<f32>(root / "blocks" / 3 / "attn.weight", {2}).values()[1] == 2);
}

TEST_CASE("part of a parameter is read from where it begins") {
  std::vector<f32> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<f32>(i % 251);
  MemorySource source;
  source.add<bf16>("w", {50, 100}, values);
  const nn::ParameterPath place = nn::ParameterPath(source) / "w";
  const nn::Parameter parameter = place.find({50, 100});
  std::vector<f32> read(1300);
  nn::read_values<f32>(place, parameter, 2700, std::span(read));
  CHECK(std::equal(read.begin(), read.end(), values.begin() + 2700));
  CHECK(source.bytes_taken() == 1300 * sizeof(bf16));
}

TEST_CASE("all of a parameter counts as taken, of however many bytes") {
  const std::byte first{};  // of bytes that a dry run does not read
  const MemorySource source;
  for (const std::int64_t rows : {std::int64_t{1} << 16, std::int64_t{3} << 30}) {
    const Shape shape{rows, std::int64_t{1} << 15};
    const auto values = static_cast<std::size_t>(shape.elements());
    const nn::Parameter parameter{dtype_info<f32>, shape, {&first, 4 * values}};
    const std::size_t before = source.bytes_taken();
    f32 written = 0;
    const DryRun dry(DryRun::Counts::host_memory);
    nn::read_values<f32>(nn::ParameterPath(source), parameter, 0, std::span(&written, values));
    CHECK(source.bytes_taken() - before == 4 * values);
  }
}

TEST_CASE("a wrong shape or dtype is named with its file and tensor") {
  MemorySource source;
  source.add<f32>("a.weight", {2, 3}, std::vector<f32>(6));
  source.add_without_weights("a.bias", {3}, "i64");
  source.add_without_weights("a.scale", {3}, "f64");
  const nn::ParameterPath place = nn::ParameterPath(source) / "a";
  CHECK_THAT(
      input_error_of([&] {
        nn::load_tensor<f32>(place / "weight", {3, 2});
      }),
      Catch::Contains("memory: tensor 'a.weight'") && Catch::Contains("[2, 3]") && Catch::Contains("[3, 2]"));
  CHECK_THAT(input_error_of([&] { nn::load_tensor<f32>(place / "weight", {6}); }), Catch::Contains("[6]"));
  CHECK_THAT(input_error_of([&] { nn::load_tensor<bf16>(place / "bias", {3}); }),
             Catch::Contains("tensor 'a.bias'") && Catch::Contains("i64") && !Catch::Contains("convert"));
  CHECK_THAT(input_error_of([&] { nn::load_tensor<bf16>(place / "scale", {3}); }),
             Catch::Contains("f64") && Catch::Contains("convert it to f32"));
  CHECK_THAT(input_error_of([&] { nn::load_tensor<bf16>(place / "gain", {3}); }),
             Catch::Contains("'a.gain'"));
}

TEST_CASE("widened gives the same numbers in f32, and moves an f32 tensor through") {
  Tensor<f16> narrow(Shape{2, 3});
  for (std::int64_t i = 0; i < 6; ++i) narrow.data()[i] = convert<f16>(0.1f * static_cast<f32>(i));
  const Tensor<f32> slice = nn::widened(narrow.view().columns_between(1, 2));
  CHECK(slice.shape() == Shape{2, 2});
  CHECK(slice.values()[2] == convert<f32>(narrow.data()[4]));
  const Tensor<f32> wide = nn::widened(std::move(narrow));
  CHECK(wide.values()[5] == convert<f32>(convert<f16>(0.5f)));
  Tensor<f32> own(Shape{4});
  const f32* data = own.data();
  CHECK(nn::widened(std::move(own)).data() == data);
}
