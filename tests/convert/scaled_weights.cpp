// Weights as codes with scales beside them: what convert writes is what ComfyUI's readers take, held as it
// is, and draws what the decoded weights draw.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <convert/scaled_weight.hpp>
#include <convert/weights_files.hpp>
#include <families/registry.hpp>
#include <support/drawn_latents.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/imatrix_file.hpp>
#include <support/temporary_folder.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/quant/by_name.hpp>
#include <precast/quant/scaled_rows.hpp>

namespace scaled_weights {
namespace {

using namespace precast;
using namespace precast::conversion;
using namespace precast::testing;

const std::string shapes = std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model";

/// A type, how ComfyUI announces it, and what its codes and scales are for safetensors.
struct Expected {
  std::string type, format, codes, scales, held;
  Shape scale_shape;
};
const std::vector<Expected> expected_types{
    {"fp8_e4m3_row", "float8_e4m3fn", "F8_E4M3", "F32", "fp8_e4m3_row", {160, 1}},
    {"fp8_e5m2_row", "float8_e5m2", "F8_E5M2", "F32", "fp8_e5m2_row", {160, 1}},
    {"fp8_e4m3_tensor", "float8_e4m3fn", "F8_E4M3", "F32", "fp8_e4m3_tensor", {}},
    {"fp8_e5m2_tensor", "float8_e5m2", "F8_E5M2", "F32", "fp8_e5m2_tensor", {}},
    {"int8_row", "int8_tensorwise", "I8", "F32", "int8_row", {160, 1}},
    {"mxfp8", "mxfp8", "F8_E4M3", "U8", "mxfp8", {256, 4}}};

/// What values of a matrix with so many columns are after they were stored in a type, by its encoder.
std::vector<f32> after(const std::string& type, std::vector<f32> values, std::size_t columns) {
  const bool rows = visit_scaled_row_dtype(type, [&]<class Format>(std::type_identity<Format>) {
    std::vector<std::byte> encoded(values.size() / columns * (8 + columns));
    quant::encode_rows<Format>(values, columns, encoded);
    for (std::size_t r = 0; r < values.size() / columns; ++r)
      decode_run<Format>(reinterpret_cast<const Format*>(encoded.data() + r * (8 + columns)), 0,
                         static_cast<std::int64_t>(columns), values.data() + r * columns);
  });
  if (rows) return values;
  std::vector<std::byte> blocks(values.size() / 32 * 33);
  quant::encode(type, values, blocks);
  quant::decode(type, blocks, values);
  return values;
}

std::vector<f32> latents(const std::filesystem::path& transformer) {
  return drawn_latents({shapes, {{"transformer", transformer}}}, f32_choices().front());
}

}  // namespace

TEST_CASE("convert writes scaled weights as ComfyUI names and announces them") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  // 160 rows of 96: no multiple of 128 rows, and three blocks of mxfp8.
  PlainTensors tensors{{"a.b.weight", normal_tensor({160, 96}, 1)},
                       {"a.b.bias", normal_tensor({160}, 2)},
                       {"c.scale", normal_tensor({160, 96}, 3)},
                       {"d.weight", normal_tensor({7, 33}, 4)}};
  tensors["a.b.weight"].values[5 * 96 + 7] = 40;  // rows far apart
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  for (const Expected& expected : expected_types) {
    INFO(expected.type);
    convert_file(source, out, to_type(expected.type));
    const io::ComponentSource file(out);
    const auto at = [&](const std::string& name) {
      const io::TensorEntry* const entry = file.lookup(name);
      REQUIRE(entry);
      return entry;
    };
    CHECK(at("a.b.weight")->dtype.file_name == expected.codes);
    CHECK(at("a.b.weight")->shape == Shape{160, 96});
    CHECK(at("a.b.weight_scale")->dtype.file_name == expected.scales);
    CHECK(at("a.b.weight_scale")->shape == expected.scale_shape);
    if (expected.type == "mxfp8")  // those of rows and blocks that the matrix does not have
      CHECK(std::ranges::count(at("a.b.weight_scale")->bytes, std::byte{}) == 256 * 4 - 160 * 3);
    const auto announced = at("a.b.comfy_quant")->bytes;
    CHECK(std::string(reinterpret_cast<const char*>(announced.data()), announced.size()) ==
          "{\"format\": \"" + expected.format + "\"}");
    // What is no weight of a layer stays as it is, and rows that mxfp8's blocks do not divide do.
    CHECK(at("a.b.bias")->dtype.file_name == "F32");
    CHECK(at("c.scale")->dtype.file_name == "F32");
    CHECK(at("d.weight")->dtype.file_name == (expected.type == "mxfp8" ? "F32" : expected.codes));

    const weights::WeightTensors read(file, "");
    CHECK(read.all().size() == tensors.size());
    const nn::Parameter held = read.find("a.b.weight");
    CHECK(held.dtype.name == expected.held);
    CHECK(held.bytes.size() == (expected.type == "mxfp8" ? 160u * 3 * 33 : 160u * (8 + 96)));
    for (const std::string name : {"a.b.weight", "d.weight"}) {
      if (name == "d.weight" && expected.type == "mxfp8") continue;
      const Shape shape = tensors[name].shape;
      const HostTensor<f32> values = nn::load_host_tensor<f32>(nn::ParameterPath(read, name), shape);
      const std::vector<f32> encoded =
          after(expected.type, tensors[name].values, static_cast<std::size_t>(shape[1]));
      CHECK(std::ranges::equal(values.values(), encoded));
    }
    // The same values where a layer asks for more dimensions.
    const HostTensor<f32> of_picture =
        nn::load_host_tensor<f32>(nn::ParameterPath(read, "a.b.weight"), {160, 96, 1, 1});
    CHECK(std::ranges::equal(of_picture.values(), after(expected.type, tensors["a.b.weight"].values, 96)));
  }
}

TEST_CASE("a transformer of scaled weights draws what its decoded weights draw") {
  const TemporaryFolder folder;
  const auto in = std::filesystem::path(shapes) / "transformer";
  const auto out = folder.path() / "scaled.safetensors", plain = folder.path() / "plain.safetensors";
  std::vector<std::vector<f32>> drawn;
  for (const Expected& expected : expected_types) {
    INFO(expected.type);
    Settings settings = to_type(expected.type);
    settings.layout = Layout::bfl;  // q, k and v in one matrix, whose rows are told apart again
    convert_file(in, out, settings);
    const io::ComponentSource file(out);
    const weights::WeightTensors read(file, "");
    io::SafetensorsWriter writer(plain);
    std::int64_t held = 0;
    for (const auto& [name, weight] : read.all()) {
      writer.declare(name, dtype_info<f32>, weight.shape);
      held += weight.held && weight.held->dtype.name == expected.held;
    }
    CHECK(held >= 20);
    for (const auto& [name, weight] : read.all())
      writer.write(
          std::as_bytes(nn::load_host_tensor<f32>(nn::ParameterPath(read, name), weight.shape).values()));
    writer.commit();
    drawn.push_back(latents(out));
    // Few rows meet codes as they lie, in another order of sums.
    CHECK(relative_error(drawn.back(), latents(plain)) <= largest_error);
    for (std::size_t i = 0; i + 1 < drawn.size(); ++i)
      CHECK(relative_error(drawn[i], drawn.back()) > 10 * largest_error);
  }
}

TEST_CASE("scaled weights: the file is the same for any number of threads") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  write_tensors<io::SafetensorsWriter>(source, {{"a.weight", normal_tensor({320, 960}, 1)}}, "f32");
  const int before = host::threads();
  for (const char* type : {"fp8_e4m3_tensor", "int8_row", "mxfp8", "nvfp4"}) {
    std::string first;
    for (const int threads : {1, 3}) {
      host::set_threads(threads);
      convert_file(source, out, to_type(type));
      const std::string bytes = read_text(out);
      if (first.empty()) first = bytes;
      CHECK(bytes == first);
    }
  }
  host::set_threads(before);
}

}  // namespace scaled_weights

namespace scaled_weights {
namespace {

/// What ggml's blocks of the values over `whole` stand for, times `whole`.
std::vector<f32> after_nvfp4(const std::vector<f32>& values, f32 whole, quant::EncodeOptions options = {}) {
  std::vector<f32> divided(values), stored(values.size());
  for (f32& value : divided) value /= whole;
  std::vector<nvfp4> blocks(values.size() / 64);
  quant::encode<nvfp4>(divided, blocks, options);
  decode_run<nvfp4>(blocks.data(), 0, static_cast<std::int64_t>(stored.size()), stored.data());
  for (f32& value : stored) value *= whole;
  return stored;
}

double squared_error(std::span<const f32> a, std::span<const f32> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

std::vector<f32> values_in(const std::filesystem::path& path, const std::string& name, const Shape& shape) {
  const io::ComponentSource file(path);
  const weights::WeightTensors read(file, "");
  const HostTensor<f32> values = nn::load_host_tensor<f32>(nn::ParameterPath(read, name), shape);
  return {values.values().begin(), values.values().end()};
}

}  // namespace

TEST_CASE("convert writes nvfp4 as ComfyUI has it, under a scale for the whole matrix") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  PlainTensors tensors{{"a.b.weight", normal_tensor({144, 192}, 1)},
                       {"few.weight", normal_tensor({17, 64}, 2)},     // rows that 16 does not divide
                       {"narrow.weight", normal_tensor({32, 48}, 3)},  // no whole blocks
                       {"none.weight", {Shape{16, 64}, std::vector<f32>(16 * 64)}}};
  // So small that ggml's scales, of which the least is 2^-9, are 0.
  for (f32& value : tensors["a.b.weight"].values) value *= 0.02f;
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  convert_file(source, out, to_type("nvfp4"));
  const io::ComponentSource file(out);
  const auto at = [&](const std::string& name) {
    const io::TensorEntry* const entry = file.lookup(name);
    REQUIRE(entry);
    return entry;
  };
  CHECK(at("a.b.weight")->dtype.file_name == "U8");
  CHECK(at("a.b.weight")->shape == Shape{144, 96});
  CHECK(at("a.b.weight_scale")->dtype.file_name == "F8_E4M3");
  CHECK(at("a.b.weight_scale")->shape == Shape{256, 12});
  CHECK(std::ranges::count(at("a.b.weight_scale")->bytes, std::byte{}) == (256 - 144) * 12);
  CHECK(at("a.b.weight_scale_2")->dtype.file_name == "F32");
  CHECK(at("a.b.weight_scale_2")->shape == Shape{});
  const auto announced = at("a.b.comfy_quant")->bytes;
  CHECK(std::string(reinterpret_cast<const char*>(announced.data()), announced.size()) ==
        "{\"format\": \"nvfp4\"}");
  CHECK(at("few.weight")->dtype.file_name == "F32");
  CHECK(at("narrow.weight")->dtype.file_name == "F32");

  const std::vector<f32>& values = tensors["a.b.weight"].values;
  f32 largest = 0, whole = 0;
  for (const f32 value : values) largest = std::max(largest, std::fabs(value));
  std::memcpy(&whole, at("a.b.weight_scale_2")->bytes.data(), sizeof whole);
  CHECK(whole == largest / 2688);
  const std::vector<f32> read = values_in(out, "a.b.weight", {144, 192});
  const std::vector<f32> expected = after_nvfp4(values, whole);
  for (std::size_t i = 0; i < read.size(); ++i)
    REQUIRE(std::fabs(read[i] - expected[i]) <= 1e-6f * std::fabs(expected[i]));
  // The value that the scale is made of is exact but for roundings; without it all would be 0.
  const auto place = std::ranges::find_if(values, [&](f32 v) { return std::fabs(v) == largest; });
  CHECK(std::fabs(read[static_cast<std::size_t>(place - values.begin())]) == Approx(largest).epsilon(1e-6));
  CHECK(after_nvfp4(values, 1) == std::vector<f32>(values.size()));
  CHECK(squared_error(read, values) < 0.02 * squared_error(std::vector<f32>(values.size()), values));
  CHECK(values_in(out, "none.weight", {16, 64}) == std::vector<f32>(16 * 64));

  // The search encoder, by an importance or without, makes it nearer.
  Settings searched = to_type("nvfp4");
  searched.encoder.encoder = quant::Encoder::search;
  convert_file(source, out, searched);
  CHECK(squared_error(values_in(out, "a.b.weight", {144, 192}), values) < 0.9 * squared_error(read, values));
}

TEST_CASE("an importance whose names hold control characters is refused in one printable line") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "imatrix.gguf";
  {
    io::GgufWriter writer(file);
    writer.declare("a\nb.in_sum2", dtype_info<f32>, Shape{1, 1});
    writer.write(std::as_bytes(std::span<const f32>(std::array{1.0f})));
    writer.commit();
  }
  CHECK(refusal_of([&] { Importance importance(file); }).find("'a?b.in_sum2': has no a?b.counts beside it") !=
        std::string::npos);
}

TEST_CASE("the search encoder makes mxfp8 of a safetensors file nearer") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  const PlainTensors tensors{{"a.weight", normal_tensor({64, 256}, 1)}};
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  Settings settings = to_type("mxfp8");
  convert_file(source, out, settings);
  const auto& values = tensors.at("a.weight").values;
  const double reference = squared_error(values_in(out, "a.weight", {64, 256}), values);
  settings.encoder.encoder = quant::Encoder::search;
  convert_file(source, out, settings);
  CHECK(squared_error(values_in(out, "a.weight", {64, 256}), values) < 0.95 * reference);
}

TEST_CASE("rows under scales are searched, each by the importance of its part of a matrix") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  PlainTensors tensors{{"a.weight", normal_tensor({64, 250}, 1)}};
  // Outliers in columns that count for nothing.
  std::vector<f32>& values = tensors["a.weight"].values;
  std::vector<f32> importance(250, 1.0f);
  for (std::size_t c = 0; c < 250; c += 50) importance[c] = 0;
  for (std::size_t i = 0; i < values.size(); i += 50) values[i] *= 9;
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  write_imatrix(folder.path() / "imatrix.gguf", "a.weight", importance);
  for (const Expected& type : expected_types) {
    if (type.type == "mxfp8") continue;
    INFO(type.type);
    const auto expected = [&](std::span<const f32> weights) {
      std::vector<f32> result(values);
      visit_scaled_row_dtype(type.type, [&]<class Format>(std::type_identity<Format>) {
        std::vector<std::byte> rows(64 * 258);
        quant::encode_rows<Format>(values, 250, rows, {quant::Encoder::search, weights});
        for (std::size_t r = 0; r < 64; ++r)
          decode_run<Format>(reinterpret_cast<const Format*>(rows.data() + r * 258), 0, 250,
                             &result[r * 250]);
      });
      return result;
    };
    Settings settings = to_type(type.type);
    convert_file(source, out, settings);
    const std::vector<f32> reference = values_in(out, "a.weight", {64, 250});
    settings.encoder.encoder = quant::Encoder::search;
    CHECK(ModelConversion(source, out, settings).warnings().empty());
    convert_file(source, out, settings);
    const std::vector<f32> searched = values_in(out, "a.weight", {64, 250});
    CHECK(searched == expected({}));
    CHECK(squared_error(searched, values) < squared_error(reference, values));
    settings.importance = std::make_shared<Importance>(folder.path() / "imatrix.gguf");
    CHECK(ModelConversion(source, out, settings).warnings().empty());
    convert_file(source, out, settings);
    CHECK(values_in(out, "a.weight", {64, 250}) == expected(importance));
    CHECK(expected(importance) != searched);
  }
}

TEST_CASE("an importance finds matrices behind a prefix, and those that BFL's names hold together") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors",
             file = folder.path() / "imatrix.gguf";
  const std::vector<f32> columns(64, 2.0f);
  const auto lacks = [&](const PlainTensors& tensors, const std::string& entry) {
    write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
    write_imatrix(file, entry, columns);
    const Importance importance(file);
    const ModelConversion model(source, out, to_type("int8_row"));
    return model.parts().front().conversion->without_importance(importance);
  };
  const PlainTensor matrix = normal_tensor({64, 64}, 1);
  for (const std::string prefix : {"", "model.diffusion_model.", "net.", "transformer."}) {
    CHECK(lacks({{prefix + "a.weight", matrix}}, "a.weight").empty());
    CHECK(lacks({{"a.weight", matrix}}, prefix + "a.weight").empty());
  }
  CHECK(lacks({{"a.weight", matrix}}, "b.weight") == std::vector<std::string>{"a.weight"});
  const std::string block = "transformer_blocks.0.attn.";
  CHECK(lacks({{block + "to_q.weight", matrix}, {block + "to_v.weight", matrix}, {"a.weight", matrix}},
              "double_blocks.0.img_attn.qkv.weight") == std::vector<std::string>{"a.weight"});
  CHECK(lacks({{"double_blocks.0.img_attn.qkv.weight", normal_tensor({192, 64}, 1)},
               {"double_blocks.0.img_attn.proj.weight", matrix}},
              block + "to_k.weight") == std::vector<std::string>{"double_blocks.0.img_attn.proj.weight"});
}

TEST_CASE("an importance in diffusers' names finds the matrices of a UNet in its authors'") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", file = folder.path() / "imatrix.gguf";
  const std::string unet = "model.diffusion_model.";
  write_tensors<io::SafetensorsWriter>(
      source,
      {{unet + "input_blocks.1.0.in_layers.2.weight", normal_tensor({8, 8, 3, 3}, 1)},
       {unet + "input_blocks.2.0.op.weight", normal_tensor({8, 8, 3, 3}, 2)},
       {unet + "input_blocks.3.1.transformer_blocks.0.attn2.to_q.weight", normal_tensor({64, 64}, 3)},
       {unet + "middle_block.1.transformer_blocks.0.attn2.to_q.weight", normal_tensor({64, 64}, 4)}},
      "f32");
  write_imatrix(file, "down_blocks.1.attentions.0.transformer_blocks.0.attn2.to_q.weight",
                std::vector<f32>(64, 2.0f));
  const ModelConversion model(source, folder.path() / "out.safetensors", to_type("int8_row"));
  CHECK(model.parts().front().conversion->without_importance(Importance(file)) ==
        std::vector<std::string>{unet + "middle_block.1.transformer_blocks.0.attn2.to_q.weight"});
}

TEST_CASE("a search that has nothing to search for is told") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  write_tensors<io::SafetensorsWriter>(source, {{"a.weight", normal_tensor({4, 64}, 1)}}, "f32");
  const auto warnings = [&](const std::string& type) {
    Settings settings = to_type(type);
    settings.encoder.encoder = quant::Encoder::search;
    return ModelConversion(source, folder.path() / "o.gguf", settings).warnings();
  };
  CHECK(warnings("q8_0").empty());
  for (const char* type : {"", "bf16"}) {
    REQUIRE(warnings(type).size() == 1);
    CHECK_THAT(warnings(type).front(), Catch::Contains("--encoder changes nothing"));
  }
}

TEST_CASE("nvfp4 of a GGUF file keeps its values in safetensors, bit for bit") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", gguf = folder.path() / "in.gguf",
             out = folder.path() / "out.safetensors";
  const PlainTensors tensors{{"a.weight", normal_tensor({48, 128}, 1)}, {"odd", normal_tensor({16, 64}, 2)}};
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  convert_file(source, gguf, to_type("nvfp4"));
  for (const char* type : {"nvfp4", ""}) {
    INFO("--type " << type);
    Settings settings = *type ? to_type(type) : Settings{};
    convert_file(gguf, out, settings);
    CHECK(values_in(out, "a.weight", {48, 128}) == values_in(gguf, "a.weight", {48, 128}));
    CHECK(values_in(out, "odd", {16, 64}) == values_in(gguf, "odd", {16, 64}));  // in f32: no layer's
    const io::ComponentSource file(out);
    CHECK(file.lookup("a.weight")->dtype.file_name == "U8");
    CHECK(file.lookup("odd")->dtype.file_name == "F32");
  }
}

}  // namespace scaled_weights
