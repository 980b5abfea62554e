// Weights that have scales beside them as the input of convert: what they stand for is what is converted.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <convert/weights_files.hpp>
#include <families/registry.hpp>
#include <support/drawn_latents.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/nn/parameters.hpp>

namespace unscaled_weights {
namespace {

using namespace precast;
using namespace precast::conversion;
using namespace precast::testing;

const std::filesystem::path transformer = shapes_model() / "transformer";

/// What a file's weights are for those who load them.
std::map<std::string, std::vector<f32>> loaded(const std::filesystem::path& path) {
  const io::ComponentSource file(path);
  const weights::WeightTensors read(file, "");
  std::map<std::string, std::vector<f32>> all;
  for (const auto& [name, weight] : read.all()) {
    const HostTensor<f32> values = nn::load_host_tensor<f32>(nn::ParameterPath(read, name), weight.shape);
    all[name].assign(values.values().begin(), values.values().end());
  }
  return all;
}

std::vector<f32> latents(const std::filesystem::path& of_transformer) {
  return drawn_latents({shapes_model().string(), {{"transformer", of_transformer}}}, f32_choices().front());
}

std::string refusal_of_converting(const FileTensors& tensors,
                                  const std::map<std::string, std::string>& metadata = {}) {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  write_tensors(source, tensors, metadata);
  try {
    convert_file(source, folder.path() / "out.safetensors", to_type("f32"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("convert reads what it wrote under scales, and its values are those that a model loads") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", scaled = folder.path() / "scaled.safetensors",
             plain = folder.path() / "plain.safetensors", blocks = folder.path() / "blocks.gguf";
  const PlainTensors tensors{{"a.b.weight", normal_tensor({160, 96}, 1)},
                             {"c.d.weight", normal_tensor({64, 128}, 2)},
                             {"e.f.weight", normal_tensor({416, 384}, 4)},  // more than a task's values
                             {"a.b.bias", normal_tensor({160}, 3)}};
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  for (const char* type :
       {"fp8_e4m3_row", "fp8_e5m2_row", "fp8_e4m3_tensor", "fp8_e5m2_tensor", "int8_row", "mxfp8", "nvfp4"}) {
    INFO(type);
    convert_file(source, scaled, to_type(type));
    convert_file(scaled, plain, to_type("f32"));
    convert_file(scaled, blocks, to_type("q8_0"));
    const auto expected = loaded(scaled);
    CHECK(expected.size() == 4);
    CHECK(loaded(plain) == expected);
    const InputWeights written(blocks), unscaled(plain);
    CHECK(written.tensors().size() == 4);
    CHECK(unscaled.tensors().size() == 4);
    for (const InputTensor& tensor : unscaled.tensors()) CHECK_FALSE(tensor.decoded_by);
    for (const char* name : {"a.b.weight", "c.d.weight", "e.f.weight"})
      CHECK(decoded(*written.lookup(name)) == stored_as("q8_0", expected.at(name)));
    // What was said of the output is what is said of it as an input.
    const InputWeights lying(scaled);
    std::int64_t bytes = 0;
    for (const InputTensor& tensor : lying.tensors()) bytes += tensor.stored_bytes();
    CHECK(ModelConversion(source, scaled, to_type(type)).parts().front().conversion->bytes() == bytes);
    // What is said of the input is what lies there.
    const InputTensor& lies = *lying.lookup("c.d.weight");
    CHECK(lies.stored_type() != "f32");
    CHECK(lies.stored_bytes() < 64 * 128 * 2);
  }
}

namespace {

/// A format whose matrices ComfyUI pads, and the columns of one that has 128 of them in a file.
struct PaddedFormat {
  std::string type;
  std::int64_t padded_to, columns;
};

}  // namespace

TEST_CASE("columns and rows of padding are left out where the file says how many there are") {
  const TemporaryFolder folder;
  const auto wide = folder.path() / "wide.safetensors", padded = folder.path() / "padded.safetensors",
             out = folder.path() / "out.safetensors";
  constexpr std::int64_t rows = 64, stored = 128;
  for (const PaddedFormat& format : {PaddedFormat{"mxfp8", 32, 104}, PaddedFormat{"nvfp4", 16, 120}}) {
    INFO(format.type);
    const std::int64_t columns = format.columns;
    std::vector<f32> values;
    const auto zero_from = [&](std::int64_t column) {
      values = normal_tensor({rows, stored}, 5).values;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (static_cast<std::int64_t>(i) % stored >= column) values[i] = 0;
    };
    const auto converted = [&](PlainTensors tensors) {
      tensors["a.weight"] = {Shape{rows, stored}, values};
      write_tensors<io::SafetensorsWriter>(wide, tensors, "f32");
      convert_file(wide, padded, to_type(format.type));
      const ModelConversion conversion(padded, out, to_type("f32"));
      convert_file(padded, out, to_type("f32"));
      return conversion.warnings();
    };
    const auto tells = [](std::int64_t in, std::int64_t out_of) {
      return PlainTensors{{"before.bias", normal_tensor({in}, 6)}, {"a.bias", normal_tensor({out_of}, 7)}};
    };
    // That the first rows and columns are left, of what the padded file has.
    const auto check_left = [&](std::int64_t left_rows, std::int64_t left_columns) {
      const std::vector<f32> some = loaded(out).at("a.weight");
      const io::ComponentSource file(padded);
      const weights::WeightTensors read(file, "");
      const HostTensor<f32> all =
          nn::load_host_tensor<f32>(nn::ParameterPath(read, "a.weight"), {left_rows, stored});
      REQUIRE(std::ssize(some) == left_rows * left_columns);
      for (std::int64_t r = 0; r < left_rows; ++r)
        REQUIRE(std::equal(some.begin() + r * left_columns, some.begin() + (r + 1) * left_columns,
                           all.view().row(r).begin()));
    };
    zero_from(columns);
    for (const std::int64_t left_rows : {rows, rows - format.padded_to + 1}) {
      const auto warnings = converted(tells(columns, left_rows));
      REQUIRE(warnings.size() == 1);
      CHECK_THAT(warnings.front(), Catch::StartsWith("1 matrix, such as 'a.weight', lost columns of zeros"));
      check_left(left_rows, columns);
    }
    // A bias of fewer rows would have been padded to fewer.
    converted(tells(columns, rows - format.padded_to));
    check_left(rows, columns);

    // Another length in the padding, no length at all, or numbers in it: all columns stay.
    PlainTensors unsure = tells(columns, rows);
    unsure["other.bias"] = normal_tensor({columns + 4}, 8);
    for (const PlainTensors& tensors : {unsure, PlainTensors{{"a.bias", normal_tensor({rows}, 7)}}}) {
      const auto told = converted(tensors);
      REQUIRE(told.size() == 1);
      CHECK_THAT(told.front(), Catch::Contains("which may be padding"));
      check_left(rows, stored);
    }
    values[3 * stored + stored - 1] = 1;
    CHECK(converted(tells(columns, rows)).empty());
    check_left(rows, stored);

    // Nor is more left out than the format pads.
    zero_from(stored - format.padded_to);
    const auto told = converted(tells(stored - format.padded_to, rows));
    REQUIRE(told.size() == 1);
    CHECK_THAT(told.front(), Catch::Contains("which may be padding"));
    check_left(rows, stored);
  }
}

TEST_CASE("scaled weights of a transformer change names and types as their values do") {
  const TemporaryFolder folder;
  const auto scaled = folder.path() / "scaled.safetensors", plain = folder.path() / "plain.safetensors",
             one = folder.path() / "one.safetensors", other = folder.path() / "other.safetensors";
  Settings settings = to_type("fp8_e4m3_row");
  settings.layout = Layout::bfl;
  convert_file(transformer, scaled, settings);
  Settings back = to_type("f32");
  back.layout = Layout::diffusers;  // a fused matrix under scales, in parts
  convert_file(scaled, plain, back);
  CHECK(relative_error(latents(plain), latents(scaled)) <= largest_error);  // whose codes stay packed

  // Three matrices under scales, put together under another one.
  convert_file(transformer, scaled, to_type("int8_row"));
  convert_file(scaled, plain, to_type("f32"));
  Settings together = to_type("fp8_e4m3_tensor");
  together.layout = Layout::bfl;
  convert_file(scaled, one, together);
  convert_file(plain, other, together);
  CHECK(loaded(one) == loaded(other));
}

TEST_CASE("codes under scales are moved to the same type, whoever chose the scales") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors",
             plain = folder.path() / "plain.safetensors", other = folder.path() / "other.safetensors";
  // None of which an encoder would make: the largest codes of rows and blocks are small.
  std::vector<std::uint8_t> codes(64 * 128), scales(128 * 8, 0);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(0x21 + i * 7 % 17);
  for (std::size_t i = 0; i < 64 * 8; ++i) scales[i] = static_cast<std::uint8_t>(0x31 + i * 5 % 13);
  std::vector<f32> of_rows(64);
  for (std::size_t i = 0; i < of_rows.size(); ++i) of_rows[i] = 0.01f * static_cast<f32>(i + 1);
  const FileTensor one = file_tensor("F32", {}, std::vector<f32>{0.37f}),
                   each = file_tensor("F32", {64, 1}, of_rows);
  const auto fp8 = [&](const std::string& dtype) { return file_tensor(dtype, {64, 128}, codes); };
  const auto announced = [](const std::string& format) {
    return json_tensor("{\"format\": \"" + format + "\"}");
  };
  const FileTensors e4m3{
      {"a.comfy_quant", announced("float8_e4m3fn")}, {"a.weight", fp8("F8_E4M3")}, {"a.weight_scale", one}};
  const std::map<std::string, FileTensors> files{
      {"fp8_e4m3_tensor", e4m3},
      {"fp8_e5m2_tensor",
       {{"a.comfy_quant", announced("float8_e5m2")}, {"a.weight", fp8("F8_E5M2")}, {"a.weight_scale", one}}},
      {"fp8_e4m3_row",
       {{"a.comfy_quant", announced("float8_e4m3fn")},
        {"a.weight", fp8("F8_E4M3")},
        {"a.weight_scale", each}}},
      {"int8_row",
       {{"a.comfy_quant", announced("int8_tensorwise")}, {"a.weight", fp8("I8")}, {"a.weight_scale", each}}},
      {"mxfp8",
       {{"a.comfy_quant", announced("mxfp8")},
        {"a.weight", fp8("F8_E4M3")},
        {"a.weight_scale", file_tensor("U8", {128, 4}, std::vector<std::uint8_t>(128 * 4, 0x70))}}},
      {"nvfp4",
       {{"a.comfy_quant", announced("nvfp4")},
        {"a.weight", file_tensor("U8", {64, 64}, std::vector<std::uint8_t>(64 * 64, 0x12))},
        {"a.weight_scale", file_tensor("F8_E4M3", {128, 8}, scales)},
        {"a.weight_scale_2", one}}}};
  for (const auto& [type, tensors] : files) {
    INFO(type);
    write_tensors(source, tensors);
    const auto values = loaded(source);
    for (const quant::Encoder encoder : {quant::Encoder::reference, quant::Encoder::search}) {
      Settings settings = to_type(type);
      settings.encoder.encoder = encoder;
      convert_file(source, out, settings);
      CHECK(loaded(out) == values);
      const FileTensors written = stored_tensors(out);
      CHECK(written.size() == tensors.size());
      CHECK(written.at("a.weight").bytes == tensors.at("a.weight").bytes);
    }
    // What was written is written again, byte for byte.
    convert_file(out, other, to_type(type));
    for (const auto& [name, tensor] : stored_tensors(out))
      CHECK(tensor.bytes == stored_tensors(other).at(name).bytes);
  }
  // Rows may all have the one scale; one scale cannot be those of rows.
  write_tensors(source, e4m3);
  convert_file(source, out, to_type("fp8_e4m3_row"));
  CHECK(loaded(out) == loaded(source));
  write_tensors(source, files.at("fp8_e4m3_row"));
  convert_file(source, out, to_type("fp8_e4m3_tensor"));
  convert_file(source, plain, to_type("f32"));
  convert_file(plain, other, to_type("fp8_e4m3_tensor"));
  CHECK(loaded(out) == loaded(other));

  // Parts of a matrix have its scale; matrices under scales of their own become one under scales of rows, and
  // are encoded anew under one scale.
  const auto in_layout = [](const std::string& type, Layout layout) {
    Settings settings = to_type(type);
    settings.layout = layout;
    return settings;
  };
  convert_file(transformer, source, in_layout("fp8_e4m3_tensor", Layout::bfl));
  convert_file(source, out, in_layout("fp8_e4m3_tensor", Layout::diffusers));
  convert_file(source, plain, in_layout("f32", Layout::diffusers));
  CHECK(loaded(out) == loaded(plain));
  convert_file(transformer, source, in_layout("fp8_e4m3_tensor", Layout::diffusers));
  convert_file(source, plain, in_layout("f32", Layout::bfl));
  convert_file(source, out, in_layout("fp8_e4m3_row", Layout::bfl));
  CHECK(loaded(out) == loaded(plain));
  convert_file(source, out, in_layout("fp8_e4m3_tensor", Layout::bfl));
  convert_file(plain, other, in_layout("fp8_e4m3_tensor", Layout::bfl));
  const auto warnings = [&](const std::string& type, Layout layout) {
    return ModelConversion(source, out, in_layout(type, layout)).warnings();
  };
  CHECK(warnings("fp8_e4m3_row", Layout::bfl).empty());
  CHECK(warnings("fp8_e4m3_tensor", Layout::diffusers).empty());
  REQUIRE(warnings("fp8_e4m3_tensor", Layout::bfl).size() == 1);
  CHECK_THAT(warnings("fp8_e4m3_tensor", Layout::bfl).front(),
             Catch::Contains("under several scales in IN, get one scale and are quantised again"));
  CHECK(loaded(out) == loaded(other));
}

TEST_CASE("scaled weights are read under every announcement, and a missing scale is an error") {
  const std::vector<std::uint8_t> codes(4 * 32, 0x38);  // ones
  const FileTensor weight = file_tensor("F8_E4M3", {4, 32}, codes),
                   scale = file_tensor("F32", {1}, std::vector<f32>{0.5f}),
                   mark = file_tensor("F8_E4M3", {2}, std::vector<std::uint8_t>(2));
  const std::map<std::string, std::string> header{
      {"_quantization_metadata", R"({"layers": {"m.a": {"format": "float8_e4m3fn"}}})"}};
  const auto converted = [](const FileTensors& tensors, const std::map<std::string, std::string>& metadata) {
    const TemporaryFolder folder;
    const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
    write_tensors(source, tensors, metadata);
    convert_file(source, out, to_type("f32"));
    CHECK_FALSE(InputWeights(out).metadata().contains("_quantization_metadata"));
    return loaded(out);
  };
  const std::map<std::string, std::vector<f32>> halves{{"m.a.weight", std::vector<f32>(4 * 32, 0.5f)}};
  CHECK(converted({{"m.a.weight", weight}, {"m.a.scale_weight", scale}, {"scaled_fp8", mark}}, {}) == halves);
  CHECK(converted({{"m.a.weight", weight}, {"m.a.scale_weight", scale}, {"m.scaled_fp8", mark}}, {}) ==
        halves);
  CHECK(converted({{"m.a.weight", weight}, {"m.a.weight_scale", scale}}, header) == halves);

  CHECK(says(refusal_of_converting({{"m.a.weight", weight}, {"scaled_fp8", mark}}),
             "'m.a.weight': has no scale, which the file's tensor scaled_fp8 announces"));
  CHECK(says(refusal_of_converting({{"m.a.weight", weight}, {"m.scaled_fp8", mark}}),
             "'m.a.weight': has no scale, which the file's tensor scaled_fp8 announces"));
  CHECK(says(refusal_of_converting({{"m.a.weight", weight}}, header), "'m.a.weight': has no scale"));
  CHECK(refusal_of_converting({{"m.a.weight", weight}, {"n.scaled_fp8", mark}}).empty());
  for (const std::string name : {"m.a.weight_scale_inv", "m.a.weight_zero_point"})
    CHECK(says(refusal_of_converting({{"m.a.weight", weight}, {name, scale}}),
               "'" + name + "': belongs to a quantised weight in a way that is not read"));
}

}  // namespace unscaled_weights
