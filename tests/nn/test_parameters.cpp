// ParameterPath: places in a source, and the one conversion from what a file holds to what a policy stores.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/memory_source.hpp>

#include <precast/nn/parameters.hpp>
#include <precast/nn/widened.hpp>

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

std::string message_of(const std::function<void()>& action) {
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

TEST_CASE("a wrong shape or dtype is named with its file and tensor") {
  MemorySource source;
  source.add<f32>("a.weight", {2, 3}, std::vector<f32>(6));
  source.add_integers("a.bias", {3});
  const nn::ParameterPath place = nn::ParameterPath(source) / "a";
  CHECK_THAT(
      message_of([&] {
        nn::load_tensor<f32>(place / "weight", {3, 2});
      }),
      Catch::Contains("memory: tensor 'a.weight'") && Catch::Contains("[2, 3]") && Catch::Contains("[3, 2]"));
  CHECK_THAT(message_of([&] { nn::load_tensor<f32>(place / "weight", {6}); }), Catch::Contains("[6]"));
  CHECK_THAT(message_of([&] { nn::load_tensor<bf16>(place / "bias", {3}); }),
             Catch::Contains("tensor 'a.bias'") && Catch::Contains("i64"));
  CHECK_THAT(message_of([&] { nn::load_tensor<bf16>(place / "gain", {3}); }), Catch::Contains("'a.gain'"));
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
