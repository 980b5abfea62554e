// Weights with scales beside them, as ComfyUI and bitsandbytes store them: decoded as they are loaded.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/nn/parameters.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Whether runs that are decoded alone, or from the third on, are those of the whole.
bool decodes_by_runs(const weights::WeightTensor& weight) {
  const std::int64_t row = weight.run_values();
  std::vector<f32> whole(static_cast<std::size_t>(weight.shape.elements())), rows(whole.size());
  weight.decoding->decode(0, whole);
  for (std::int64_t at = 0; at < std::ssize(rows);) {
    const std::int64_t count = at < 2 * row ? row : std::ssize(rows) - at;
    weight.decoding->decode(
        at, std::span(rows).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
    at += count;
  }
  return std::memcmp(whole.data(), rows.data(), whole.size() * sizeof(f32)) == 0;
}

/// A file of one layer "a.b" and what else there is.
class OneLayer {
 public:
  explicit OneLayer(FileTensors tensors, const std::map<std::string, std::string>& metadata = {},
                    const std::string& prefix = "") {
    write_tensors(file(), with_prefix(prefix, tensors), metadata);
  }
  std::filesystem::path file() const { return folder_.path() / "a.safetensors"; }
  std::vector<f32> values(const Shape& shape, const std::string& prefix = "") const {
    const io::ComponentSource source(file());
    const weights::WeightTensors tensors(source, prefix);
    const weights::WeightTensor& weight = *tensors.lookup("a.b.weight");
    if (weight.decoding) CHECK(decodes_by_runs(weight));
    const HostTensor<f32> loaded = nn::load_host_tensor<f32>(nn::ParameterPath(tensors, "a.b.weight"), shape);
    return {loaded.values().begin(), loaded.values().end()};
  }
  std::string format() const {
    const io::ComponentSource source(file());
    return weights::WeightTensors(source, "").all().at("a.b.weight").format;
  }
  std::size_t count() const {
    const io::ComponentSource source(file());
    return weights::WeightTensors(source, "").all().size();
  }
  std::string refused() const {
    const io::ComponentSource source(file());
    return refusal(file(), [&] { weights::WeightTensors(source, ""); });
  }

 private:
  TemporaryFolder folder_;
};

FileTensor number(f32 value) { return file_tensor("F32", {}, std::vector<f32>{value}); }

/// All 256 codes of a byte format, as a matrix of 4 rows; NaN left out.
std::vector<std::uint8_t> codes() {
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::uint8_t>((i & 0x7f) >= 0x7c ? i & 0x80 : i);
  return all;
}
template <class T>
f32 of_code(std::uint8_t code) {
  return convert<f32>(std::bit_cast<T>(code));
}

template <class T>
void check_scaled(const std::string& dtype, const std::string& format) {
  const Shape shape{4, 64};
  const FileTensor weight = file_tensor(dtype, shape, codes());
  const FileTensor rows = file_tensor("F32", {4}, std::vector<f32>{1.5f, -0.25f, 3e-5f, 7});
  std::vector<f32> plain, whole, by_row;
  for (std::size_t i = 0; i < 256; ++i) {
    plain.push_back(of_code<T>(codes()[i]));
    whole.push_back(plain.back() * 0.37f);
    by_row.push_back(plain.back() * values_in(rows)[i / 64]);
  }
  const FileTensor marker = file_tensor(dtype, {0}, std::vector<std::uint8_t>{});
  const FileTensor announced = json_tensor("{\"format\": \"" + format + "\"}");
  const std::map<std::string, std::string> header{
      {"_quantization_metadata", "{\"layers\": {\"a.b\": {\"format\": \"" + format + "\"}}}"}};

  CHECK(OneLayer({{"a.b.weight", weight}}).values(shape) == plain);
  CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", number(0.37f)}, {"scaled_fp8", marker}})
            .values(shape) == whole);
  const OneLayer old({{"a.b.weight", weight},
                      {"a.b.scale_weight", number(0.37f)},
                      {"a.b.scale_input", number(1)},
                      {"scaled_fp8", marker}});
  CHECK(old.values(shape) == whole);
  CHECK(old.count() == 1);
  CHECK(old.format() == std::string(dtype_traits<T>::name) + " with a scale");
  const OneLayer by_tensor(
      {{"a.b.weight", weight}, {"a.b.weight_scale", number(0.37f)}, {"a.b.comfy_quant", announced}});
  CHECK(by_tensor.values(shape) == whole);
  CHECK(by_tensor.count() == 1);
  CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", rows}}, header).values(shape) == by_row);
  CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", rows}, {"a.b.comfy_quant", announced}})
            .values(shape) == by_row);
  CHECK(
      OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", rows}}, header, "net.").values(shape, "net.") ==
      by_row);

  // An announced scale that is not there.
  CHECK(says(OneLayer({{"a.b.weight", weight}, {"scaled_fp8", marker}}).refused(),
             "tensor 'a.b.weight': has no scale, which the file's tensor scaled_fp8 announces"));
  CHECK(says(OneLayer({{"a.b.weight", weight}, {"a.b.comfy_quant", announced}}).refused(), "has no scale"));
  CHECK(says(OneLayer({{"a.b.weight", weight}}, header).refused(), "has no scale"));
  // Scales of the wrong size or dtype, twice, for other values than were announced.
  const FileTensor three = file_tensor("F32", {3}, std::vector<f32>(3));
  CHECK(says(OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", three}}).refused(),
             "its scale is F32 [3] where one number, or one for each of 4 rows"));
  // As many as there are rows, of columns or tiles.
  for (const Shape& other : {Shape{1, 4}, Shape{2, 2}})
    CHECK(says(OneLayer({{"a.b.weight", weight},
                         {"a.b.weight_scale", file_tensor("F32", other, std::vector<f32>(4))}})
                   .refused(),
               "its scale is F32 " + to_string(other) + " where one number"));
  CHECK(says(OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", json_tensor("{}  ")}}).refused(),
             "its scale is U8"));
  CHECK(
      says(OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", file_tensor("F64", {}, std::vector{1.0})}})
               .refused(),
           "its scale is F64"));
  CHECK(says(
      OneLayer({{"a.b.weight", weight}, {"a.b.scale_weight", rows}, {"a.b.weight_scale", rows}}).refused(),
      "both a scale_weight and a weight_scale"));
  CHECK(says(OneLayer({{"a.b.weight", rows}, {"a.b.weight_scale", rows}}, header).refused(),
             "is announced as " + format + " and is F32"));
}

}  // namespace

TEST_CASE("quantised: fp8 as it is, and with scales in both spellings and both transports") {
  check_scaled<fp8_e4m3>("F8_E4M3", "float8_e4m3fn");
  check_scaled<fp8_e4m3>("F8_E4M3", "float8_e4m3fn_rowwise");
  check_scaled<fp8_e5m2>("F8_E5M2", "float8_e5m2");
}

TEST_CASE("quantised: announcements that are no JSON, or of formats that are not read") {
  const FileTensor weight = file_tensor("F8_E4M3", {4, 64}, codes());
  const auto refused = [&](const FileTensor& announced) {
    return OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", number(1)}, {"a.b.comfy_quant", announced}})
        .refused();
  };
  CHECK(says(refused(json_tensor("{")), "tensor 'a.b.comfy_quant': not valid JSON"));
  CHECK(says(refused(json_tensor("[1]")), "tensor 'a.b.comfy_quant': must hold a JSON object"));
  CHECK(says(refused(number(1)), "must be U8 that is JSON, not F32"));
  for (const std::string format : {"convrot_w4a4", "awq_w4a16", "asym_w4a8_int8", "new"})
    CHECK(says(refused(json_tensor("{\"format\": \"" + format + "\"}")),
               "is announced as '" + format + "', which is not read"));
  CHECK(says(refused(json_tensor(R"({"format": "float8_e5m2"})")),
             "is announced as float8_e5m2 and is F8_E4M3"));
  // In a file whose names have a prefix, which the header's do not, read with the prefix or as it lies.
  const std::map<std::string, std::string> rare{
      {"_quantization_metadata", R"({"layers": {"a.b": {"format": "awq_w4a16"}}})"}};
  for (const std::string prefix : {"", "model.diffusion_model.", "text_encoders.t5xxl.transformer.", "vae."})
    CHECK(says(OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", number(1)}}, rare, prefix).refused(),
               "tensor '" + prefix + "a.b.weight': is announced as 'awq_w4a16', which is not read"));
  const OneLayer header({{"a.b.weight", weight}}, {{"_quantization_metadata", "{\"layers\": 3}"}});
  CHECK(says(header.refused(), "header, _quantization_metadata: key 'layers': must be an object, not 3"));
}

TEST_CASE("quantised: announcements whose values are of another type, or contradict each other") {
  const FileTensor weight = file_tensor("I8", {4, 64}, codes());
  const auto layer = [&](const std::string& said, const std::string& in_header = "{}") {
    return OneLayer(
        {{"a.b.weight", weight}, {"a.b.weight_scale", number(1)}, {"a.b.comfy_quant", json_tensor(said)}},
        {{"_quantization_metadata", R"({"layers": )" + in_header + "}"}});
  };
  for (const std::string said : {R"({"format": 8})", R"({"format": ""})"})
    CHECK(says(layer(said).refused(), "tensor 'a.b.weight': is announced without the name of its format"));
  CHECK(says(OneLayer({{"a.b.weight", file_tensor("F8_E4M3", {4, 64}, codes())},
                       {"a.b.weight_scale", number(1)},
                       {"a.b.comfy_quant", json_tensor("{}")}})
                 .refused(),
             "is announced without the name of its format"));
  for (const std::string turned : {"1", "1.0", "\"true\"", "null"})
    CHECK(says(layer(R"({"format": "int8_tensorwise", "convrot": )" + turned + "}").refused(),
               "is announced with a convrot of " + turned + " where true or false is expected"));
  const std::string int8 = R"({"format": "int8_tensorwise"})";
  CHECK(says(layer(int8, R"({"a.b": {"format": "float8_e4m3fn"}})").refused(),
             "is announced as int8_tensorwise beside it and as float8_e4m3fn in the file's header"));
  CHECK(says(layer(int8, R"({"a.b": 3})").refused(), "is announced without the name of its format"));
  CHECK(says(layer(int8, R"({"a.b": )" + int8 + R"(, "a.b": )" + int8 + "}").refused(),
             "header, _quantization_metadata"));
  CHECK(layer(int8, R"({"a.b": )" + int8 + "}").count() == 1);
  // Whether the columns are rotated, and how many at a time.
  const auto turned = [](const std::string& group) {
    return R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": )" + group + "}";
  };
  CHECK(says(layer(int8, R"({"a.b": )" + turned("16") + "}").refused(),
             "is announced as not rotated beside it and as rotated in groups of 16 in the file's header"));
  CHECK(says(layer(turned("64"), R"({"a.b": )" + turned("16") + "}").refused(),
             "is announced as rotated in groups of 64 beside it and as rotated in groups of 16"));
  CHECK(layer(turned("16"), R"({"a.b": )" + turned("16") + "}").format() == "rotated int8 with a scale");
}

TEST_CASE("quantised: a scale that is announced under another prefix than the weight's is missed") {
  const FileTensor weight = file_tensor("F8_E4M3", {4, 64}, codes());
  const auto in_header = [](const std::string& layer) {
    return std::map<std::string, std::string>{
        {"_quantization_metadata", R"({"layers": {")" + layer + R"(": {"format": "float8_e4m3fn"}}})"}};
  };
  // The header's names have a prefix, or the file's, or each another one.
  for (const std::string before : {"", "model.diffusion_model.", "diffusion_model."})
    for (const std::string prefix : {"", "model.diffusion_model.", "model."}) {
      CAPTURE(before, prefix);
      const auto said = in_header(before + "a.b");
      CHECK(says(OneLayer({{"a.b.weight", weight}}, said, prefix).refused(), "has no scale"));
      CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", number(1)}}, said, prefix).count() == 1);
    }
  // A layer of another naming is none of the file's.
  CHECK(says(OneLayer({{"a.b.weight", weight}}, in_header("c.d")).refused(),
             "tensor 'a.b.weight': has no scale, and the file's header announces the format of 'c.d'"));
  CHECK(OneLayer({{"a.b.weight", number(1)}}, in_header("c.d")).count() == 1);

  const std::string transformer = "model.diffusion_model.";
  for (const auto& [mark, prefix] : {std::pair<std::string, std::string>{"", ""},
                                     {transformer, transformer},
                                     {"", transformer},
                                     {transformer, ""},
                                     {"diffusion_model.", transformer},
                                     {"text_encoders.t5xxl.transformer.", transformer}}) {  // of another part
    CAPTURE(mark, prefix);
    const TemporaryFolder folder;
    const auto file = folder.path() / "a.safetensors";
    write_tensors(file, {{prefix + "a.b.weight", weight},
                         {mark + "scaled_fp8", file_tensor("F8_E4M3", {0}, std::vector<std::uint8_t>{})}});
    const io::ComponentSource source(file);
    const auto open = [&source, &in = prefix] { weights::WeightTensors(source, in); };
    if (mark.starts_with("text"))
      CHECK_NOTHROW(open());
    else
      CHECK(says(refusal(file, open), "which the file's tensor scaled_fp8 announces"));
  }
}

TEST_CASE(
    "quantised: what lies beside a matrix and no format takes is refused, beside 16 bits it is a tensor") {
  const FileTensor fp8 = file_tensor("F8_E4M3", {4, 64}, codes()),
                   whole = file_tensor("F32", {4, 64}, std::vector<f32>(256));
  const std::vector<std::string> names{"a.b.weight_scale_inv", "a.b.weight_zero_point", "a.b.scales",
                                       "a.b.qzeros",           "a.b.weight.scale",      "a.b.smooth_factors",
                                       "a.b.hadamard_quip",    "a.b.sign_row",          "a.b.inner.rotation"};
  for (const std::string& name : names) {
    INFO(name);
    for (const std::string prefix : {"", "model.diffusion_model."})
      CHECK(says(OneLayer({{"a.b.weight", fp8}, {name, number(2)}}, {}, prefix).refused(),
                 "tensor '" + prefix + name + "': belongs to a quantised weight in a way that is not read"));
    // Beside a scale that is read, too.
    CHECK(says(OneLayer({{"a.b.weight", fp8}, {"a.b.weight_scale", number(1)}, {name, number(2)}}).refused(),
               "tensor '" + name + "': belongs to a quantised weight"));
    CHECK(OneLayer({{"a.b.weight", whole}, {name, number(2)}}).count() == 2);
    CHECK(OneLayer({{"c.weight", fp8}, {name, number(2)}}).count() == 2);
  }
  CHECK(OneLayer({{"a.b.weight", fp8}, {"a.b.bias", number(2)}}).count() == 2);
  CHECK(OneLayer({{"a.b.weight", fp8}, {"a.comfy_attention.config", json_tensor("{}")}}).count() == 2);
  CHECK(OneLayer({{"a.b.weight", fp8}, {"a.b.comfy_attention.config", json_tensor("{}")}}).count() == 2);
}

TEST_CASE("quantised: fp8 of ModelOpt, its other formats, and whole numbers of SDNQ by name") {
  const Shape shape{4, 64};
  const FileTensor fp8 = file_tensor("F8_E4M3", shape, codes()), int8 = file_tensor("I8", shape, codes()),
                   bytes = file_tensor("U8", shape, codes());
  const std::string quantizer = "a.b.weight_quantizer.";
  std::vector<f32> whole;
  for (const std::uint8_t code : codes()) whole.push_back(of_code<fp8_e4m3>(code) * 0.37f);
  FileTensors tensors{{"a.b.weight", fp8},
                      {quantizer + "_scale", number(0.37f)},
                      {quantizer + "_amax", number(0.37f * 448)},
                      {"a.b.input_quantizer._amax", number(3)}};
  const OneLayer layer(tensors);
  CHECK(layer.values(shape) == whole);
  CHECK(layer.count() == 1);
  CHECK(layer.format() == "fp8_e4m3 with a scale");
  tensors["a.b.input_quantizer._pre_quant_scale"] = file_tensor("F32", {64}, std::vector<f32>(64));
  CHECK(says(OneLayer(tensors).refused(), "_pre_quant_scale': belongs to a quantised weight"));

  const std::string other = "tensor 'a.b.weight': is a weight of ModelOpt in another format than fp8";
  CHECK(says(OneLayer({{"a.b.weight", int8}, {quantizer + "_scale", number(1)}}).refused(), other));
  CHECK(says(OneLayer({{"a.b.weight", bytes}, {quantizer + "_scale", number(1)}}).refused(), other));
  CHECK(says(
      OneLayer(
          {{"a.b.weight", fp8}, {quantizer + "_scale", number(1)}, {quantizer + "_double_scale", number(1)}})
          .refused(),
      other));
  for (const FileTensor& codes_of : {int8, bytes})
    CHECK(says(OneLayer({{"a.b.weight", codes_of}, {"a.b.scale", number(1)}}).refused(),
               "tensor 'a.b.weight': is a weight in SDNQ's layout, which is not read"));
}

namespace {

/// A GGUF file as molbal's ComfyUI-GGUF writes it: codes, a scale for each row, and what it says of both.
class AnnouncedGguf {
 public:
  AnnouncedGguf(const Shape& shape, const std::vector<std::int8_t>& codes, const std::vector<f32>& scales,
                const std::string& said, const std::string& key = "comfy.gguf.quant.a.b.weight") {
    io::GgufWriter writer(file());
    writer.set(key, said);
    writer.declare("a.b.weight", io::gguf_type("i8")->info, shape);
    writer.declare("a.b.weight_scale", dtype_info<f32>, {shape[0], 1});
    writer.write(std::as_bytes(std::span(codes)));
    writer.write(std::as_bytes(std::span(scales)));
    writer.commit();
  }
  std::filesystem::path file() const { return folder_.path() / "a.gguf"; }
  std::vector<f32> values(const Shape& shape) const {
    const io::ComponentSource source(file());
    const HostTensor<f32> loaded =
        nn::load_host_tensor<f32>(nn::ParameterPath(weights::WeightTensors(source, ""), "a.b.weight"), shape);
    return {loaded.values().begin(), loaded.values().end()};
  }
  std::string refused() const {
    const io::ComponentSource source(file());
    return refusal(file(), [&] { weights::WeightTensors(source, ""); });
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("quantised: what a GGUF file announces of int8: rotated where it says that it was") {
  const Shape shape{2, 16};
  std::vector<std::int8_t> stored(32);
  for (std::size_t i = 0; i < stored.size(); ++i)
    stored[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
  const std::vector<f32> rows{0.5f, 0.01f};
  const FileTensor codes_of = file_tensor("I8", shape, stored);
  const auto in_safetensors = [&](const std::string& said) {
    return OneLayer({{"a.b.weight", codes_of},
                     {"a.b.weight_scale", file_tensor("F32", {2, 1}, rows)},
                     {"a.b.comfy_quant", json_tensor(said)}})
        .values(shape);
  };
  const std::string rotated = R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 16)";
  const std::vector<f32> turned = in_safetensors(rotated + "}"),
                         plain = in_safetensors(R"({"format": "int8_tensorwise"})");
  CHECK(turned != plain);
  const auto gguf = [&](const std::string& said) { return AnnouncedGguf(shape, stored, rows, said); };
  CHECK(gguf(rotated + R"(, "weight_rotated": true, "per_row": true})").values(shape) == turned);
  CHECK(gguf(rotated + R"(, "weight_rotated": false})").values(shape) == plain);
  CHECK(gguf(rotated + "}").values(shape) == plain);
  CHECK(gguf(R"({"format": "int8_tensorwise"})").values(shape) == plain);

  CHECK(says(gguf(R"({"format": "int4_cr", "convrot_groupsize": 16})").refused(),
             "tensor 'a.b.weight': is announced as 'int4_cr', which is not read"));
  CHECK(says(gguf("3").refused(), "is announced without the name of its format"));
  CHECK(says(gguf("{").refused(), "key 'comfy.gguf.quant.a.b.weight'"));
  CHECK(says(AnnouncedGguf(shape, stored, rows, "{}", "comfy.gguf.quant.a.b").refused(),
             "key 'comfy.gguf.quant.a.b' names no weight of a layer"));
}

TEST_CASE("quantised: int8 with scales, and rotated") {
  const Shape shape{3, 16};
  std::vector<std::int8_t> stored(48);
  for (std::size_t i = 0; i < stored.size(); ++i)
    stored[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
  const FileTensor weight = file_tensor("I8", shape, stored);
  const FileTensor rows = file_tensor("F32", {3, 1}, std::vector<f32>{0.5f, 0.01f, 2});
  std::vector<f32> expected;
  for (std::size_t i = 0; i < stored.size(); ++i)
    expected.push_back(static_cast<f32>(stored[i]) * values_in(rows)[i / 16]);
  const FileTensor announced = json_tensor(R"({"format": "int8_tensorwise"})");
  CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", rows}, {"a.b.comfy_quant", announced}})
            .values(shape) == expected);

  // W = stored times the Kronecker square of the symmetric matrix, group by group.
  const int turn[4][4] = {{1, 1, 1, -1}, {1, 1, -1, 1}, {1, -1, 1, 1}, {-1, 1, 1, 1}};
  std::vector<f32> turned(48);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 16; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < 16; ++k)
        sum += static_cast<double>(expected[r * 16 + k]) * turn[k / 4][c / 4] * turn[k % 4][c % 4] / 4;
      turned[r * 16 + c] = static_cast<f32>(sum);
    }
  const auto rotated = [&](const std::string& group) {
    return FileTensors{
        {"a.b.weight", weight},
        {"a.b.weight_scale", rows},
        {"a.b.comfy_quant",
         json_tensor(R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": )" + group +
                     "}")}};
  };
  CHECK(OneLayer(rotated("16")).format() == "rotated int8 with a scale a row");
  const std::vector<f32> read = OneLayer(rotated("16")).values(shape);
  f32 largest = 0;
  for (const f32 value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < 48; ++i)  // sums of 16 terms in f32
    CHECK(std::abs(read[i] - turned[i]) <= 16 * 0x1p-24f * 16 * largest);
  // The same, said under `params` beside the matrix or in the header; what is said outside of it counts.
  const std::string under_params =
      R"({"format": "int8_tensorwise", "params": {"convrot": true, "convrot_groupsize": 16}})";
  const auto beside = [&](const std::string& said) {
    FileTensors tensors = rotated("16");
    tensors["a.b.comfy_quant"] = json_tensor(said);
    return OneLayer(tensors);
  };
  CHECK(beside(under_params).values(shape) == read);
  CHECK(OneLayer({{"a.b.weight", weight}, {"a.b.weight_scale", rows}},
                 {{"_quantization_metadata", R"({"layers": {"a.b": )" + under_params + "}}"}})
            .values(shape) == read);
  CHECK(beside(R"({"format": "int8_tensorwise", "convrot": true, "params": {"convrot_groupsize": 16}})")
            .values(shape) == read);
  // As ComfyUI-INT8-Fast says it, without the format, and filled with zeros.
  CHECK(beside(R"({"convrot": true, "convrot_groupsize": 16, "per_row": true})").values(shape) == read);
  CHECK(beside(R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 16})" +
               std::string(5, '\0'))
            .values(shape) == read);
  CHECK(beside(R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 16,
                   "params": {"convrot": false, "convrot_groupsize": 4}})")
            .values(shape) == read);
  CHECK(beside(R"({"format": "int8_tensorwise", "convrot": false, "params": {"convrot": true}})")
            .values(shape) == expected);
  CHECK(says(OneLayer(rotated("8")).refused(), "rotated in groups of 8"));
  CHECK(says(OneLayer(rotated("64")).refused(), "rotated in groups of 64"));
  CHECK(says(OneLayer(rotated("0")).refused(), "rotated in groups of 0"));
  CHECK(says(OneLayer(rotated("-4")).refused(), "rotated in groups of -4"));
  CHECK(says(OneLayer(rotated("\"16\"")).refused(), "rotated in groups of \"16\" of"));
  CHECK(says(OneLayer(rotated("16.5")).refused(), "rotated in groups of 16.5 of"));
  FileTensors empty = rotated("16");
  empty["a.b.weight"] = file_tensor("I8", {3, 0}, std::vector<std::int8_t>());
  CHECK(says(OneLayer(empty).refused(), "rotated in groups of 16 of its 0 columns"));
  CHECK(says(OneLayer({{"a.b.weight", weight}}).refused(), "has no scale"));
}

TEST_CASE("quantised: mxfp8 and nvfp4 with scales in the order of tensor cores") {
  // 130 rows and 160 columns: scales padded to 256 by 8 (mxfp8) and 256 by 12 (nvfp4).
  constexpr std::int64_t rows = 130, columns = 160;
  const auto place = [](std::int64_t r, std::int64_t c, std::int64_t tiles) {
    return static_cast<std::size_t>((r / 128 * tiles + c / 4) * 512 + (r % 32) * 16 + (r % 128 / 32) * 4 +
                                    c % 4);
  };
  {
    std::vector<std::uint8_t> weight(rows * columns), scales(256 * 8);
    std::vector<f32> expected(weight.size());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>(r * columns + c);
        weight[at] = codes()[(at * 7) % 256];
        const auto power = static_cast<int>((r * 5 + c / 32 * 3) % 9) - 4;
        scales[place(r, c / 32, 2)] = static_cast<std::uint8_t>(127 + power);
        expected[at] = std::ldexp(of_code<fp8_e4m3>(weight[at]), power);
      }
    const FileTensor announced = json_tensor(R"({"format": "mxfp8"})");
    FileTensors tensors{{"a.b.weight", file_tensor("F8_E4M3", {rows, columns}, weight)},
                        {"a.b.weight_scale", file_tensor("U8", {256, 8}, scales)},
                        {"a.b.comfy_quant", announced}};
    CHECK(OneLayer(tensors).values({rows, columns}) == expected);
    tensors["a.b.weight_scale"].dtype = "F8_E8M0";
    CHECK(OneLayer(tensors).values({rows, columns}) == expected);
    tensors["a.b.weight_scale"].dtype = "F32";
    tensors["a.b.weight_scale"].shape = {256, 2};
    CHECK(says(OneLayer(tensors).refused(), "its scales are F32 where bytes are expected"));
    tensors["a.b.weight_scale"] = file_tensor("U8", {130, 5}, std::vector<std::uint8_t>(650));
    CHECK(says(OneLayer(tensors).refused(), "its scales take 650 bytes where 2048 are expected"));
    tensors.erase("a.b.weight_scale");
    CHECK(says(OneLayer(tensors).refused(), "is announced as mxfp8 and has no weight_scale"));
  }
  std::vector<std::uint8_t> weight(rows * columns / 2), scales(256 * 12);
  std::vector<f32> expected(rows * columns);
  const f32 magnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(r * columns + c);
      const auto code = static_cast<unsigned>((r * 31 + c * 7) % 16);
      weight[at / 2] = static_cast<std::uint8_t>(weight[at / 2] | (c % 2 == 0 ? code << 4 : code));
      const auto scale = static_cast<std::uint8_t>(0x30 + (r + c / 16) % 16);
      scales[place(r, c / 16, 3)] = scale;
      expected[at] = (code & 8 ? -1 : 1) * magnitudes[code & 7] * (of_code<fp8_e4m3>(scale) * 0.013f);
    }
  FileTensors tensors{{"a.b.weight", file_tensor("U8", {rows, columns / 2}, weight)},
                      {"a.b.weight_scale", file_tensor("F8_E4M3", {256, 12}, scales)},
                      {"a.b.weight_scale_2", number(0.013f)},
                      {"a.b.comfy_quant", json_tensor(R"({"format": "nvfp4"})")}};
  CHECK(OneLayer(tensors).values({rows, columns}) == expected);
  CHECK(OneLayer(tensors).format() == "swizzled nvfp4");
  // What the layer's input is multiplied by (AWQ).
  FileTensors smoothed = tensors;
  std::vector<f32> by(columns), times = expected;
  for (std::size_t c = 0; c < by.size(); ++c) by[c] = 0.5f + static_cast<f32>(c) / 64;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] *= by[i % columns];
  smoothed["a.b.pre_quant_scale"] = file_tensor("F32", {columns}, by);
  const OneLayer smooth(smoothed);
  CHECK(smooth.values({rows, columns}) == times);
  CHECK(smooth.format() == "swizzled nvfp4 with a scale a column");
  {
    const io::ComponentSource source(smooth.file());
    const weights::WeightTensors read(source, "");
    CHECK_FALSE(read.lookup("a.b.weight")->decoding->codes);
    CHECK(read.lookup("a.b.weight")->bytes == rows * columns / 2 + 256 * 12 + 4 + 4 * columns);
  }
  smoothed["a.b.pre_quant_scale"] = file_tensor("F32", {columns - 16}, std::vector<f32>(columns - 16));
  CHECK(says(OneLayer(smoothed).refused(), "its pre_quant_scale is F32 [144] where one number for each of"));
  FileTensors broken = tensors;
  broken.erase("a.b.weight_scale_2");
  CHECK(says(OneLayer(broken).refused(), "is announced as nvfp4 and has no weight_scale_2"));
  broken = tensors;
  broken["a.b.weight_scale_2"] = file_tensor("F32", {2}, std::vector<f32>(2));
  CHECK(says(OneLayer(broken).refused(), "weight_scale_2 is not a number"));
}

namespace {

/// A layer of 40 rows and 72 columns that was padded as ComfyUI pads it. What is beyond these is no 0 here,
/// so that who reads it is seen.
void check_padding(FileTensors tensors, const std::vector<f32>& stored, std::int64_t stored_columns) {
  const auto first = [&](const Shape& part) {
    std::vector<f32> values;
    for (std::int64_t r = 0; r < part[0]; ++r)
      for (std::int64_t c = 0; c < part[1]; ++c)
        values.push_back(stored[static_cast<std::size_t>(r * stored_columns + c)]);
    return values;
  };
  for (const Shape& shape : {Shape{40, 72}, Shape{33, 65}, Shape{40, stored_columns}})
    CHECK(OneLayer(tensors).values(shape) == first(shape));
  tensors["a.b.bias"] = file_tensor("F32", {40}, std::vector<f32>(40));
  const OneLayer with_bias(tensors);
  CHECK(with_bias.values({40, 72}) == first({40, 72}));
  const io::ComponentSource source(with_bias.file());
  CHECK(weights::WeightTensors(source, "").lookup("a.b.weight")->shape == Shape{40, stored_columns});
  // Sizes that would not have been rounded up to those that are stored.
  for (const Shape& shape : {Shape{40, 64}, Shape{39, 72}, Shape{40, 97}, Shape{65, 72}})
    CHECK(says(refusal(with_bias.file(), [&] { with_bias.values(shape); }), "has shape [40, "));
}

}  // namespace

TEST_CASE("quantised: mxfp8 and nvfp4 that were padded lose what a model does not have") {
  std::vector<std::uint8_t> bytes(64 * 96), scales(128 * 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = codes()[i * 7 % 256];
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(124 + i % 7);
  const auto values = [&](const FileTensors& tensors, const Shape& shape) {
    return OneLayer(tensors).values(shape);
  };
  FileTensors mx{
      {"a.b.weight", file_tensor("F8_E4M3", {64, 96}, bytes)},
      {"a.b.weight_scale",
       file_tensor("U8", {128, 4}, std::vector<std::uint8_t>(scales.begin(), scales.begin() + 512))},
      {"a.b.comfy_quant", json_tensor(R"({"format": "mxfp8"})")}};
  check_padding(mx, values(mx, {64, 96}), 96);
  // Blocks stay where no block is cut.
  const OneLayer layer(mx);
  const io::ComponentSource source(layer.file());
  const weights::WeightTensors tensors(source, "");
  CHECK(nn::ParameterPath(tensors, "a.b.weight").find({40, 96}).dtype == dtype_info<mxfp8>);
  CHECK(nn::ParameterPath(tensors, "a.b.weight").find({40, 72}).dtype == dtype_info<f32>);

  for (std::uint8_t& scale : scales) scale = static_cast<std::uint8_t>(scale - 80);
  FileTensors nv{
      {"a.b.weight",
       file_tensor("U8", {48, 40}, std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + 48 * 40))},
      {"a.b.weight_scale", file_tensor("F8_E4M3", {128, 8}, scales)},
      {"a.b.weight_scale_2", number(0.013f)},
      {"a.b.comfy_quant", json_tensor(R"({"format": "nvfp4"})")}};
  check_padding(nv, values(nv, {48, 80}), 80);
}

TEST_CASE("quantised: bitsandbytes' 4 bits with scales as they are and in bytes, and int8 by rows") {
  const Shape shape{10, 20};  // 200 values: three blocks of 64 and one that ends early
  std::vector<f32> map(16);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<f32>(i) / 7.5f - 1;
  std::vector<std::uint8_t> packed(100);
  std::vector<f32> codes_of(200);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto code = static_cast<unsigned>(i * 11 % 16);
    packed[i / 2] = static_cast<std::uint8_t>(packed[i / 2] | (i % 2 == 0 ? code << 4 : code));
    codes_of[i] = map[code];
  }
  const std::vector<f32> absmax{0.5f, 2, 0.001f, 3};
  std::vector<f32> expected(200);
  for (std::size_t i = 0; i < 200; ++i) expected[i] = codes_of[i] * absmax[i / 64];
  FileTensors tensors{
      {"a.b.weight", file_tensor("U8", {100, 1}, packed)},
      {"a.b.weight.absmax", file_tensor("F32", {4}, absmax)},
      {"a.b.weight.quant_map", file_tensor("F32", {16}, map)},
      {"a.b.weight.quant_state.bitsandbytes__nf4",
       json_tensor(R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [10, 20]})")}};
  const OneLayer plain(tensors);
  CHECK(plain.values(shape) == expected);
  CHECK(plain.count() == 1);
  CHECK(plain.format() == "nf4 of bitsandbytes");
  // As bnb_4bit_quant_storage has the same bytes stored.
  for (const auto& [dtype, size] : {std::pair<std::string, std::int64_t>{"BF16", 2}, {"F32", 4}}) {
    FileTensors other = tensors;
    other["a.b.weight"] = {dtype, {100 / size, 1}, tensors["a.b.weight"].bytes};
    CHECK(OneLayer(other).values(shape) == expected);
  }

  FileTensors nested = tensors;
  std::vector<f32> map2(256);
  for (std::size_t i = 0; i < map2.size(); ++i) map2[i] = static_cast<f32>(i) / 255 - 0.5f;
  nested["a.b.weight.absmax"] = file_tensor("U8", {4}, std::vector<std::uint8_t>{0, 100, 200, 255});
  nested["a.b.weight.nested_absmax"] = file_tensor("F32", {2}, std::vector<f32>{3, 5});
  nested["a.b.weight.nested_quant_map"] = file_tensor("F32", {256}, map2);
  nested["a.b.weight.quant_state.bitsandbytes__nf4"] = json_tensor(
      R"({"quant_type": "nf4", "blocksize": 64, "shape": [10, 20], "nested_blocksize": 2, "nested_offset": 0.75})");
  const std::size_t bytes[4] = {0, 100, 200, 255};
  for (std::size_t i = 0; i < 200; ++i)
    expected[i] = codes_of[i] * (map2[bytes[i / 64]] * (i / 64 < 2 ? 3.0f : 5.0f) + 0.75f);
  CHECK(OneLayer(nested).values(shape) == expected);

  const auto without = [](FileTensors all, const std::string& name) {
    all.erase(name);
    return OneLayer(all).refused();
  };
  CHECK(says(without(tensors, "a.b.weight.absmax"), "without its absmax"));
  CHECK(says(without(tensors, "a.b.weight.quant_map"), "without its quant_map"));
  CHECK(says(without(tensors, "a.b.weight.quant_state.bitsandbytes__nf4"), "without its quant_state"));
  CHECK(says(without(nested, "a.b.weight.nested_absmax"), "without the nested_absmax"));
  const auto with_state = [&](const std::string& state) {
    FileTensors all = tensors;
    all["a.b.weight.quant_state.bitsandbytes__nf4"] = json_tensor(state);
    return OneLayer(all).refused();
  };
  const std::string of_state = "tensor 'a.b.weight.quant_state.bitsandbytes__nf4': ";
  CHECK(says(with_state("{}"), of_state + "key 'shape': is missing"));
  CHECK(says(with_state(R"({"shape": [10, -20]})"), of_state + "key 'shape[1]': must be an integer"));
  CHECK(says(with_state(R"({"shape": [10, 20], "nested_offset": 1e39})"), of_state + "key 'nested_offset'"));
  CHECK(says(with_state(R"({"shape": [10, 21]})"), "of 100 bytes where [10, 21] takes 105"));
  CHECK(says(with_state(R"({"shape": [10, 20], "blocksize": 0})"), of_state + "key 'blocksize'"));
  CHECK(says(with_state(R"({"shape": [10, 20], "blocksize": 128})"), "its absmax has 4 values for 2 blocks"));
  CHECK(says(with_state(R"({"shape": [100000000000000000, 9]})"), of_state + "a tensor's size overflows"));

  const std::vector<std::int8_t> stored{127, -64, 3, -127};
  const OneLayer rows({{"a.b.weight", file_tensor("I8", {2, 2}, stored)},
                       {"a.b.SCB", file_tensor("F32", {2}, std::vector<f32>{2, 3})},
                       {"a.b.weight_format", json_tensor("{}")}});
  // Of 9, a division by 127 gives another last bit.
  CHECK(rows.values({2, 2}) == std::vector<f32>{2, -128 * (1 / 127.0f), 0x1.224488p-4f, -3});
  CHECK(rows.count() == 1);
}
