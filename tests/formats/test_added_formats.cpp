// Number formats that a program adds: the example's scalar and block dtype, in files, conversions and casts.
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <casting/cast_source.hpp>
#include <catch2/catch.hpp>
#include <cli/casting/cost_options.hpp>
#include <convert/model_conversion.hpp>
#include <convert/type_choice.hpp>
#include <formats/fitting.hpp>
#include <formats/registration.hpp>
#include <formats/registry.hpp>
#include <registration/kept_registration.hpp>
#include <support/memory_source.hpp>
#include <support/temporary_folder.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/io/safetensors_writer.hpp>

#include "../../examples/extend/e3m4.hpp"
#include "../../examples/extend/nf4.hpp"

namespace added_formats {

/// Six bits without infinity and NaN: the largest number, 28, stands for all that is too large.
struct e3m2 {
  std::uint8_t bits = 0;
};
/// Its name has capitals.
struct TwoBits {
  std::uint8_t bits = 0;
};
/// 21 bits in 16 bytes.
struct alignas(16) e8m12 {
  std::uint32_t bits = 0;
};

}  // namespace added_formats

template <>
struct precast::dtype_traits<added_formats::e3m2> {
  static constexpr std::string_view name = "six_bits", safetensors_name = "F6_E3M2";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  static constexpr precast::FloatFormat format{3, 2, precast::Specials::none};
};
template <>
struct precast::dtype_traits<added_formats::TwoBits> {
  static constexpr std::string_view name = "TwoBits", safetensors_name = "F2_E1M0";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  static constexpr precast::FloatFormat format{1, 0, precast::Specials::none};
};
template <>
struct precast::dtype_traits<added_formats::e8m12> {
  static constexpr std::string_view name = "e8m12", safetensors_name = "F21";
  static constexpr int values_per_block = 1, bytes_per_block = 16;
  static constexpr precast::FloatFormat format{8, 12};
};

namespace added_formats {
namespace {

using namespace precast;
using extend::e3m4, extend::nf4;

std::vector<f32> normal_values(std::size_t count) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal(0, 0.1f);
  std::vector<f32> values(count);
  for (f32& value : values) value = normal(engine);
  return values;
}

void write_file(const std::filesystem::path& path, std::string_view type, const Shape& shape,
                const std::vector<f32>& values) {
  const formats::StoredFormat& format = *formats::format_named(type);
  std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(format.info.values_per_block) *
                               static_cast<std::size_t>(format.info.bytes_per_block));
  format.encode(values, bytes, {});
  io::SafetensorsWriter writer(path);
  writer.declare("layer.weight", format.info, shape);
  writer.write(bytes);
  writer.commit();
}

std::vector<f32> values_in(const std::filesystem::path& path, std::string_view name) {
  const io::ComponentSource file(path);
  const weights::WeightTensors weights(file, "");
  const nn::Parameter parameter = weights.find(name);
  CHECK(parameter.dtype == dtype_info<f32>);
  const auto* const first = reinterpret_cast<const f32*>(parameter.bytes.data());
  return {first, first + parameter.bytes.size() / sizeof(f32)};
}

/// The level of nf4 nearest to a value, by comparing doubles.
f32 nearest_level(f32 value, f32 scale) {
  f32 best = 0;
  for (int code = 0; code < 16; ++code) {
    const f32 level = scale * extend::nf4_level(code);
    if (std::abs(double{level} - double{value}) < std::abs(double{best} - double{value})) best = level;
  }
  return best;
}

}  // namespace

TEST_CASE("a format is there as long as its registration, in order of bits") {
  const std::size_t before = formats::all_formats().size();
  CHECK(!formats::format_named("nf4"));
  CHECK(!formats::find_type("e3m4"));
  {
    const formats::Registration<nf4> blocks;
    const formats::Registration<e3m4> scalar;
    CHECK(formats::all_formats().size() == before + 2);
    CHECK(formats::find_type("NF4") == dtype_info<nf4>);
    CHECK(formats::format_named("nf4")->bits == 4.25);
    CHECK(formats::format_named("e3m4")->scalar == dtype_traits<e3m4>::format);
    for (std::size_t i = 1; i < formats::all_formats().size(); ++i)
      CHECK(formats::all_formats()[i - 1].bits >= formats::all_formats()[i].bits);
    CHECK(formats::added_formats().size() == 2);
    CHECK(io::file_dtype("NF4_64")->info == dtype_info<nf4>);
  }
  CHECK(formats::all_formats().size() == before);
  CHECK(!io::file_dtype("NF4_64"));
}

TEST_CASE("a format whose name has capitals is found by it, in either case") {
  const formats::Registration<TwoBits> mine;
  formats::StoredFormat other_case;  // which a command could not tell from q8_0
  other_case.name = "Q8_0";
  CHECK_THROWS_AS(formats::AddedFormat(other_case), Error);
  CHECK(formats::find_type("TwoBits") == dtype_info<TwoBits>);
  CHECK(formats::find_type("twobits") == dtype_info<TwoBits>);
  CHECK(formats::find_type("BF16") == dtype_info<bf16>);
  CHECK(!formats::find_type("two"));
  CHECK(conversion::parse_rule("layer=TwoBits").type == dtype_info<TwoBits>);
  CHECK(cli::parse_types("TwoBits,Q4_0") == std::vector<std::string>{"TwoBits", "q4_0"});
}

TEST_CASE("codes of e3m4 are the numbers of its definition") {
  const formats::Registration<e3m4> mine;
  const formats::StoredFormat& format = *formats::format_named("e3m4");
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::byte>(code);
    f32 value = 0;
    format.decode(std::span(&byte, 1), std::span(&value, 1));
    const int exponent = code >> 4 & 7, mantissa = code & 15;
    const double sign = code >> 7 ? -1 : 1;
    if (exponent == 7) {
      CHECK((mantissa ? std::isnan(value) : std::isinf(value)));
      continue;
    }
    const double expected = exponent ? std::ldexp(16 + mantissa, exponent - 7) : std::ldexp(mantissa, -6);
    CHECK(double{value} == sign * expected);
    std::byte back{};
    format.encode(std::span(&value, 1), std::span(&back, 1), {});
    CHECK(back == byte);
  }
}

TEST_CASE("values come back from files of added formats as they were encoded") {
  const testing::TemporaryFolder folder;
  const formats::Registration<nf4> blocks;
  const formats::Registration<e3m4> scalar;
  const std::vector<f32> values = normal_values(3 * 128);
  const auto in_blocks = folder.path() / "nf4.safetensors", in_scalars = folder.path() / "e3m4.safetensors";
  write_file(in_blocks, "nf4", {3, 128}, values);
  write_file(in_scalars, "e3m4", {3, 128}, values);
  CHECK(std::filesystem::file_size(in_scalars) - std::filesystem::file_size(in_blocks) >
        384 - 2 * 3 * 34 - 16);

  const std::vector<f32> from_blocks = values_in(in_blocks, "layer.weight");
  REQUIRE(from_blocks.size() == values.size());
  for (std::size_t block = 0; block < 6; ++block) {
    f32 largest = 0;
    for (std::size_t i = 0; i < 64; ++i) largest = std::max(largest, std::abs(values[64 * block + i]));
    const f32 scale = convert<f32>(convert<f16>(largest));
    for (std::size_t i = 64 * block; i < 64 * block + 64; ++i)
      CHECK(std::abs(double{from_blocks[i]} - double{values[i]}) ==
            std::abs(double{nearest_level(values[i], scale)} - double{values[i]}));
  }
  const std::vector<f32> from_scalars = values_in(in_scalars, "layer.weight");
  REQUIRE(from_scalars.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(from_scalars[i] == convert<f32>(convert<e3m4>(values[i])));
}

TEST_CASE("a format is not added under a name that Precast has, of files, of policies or within blocks") {
  for (const char* name : {"q4_0", "Q4_0", "bf16", "tf32", "e3m2", "E2M3", "e2m1"}) {
    formats::StoredFormat format = formats::of_dtype<e3m4>();
    format.name = name;
    CHECK_THROWS_WITH(formats::AddedFormat(std::move(format)),
                      Catch::Contains(name) && Catch::Contains("already exists"));
  }
  CHECK(formats::added_formats().empty());
}

TEST_CASE("a registration whose name is taken adds nothing, and says so as long as it lives") {
  CHECK_NOTHROW(registration::throw_failure());
  const formats::Registration<nf4> first;
  {
    const formats::Registration<nf4> again;
    CHECK_THROWS_WITH(registration::throw_failure(),
                      Catch::Contains("number format 'nf4' already exists: give"));
    CHECK(formats::added_formats().size() == 1);
  }
  CHECK_NOTHROW(registration::throw_failure());
  CHECK(formats::format_named("nf4"));
}

TEST_CASE("files of an added format are refused by name where it is not there") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "nf4.safetensors";
  {
    const formats::Registration<nf4> blocks;
    write_file(path, "nf4", {1, 64}, normal_values(64));
    CHECK_NOTHROW(io::SafetensorsFile(path));
    io::SafetensorsWriter writer(folder.path() / "odd.safetensors");
    CHECK_THROWS_WITH(writer.declare("a", dtype_info<nf4>, {3, 65}), Catch::Contains("whole blocks of nf4"));
  }
  CHECK_THROWS_WITH(io::SafetensorsFile(path), Catch::Contains("unknown dtype") && Catch::Contains("NF4_64"));
}

TEST_CASE("convert writes added formats and reads them back") {
  const testing::TemporaryFolder folder;
  const formats::Registration<nf4> blocks;
  const formats::Registration<e3m4> scalar;
  const auto source = folder.path() / "f32.safetensors";
  const std::vector<f32> values = normal_values(4 * 192);
  write_file(source, "f32", {4, 192}, values);
  for (const std::string type : {"nf4", "e3m4"}) {
    INFO(type);
    conversion::Settings settings;
    settings.type_options.rules.push_back(conversion::parse_rule("layer=" + type));
    const auto out = folder.path() / (type + ".safetensors"),
               back = folder.path() / (type + "_back.safetensors");
    conversion::ModelConversion(source, out, settings).write({});
    conversion::Settings to_f32;
    to_f32.type_options.rules.push_back(conversion::parse_rule("layer=f32"));
    conversion::ModelConversion(out, back, to_f32).write({});
    const formats::StoredFormat& format = *formats::format_named(type);
    std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(format.info.values_per_block) *
                                 static_cast<std::size_t>(format.info.bytes_per_block));
    format.encode(values, bytes, {});
    std::vector<f32> expected(values.size());
    format.decode(bytes, expected);
    const io::SafetensorsFile file(back);
    const io::TensorEntry& entry = file.at("layer.weight");
    CHECK(entry.dtype.info == dtype_info<f32>);
    CHECK(std::memcmp(entry.bytes.data(), expected.data(), entry.bytes.size()) == 0);
  }
  // What e3m4 cannot hold is refused, not written as infinity.
  write_file(source, "f32", {1, 64}, std::vector<f32>(64, 100.0f));
  conversion::Settings settings;
  settings.type_options.rules.push_back(conversion::parse_rule("layer=e3m4"));
  CHECK_THROWS_WITH(conversion::ModelConversion(source, folder.path() / "no.safetensors", settings).write({}),
                    Catch::Contains("beyond what e3m4 holds"));
  CHECK_THROWS_WITH(conversion::check_types(settings.type_options, conversion::Container::gguf),
                    Catch::Contains("GGUF has no e3m4"));
}

TEST_CASE("convert refuses what a format without infinity and NaN would make its largest number") {
  const testing::TemporaryFolder folder;
  const formats::Registration<e3m2> scalar;
  const auto source = folder.path() / "f32.safetensors", out = folder.path() / "e3m2.safetensors";
  conversion::Settings settings;
  settings.type_options.rules.push_back(conversion::parse_rule("layer=six_bits"));
  write_file(source, "f32", {1, 2}, {-30.0f, 0.5f});  // half way to what would come next
  CHECK_THROWS_WITH(conversion::ModelConversion(source, out, settings).write({}),
                    Catch::Contains("at [0, 0], is -30") && Catch::Contains("beyond what six_bits holds"));
  write_file(source, "f32", {1, 2}, {-29.9f, 0.5f});
  conversion::ModelConversion(source, out, settings).write({});
  CHECK(values_in(out, "layer.weight") == std::vector<f32>{-28.0f, 0.5f});
}

TEST_CASE("convert rounds f64 once to an added scalar, whatever room that takes") {
  const testing::TemporaryFolder folder;
  const formats::Registration<e8m12> scalar;
  const auto source = folder.path() / "f64.safetensors", out = folder.path() / "e8m12.safetensors";
  // Just above a tie of e8m12, which is what f32 makes of it.
  const double value = 1 + std::ldexp(1.0, -13) + std::ldexp(1.0, -40);
  {
    io::SafetensorsWriter writer(source);
    writer.declare("layer.weight", {"f64", 1, 8}, {1, 1});
    writer.write(std::as_bytes(std::span(&value, 1)));
    writer.commit();
  }
  conversion::Settings settings;
  settings.type_options.rules.push_back(conversion::parse_rule("layer=e8m12"));
  conversion::ModelConversion(source, out, settings).write({});
  CHECK(values_in(out, "layer.weight") == std::vector<f32>{1 + std::ldexp(1.0f, -12)});
}

TEST_CASE(
    "a cast of a parameter takes an added format, and rows that its blocks do not divide stay as they are") {
  const formats::Registration<nf4> blocks;
  CHECK(formats::fitting_type(dtype_info<nf4>, {32, 128}) == dtype_info<nf4>);
  // As in convert, whose safetensors file has nf4 and none of ggml's blocks.
  CHECK(!formats::fitting_type(dtype_info<nf4>, {32, 96}));
  testing::MemorySource source;
  source.add<bf16>("layer.weight", {32, 96}, normal_values(32 * 96));
  const families::BlockParameter matrix{
      "layer.weight", {32, 96}, dtype_info<bf16>, families::BlockParameterRole::matrix};
  casting::CastSource cast(source);
  CHECK(cast.cast(matrix, "nf4") == dtype_info<bf16>);
  CHECK(cast.find("layer.weight").dtype == dtype_info<bf16>);
  // Ops do not read what a program added: a plan's matrices have its values.
  source.add<bf16>("other.weight", {32, 128}, normal_values(32 * 128));
  const families::BlockParameter other{
      "other.weight", {32, 128}, dtype_info<bf16>, families::BlockParameterRole::matrix};
  cast.cast(other, "nf4");
  const auto planned = casting::cast_as_stored(source, source.find("other.weight"), "nf4");
  REQUIRE(planned.has_value());
  CHECK(planned->dtype == dtype_info<f32>);
  CHECK(std::ranges::equal(planned->bytes, cast.find("other.weight").bytes));
  CHECK_FALSE(casting::cast_as_stored(source, source.find("layer.weight"), "nf4").has_value());
  conversion::TypeOptions type_options;
  type_options.type = dtype_info<nf4>;
  const conversion::TensorFacts facts{{{"layer.weight"}}, {32, 96}, dtype_info<bf16>, true};
  CHECK(conversion::chosen_type(type_options, facts, conversion::Container::safetensors).type ==
        dtype_info<bf16>);
}

}  // namespace added_formats
