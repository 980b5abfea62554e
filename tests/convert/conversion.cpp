// What conversions write: the values that encoding and decoding give, the same bytes where the type is the
// same.
#include <cstring>
#include <limits>

#include <catch2/catch.hpp>
#include <convert/folder_in_progress.hpp>
#include <convert/output_file.hpp>
#include <convert/scaled_weight.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/runtime/parallel.hpp>

#include "weights_files.hpp"

namespace conversions {
namespace {

using namespace precast;
using namespace precast::conversion;
using namespace precast::testing;

/// Sizes about where tasks and pieces end, and of several pieces.
PlainTensors some_tensors() {
  PlainTensors tensors;
  unsigned seed = 40;
  for (const Shape& shape :
       {Shape{3, 256}, Shape{1, 65536}, Shape{257, 256}, Shape{2, 3, 512}, Shape{4100, 1024}})
    tensors["t" + std::to_string(seed)] = normal_tensor(shape, seed), ++seed;
  return tensors;
}

template <class Check>
void check_all(const std::filesystem::path& file, const PlainTensors& tensors, Check&& check) {
  const InputWeights weights(file);
  REQUIRE(weights.tensors().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    const InputTensor* const found = weights.lookup(name);
    REQUIRE(found);
    CHECK(found->shape == tensor.shape);
    check(tensor, *found);
  }
}

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

Settings named(const std::string& type) { return to_type("", {"t=" + type}); }

}  // namespace

TEST_CASE("each type holds what its encoder makes of the values, in both kinds of file") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  const PlainTensors tensors = some_tensors();
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  for (const formats::StoredFormat& cast_type : formats::all_formats())
    for (const Container container : {Container::safetensors, Container::gguf}) {
      const DtypeInfo& type = cast_type.info;
      if (!holds(container, type) || is_scaled(type, container)) continue;  // those are scaled_weights.cpp's
      INFO(type.name);
      const auto out = folder.path() / (container == Container::gguf ? "out.gguf" : "out.safetensors");
      convert_file(source, out, named(std::string(type.name)));
      check_all(out, tensors, [&](const PlainTensor& plain, const InputTensor& made) {
        CHECK(made.type == type);
        const std::vector<std::byte> bytes = encoded(std::string(type.name), plain.values);
        CHECK(std::ranges::equal(made.bytes, bytes));
      });
      // And back: what was stored, exactly, as f32.
      const auto back = folder.path() / "back.safetensors";
      convert_file(out, back, named("f32"));
      check_all(back, tensors, [&](const PlainTensor& plain, const InputTensor& made) {
        CHECK(decoded(made) == stored_as(std::string(type.name), plain.values));
      });
    }
}

TEST_CASE("the same type is the same bytes, whatever they are") {
  const TemporaryFolder folder;
  for (const BlockFormat& format : block_formats) {
    if (format.ggml_type == no_ggml_type) continue;
    // Bytes that no encoder writes: codes of every kind, and scales that are no numbers.
    PlainTensors tensors{{"t", {Shape{64, 256}, std::vector<f32>(64 * 256)}}};
    const auto source = folder.path() / "source.gguf", out = folder.path() / "out.gguf";
    std::string bytes(static_cast<std::size_t>(bytes_of(format.info, 64 * 256)), '\0');
    std::mt19937 engine(7);
    for (char& c : bytes) c = static_cast<char>(engine());
    {
      io::GgufWriter writer(source);
      writer.set("general.name", "some");
      writer.declare("t", format.info, Shape{64, 256});
      writer.write(std::as_bytes(std::span(bytes)));
      writer.commit();
    }
    convert_file(source, out, named(std::string(format.info.name)));
    const InputWeights made(out);
    CHECK(std::memcmp(made.lookup("t")->bytes.data(), bytes.data(), bytes.size()) == 0);
    CHECK(io::GgufFile(out).value("general.name")->text() == "some");
  }
}

TEST_CASE("the file is the same for any number of threads") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  write_tensors<io::SafetensorsWriter>(source, some_tensors(), "bf16");
  const int before = host::threads();
  std::string first;
  for (const int threads : {1, 2, 3}) {
    host::set_threads(threads);
    convert_file(source, folder.path() / "out.gguf", named("q5_k"));
    const std::string bytes = read_text(folder.path() / "out.gguf");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  host::set_threads(before);
}

TEST_CASE("values that are not finite or too large are named with tensor and index, and nothing is written") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf";
  const auto refusal = [&](f32 value, const std::string& type, const std::filesystem::path& to) {
    PlainTensors tensors{{"a.weight", normal_tensor({300, 256}, 1)}};
    tensors["a.weight"].values[70000] = value;
    write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
    const std::string said = refusal_of([&] { convert_file(source, to, to_type("", {"a=" + type})); });
    CHECK(!std::filesystem::exists(to));
    CHECK(files_in(folder.path()) == 1);
    return said;
  };
  constexpr f32 inf = std::numeric_limits<f32>::infinity();
  for (const char* type : {"q4_k", "q8_0", "f16", "bf16", "f32"}) {
    CHECK_THAT(refusal(inf, type, out),
               Catch::Contains("tensor 'a.weight': value 70000, at [273, 112], is inf"));
    CHECK_THAT(refusal(-inf, type, out), Catch::Contains("is -inf: weights must be finite"));
    CHECK_THAT(refusal(std::nanf(""), type, out), Catch::Contains("value 70000, at [273, 112], is nan"));
  }
  CHECK_THAT(refusal(65520, "f16", out),
             Catch::Contains("is 65520, beyond what f16 holds: choose bf16 or f32 for"));
  CHECK_THAT(refusal(3.4e38f, "bf16", out), Catch::Contains("beyond what bf16 holds: choose f32 for"));
  CHECK(refusal(65504, "f16", folder.path() / "other" / "x.gguf").find("beyond") == std::string::npos);
  CHECK_THAT(refusal(500, "fp8_e4m3", folder.path() / "out.safetensors"),
             Catch::Contains("beyond what fp8_e4m3"));
  CHECK_THAT(refusal(1e7f, "q8_0", out), Catch::Contains("is 1e+07, beyond what q8_0 holds"));
  // Far beyond f16, where sums of their squares are beyond f32, ggml's encoders leave 0 of a block.
  for (const char* type : {"q6_k", "q5_k", "q4_k", "q3_k", "q2_k", "iq4_xs", "iq4_nl", "q8_0", "q5_1"})
    for (const f32 value : {1e15f, -1e18f, 3e20f, -3e38f}) {
      INFO(type << " of " << value);
      CHECK_THAT(refusal(value, type, out), Catch::Contains(std::string("beyond what ") + type + " holds"));
    }
  // Its scales end at 448, and far above it the nearest of its numbers is 0.
  for (const f32 value : {-2700.0f, 1e20f})
    CHECK_THAT(refusal(value, "nvfp4", out), Catch::Contains("beyond what nvfp4 holds"));
}

TEST_CASE("f64 is rounded once, whatever it becomes") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.safetensors";
  struct Case {
    std::string type;
    std::vector<double> values;
    std::vector<f32> stored;
  };
  // Values next to the middle between two of the type: rounded to f32 first, they would be the middle.
  const double tiny = std::ldexp(1, -30);
  const f32 half_ulp = std::ldexp(1.0f, -24);
  for (const auto& [type, values, stored] : std::vector<Case>{
           {"f16",
            {1 + std::ldexp(1, -11) + tiny, 1 + 3 * std::ldexp(1, -11) - tiny, 65520 - tiny,
             -std::ldexp(1, -25) - std::ldexp(1, -60)},
            {1 + std::ldexp(1.0f, -10), 1 + std::ldexp(1.0f, -10), 65504, -half_ulp}},
           {"bf16", {1 + 1.0 / 256 + tiny, -1 - 3.0 / 256 + tiny}, {1.0078125f, -1.0078125f}},
           {"fp8_e4m3", {1 + 1.0 / 16 + tiny, 1 + 3.0 / 16 - tiny}, {1.125f, 1.125f}},
           {"f32", {1 + std::ldexp(1, -24) + tiny, 1 + std::ldexp(1, -24) - tiny}, {1 + 2 * half_ulp, 1}}}) {
    INFO(type);
    io::SafetensorsWriter writer(source);
    writer.declare("t", {"f64", 1, 8}, Shape{std::ssize(values)});
    writer.write(std::as_bytes(std::span(values)));
    writer.commit();
    convert_file(source, out, named(type));
    CHECK(decoded(*InputWeights(out).lookup("t")) == stored);
  }
}

TEST_CASE("f64 beyond f32 is not called infinite, and what is infinite is") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  const auto refusal = [&](double value) {
    const std::vector<double> values{1, value};
    io::SafetensorsWriter writer(source);
    writer.declare("t", {"f64", 1, 8}, Shape{2});
    writer.write(std::as_bytes(std::span(values)));
    writer.commit();
    return refusal_of([&] { convert_file(source, folder.path() / "out.safetensors", named("f32")); });
  };
  CHECK_THAT(refusal(-1e300), Catch::Contains("value 1, at [1], is -1e+300, beyond what f32 holds"));
  CHECK_THAT(refusal(std::numeric_limits<double>::infinity()),
             Catch::Contains("is inf: weights must be finite"));
}

TEST_CASE("a file without weights is refused") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf";
  write_tensors<io::SafetensorsWriter>(source, {}, "f32");
  CHECK_THAT(refusal_of([&] { convert_file(source, out, to_type("q8_0")); }),
             Catch::Contains("source.safetensors: holds no weights: get the file again"));
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("numbers that nothing here decodes are refused by name, and not kept as integers are") {
  const TemporaryFolder folder;
  for (const char* type : {"F4", "F8_E4M3FNUZ", "C64"}) {
    const auto source = folder.path() / "source.safetensors";
    {
      io::SafetensorsWriter writer(source);
      writer.declare("a.weight", io::file_dtype(std::string_view(type))->info, Shape{2, 8});
      writer.write(std::vector<std::byte>(
          static_cast<std::size_t>(bytes_of(io::file_dtype(std::string_view(type))->info, 16))));
      writer.commit();
    }
    CHECK_THAT(refusal_of([&] { convert_file(source, folder.path() / "o.safetensors", to_type("bf16")); }),
               Catch::Contains("tensor 'a.weight': is of type") &&
                   Catch::Contains("whose values are not supported"));
  }
}

TEST_CASE("a shard whose index lies beside it is told to be a part of a model") {
  const TemporaryFolder folder;
  const auto shard = folder.path() / "m-1.safetensors", index = folder.path() / "m.safetensors.index.json",
             out = folder.path() / "o.gguf";
  write_tensors<io::SafetensorsWriter>(shard, {{"a.weight", normal_tensor({2, 32}, 1)}}, "f32");
  write_tensors<io::SafetensorsWriter>(folder.path() / "m-2.safetensors",
                                       {{"b.weight", normal_tensor({2, 32}, 2)}}, "f32");
  const auto warnings = [&](const std::filesystem::path& in) {
    return ModelConversion(in, out, to_type("q8_0")).warnings();
  };
  CHECK(warnings(shard).empty());
  write_text(index, R"({"weight_map":{"a.weight":"m-1.safetensors","b.weight":"m-2.safetensors"}})");
  REQUIRE(warnings(shard).size() == 1);
  CHECK_THAT(warnings(shard).front(),
             Catch::Contains("m-1.safetensors is one of 2 shards of m.safetensors") &&
                 Catch::Contains("the others are left out"));
  CHECK(warnings(index).empty());
  write_text(index, "{");
  CHECK(warnings(shard).empty());
}

TEST_CASE("scales without weights, and layouts that are not read, are refused by name") {
  const TemporaryFolder folder;
  for (const char* name :
       {"a.scale_weight", "a.weight_scale", "a.comfy_quant", "a.weight.absmax", "a.SCB", "a.qweight"}) {
    const auto source = folder.path() / "source.safetensors";
    write_tensors<io::SafetensorsWriter>(source, {{name, normal_tensor({2}, 1)}}, "f32");
    const std::string said =
        refusal_of([&] { convert_file(source, folder.path() / "o.gguf", to_type("q8_0")); });
    CHECK_THAT(said, Catch::Contains(std::string("tensor '") + name) &&
                         (Catch::Contains("and to no layer that convert reads") ||
                          Catch::Contains("which is not read")));
  }
}

TEST_CASE("a disk without room for a whole model is told of under the name that was given") {
  const TemporaryFolder folder;
  const std::string model = (folder.path() / "model").string();
  for (const std::string& out : {model, model + "/"})
    CHECK_THAT(refusal_of([&] { check_room(out, std::int64_t{1} << 60); }),
               Catch::Contains("model") &&
                   Catch::Contains(": needs 1152921504606846976 bytes, and its disk has ") &&
                   Catch::Contains("free some space"));
  check_room(model, 1);
}

TEST_CASE("a conversion that is cancelled leaves nothing") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", out = folder.path() / "out.gguf";
  write_tensors<io::SafetensorsWriter>(source, some_tensors(), "bf16");
  write_text(out, "old");
  const ModelConversion model(source, out, to_type("q8_0"));
  std::int64_t told = 0;
  CHECK_THROWS_AS(model.write([&](std::int64_t values) {
    told = values;
    if (values > 100'000) throw Error("cancelled");
  }),
                  Error);
  CHECK(told > 100'000);
  CHECK(told < model.values());
  CHECK(read_text(out) == "old");
  CHECK(files_in(folder.path()) == 2);
  model.write([&](std::int64_t values) { told = values; });
  CHECK(told == model.values());
}

TEST_CASE("of two conversions to one folder the later is told of the other, and replaces nothing") {
  const TemporaryFolder folder;
  const auto out = folder.path() / "model";
  {
    FolderInProgress first(out), second(out);
    write_text(first.path() / "config.json", "first");
    first.keep();
    CHECK_THAT(refusal_of([&] { second.keep(); }),
               Catch::Contains("model: was made by another run meanwhile: name another OUT, or remove it"));
  }
  CHECK(read_text(out / "config.json") == "first");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a suffix is the same in capital letters") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors", blocks = folder.path() / "BLOCKS.GGUF",
             plain = folder.path() / "Plain.SafeTensors";
  const PlainTensors tensors{{"t", normal_tensor({2, 64}, 1)}};
  write_tensors<io::SafetensorsWriter>(source, tensors, "f32");
  convert_file(source, blocks, named("q8_0"));
  CHECK(read_text(blocks).starts_with("GGUF"));
  convert_file(blocks, plain, named("f16"));
  check_all(plain, tensors,
            [](const PlainTensor&, const InputTensor& made) { CHECK(made.type.name == "f16"); });
}

TEST_CASE("names that ggml as it comes refuses are told of, where a GGUF file gets them") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "source.safetensors";
  const std::string fits(63, 'a'), too_long(64, 'b');
  write_tensors<io::SafetensorsWriter>(
      source, {{fits, normal_tensor({1, 32}, 1)}, {too_long, normal_tensor({1, 32}, 2)}}, "bf16");
  CHECK(ModelConversion(source, folder.path() / "out.safetensors", to_type("")).warnings().empty());
  const ModelConversion model(source, folder.path() / "out.gguf", to_type(""));
  REQUIRE(model.warnings().size() == 1);
  CHECK_THAT(model.warnings().front(),
             Catch::StartsWith("1 tensor has a name of 64 bytes or more, such as '" + too_long + "'"));
}

}  // namespace conversions
