// Files of tensors: safetensors and GGUF told apart by content, and parameters out of either.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/io/write_safetensors.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/quant/encode.hpp>

using namespace precast;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

std::vector<f32> waves(std::size_t count) {
  std::vector<f32> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<f32>(i) * 0.7f) * static_cast<f32>(1 + i % 13);
  return values;
}

/// A file of one q4_k and one f16 tensor, and of what else `more` puts in its head.
void write_two(const std::filesystem::path& file, const auto& more) {
  const std::vector<f32> values = waves(4 * 512);
  std::vector<q4_k> blocks(values.size() / 256);
  quant::encode<q4_k>(values, blocks);
  io::GgufWriter writer(file);
  more(writer);
  writer.declare("blocks", dtype_info<q4_k>, {4, 512});
  writer.declare("half", dtype_info<f16>, {3});
  writer.write(std::as_bytes(std::span(blocks)));
  const std::vector<f16> half(3, convert<f16>(1.5f));
  writer.write(std::as_bytes(std::span(half)));
  writer.commit();
}

bool says(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("tensor file: GGUF is known by its beginning, and its blocks become parameters") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "model.safetensors";  // the name says nothing
  write_two(file, [](io::GgufWriter&) {});
  std::size_t taken = 0;
  const io::ComponentSource source(file, [&](std::size_t bytes) { taken += bytes; });
  CHECK(source.files()[0].gguf());
  CHECK(source.find("blocks").dtype == dtype_info<q4_k>);
  CHECK(source.find("half").dtype == dtype_info<f16>);
  CHECK(says(refusal(file, [&] { source.find("other"); }), "tensor 'other': is missing"));

  const std::vector<f32> values = waves(4 * 512);
  std::vector<q4_k> blocks(values.size() / 256);
  quant::encode<q4_k>(values, blocks);
  const HostTensor<f32> loaded = nn::load_host_tensor<f32>(nn::ParameterPath(source) / "blocks", {4, 512});
  std::vector<f32> expected(values.size());
  decode_run<q4_k>(blocks.data(), 0, std::ssize(expected), expected.data());
  CHECK(std::memcmp(loaded.values().data(), expected.data(), expected.size() * sizeof(f32)) == 0);
  CHECK(nn::load_host_tensor<f32>(nn::ParameterPath(source) / "half", {3}).values()[2] == 1.5f);
  CHECK(taken == source.find("blocks").bytes.size() + source.find("half").bytes.size());
}

TEST_CASE("tensor file: shapes that ComfyUI-GGUF stores beside a tensor are its shapes") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.gguf";
  const auto shape_with = [&](const auto& more) {
    write_two(file, more);
    const io::TensorFile opened(file);
    return opened.at("blocks").shape;
  };
  const std::string key = "comfy.gguf.orig_shape.blocks";
  const std::vector<std::int32_t> sizes{16, 128};
  CHECK(shape_with([&](io::GgufWriter& w) { w.set(key, std::span<const std::int32_t>(sizes)); }) ==
        Shape{16, 128});
  CHECK(shape_with([&](io::GgufWriter& w) { w.set(key, "32, 64"); }) == Shape{32, 64});
  // Blocks run on across rows that are no multiple of them.
  const io::ComponentSource source(file);
  const HostTensor<f32> loaded = nn::load_host_tensor<f32>(nn::ParameterPath(source) / "blocks", {32, 64});
  std::vector<q4_k> blocks(8);
  quant::encode<q4_k>(waves(4 * 512), blocks);
  std::vector<f32> expected(4 * 512);
  decode_run<q4_k>(blocks.data(), 0, std::ssize(expected), expected.data());
  CHECK(std::memcmp(loaded.values().data(), expected.data(), expected.size() * sizeof(f32)) == 0);

  const auto refused = [&](const auto& more) {
    write_two(file, more);
    return says(refusal(file, [&] { io::TensorFile{file}; }), "key '" + key + "' must be");
  };
  CHECK(refused([&](io::GgufWriter& w) { w.set(key, "32, 63"); }));
  CHECK(refused([&](io::GgufWriter& w) { w.set(key, ""); }));
  CHECK(refused([&](io::GgufWriter& w) { w.set(key, "32; 64"); }));
  CHECK(refused([&](io::GgufWriter& w) { w.set(key, "-32, -64"); }));
  CHECK(refused([&](io::GgufWriter& w) { w.set(key, 2048); }));
}

TEST_CASE("tensor file: the oldest ComfyUI-GGUF files have the shapes of all tensors in one text") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.gguf";
  const std::string key = "comfy.gguf.tensor_fixup";
  const auto shape_with = [&](const std::string& text) {
    write_two(file, [&](io::GgufWriter& w) { w.set(key, text); });
    const io::TensorFile opened(file);
    CHECK(opened.at("half").shape == Shape{3});
    return opened.at("blocks").shape;
  };
  CHECK(shape_with("gone 2 2\nblocks 16 128") == Shape{16, 128});
  CHECK(shape_with("blocks 8 16 4 4\n") == Shape{8, 16, 4, 4});
  CHECK(shape_with("block 16 128") == Shape{4, 512});
  CHECK(shape_with("") == Shape{4, 512});
  const auto refused = [&](const auto& value) {
    write_two(file, [&](io::GgufWriter& w) { w.set(key, value); });
    return says(refusal(file, [&] { io::TensorFile{file}; }), "key '" + key + "' must be");
  };
  for (const std::string text : {"blocks", "blocks ", " 16 128", "blocks 16, 128", "blocks 16 127", "\n",
                                 "blocks -16 -128", "blocks 16 128 x", "blocks 1 1 1 1 1 1 1 16 128"})
    CHECK(refused(text));
  CHECK(refused(2048));
}

TEST_CASE("tensor file: a matrix that was stored in rows of 256, and nothing says so, has its bias's rows") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.gguf";
  const auto shape_with = [&](const Shape& stored, const Shape& bias, const std::string& name = "a.bias") {
    io::GgufWriter writer(file);
    writer.declare("a.weight", dtype_info<f32>, stored);
    writer.declare(name, dtype_info<f32>, bias);
    const std::vector<f32> values = waves(static_cast<std::size_t>(stored.elements() + bias.elements()));
    writer.write(std::as_bytes(std::span(values)));
    writer.commit();
    return io::TensorFile(file).at("a.weight").shape;
  };
  CHECK(shape_with({24, 256}, {96}) == Shape{96, 64});  // as Flux's img_in lies in some K-quants
  CHECK(shape_with({24, 256}, {24}) == Shape{24, 256});
  CHECK(shape_with({24, 256}, {7}) == Shape{24, 256});  // which the model that asks for it refuses
  CHECK(shape_with({24, 128}, {96}) == Shape{24, 128});
  CHECK(shape_with({24, 256}, {8, 12}) == Shape{24, 256});
  CHECK(shape_with({24, 256}, {96}, "b.bias") == Shape{24, 256});
}

TEST_CASE("tensor file: a header's length may look like the start of a checkpoint") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.safetensors";
  for (const std::uint64_t length : {0x80u, 0x280u, 0x4b50u}) {  // "\x80", "PK"
    const std::string begin = R"({"__metadata__":{"a":")", end = R"("}})";
    const std::string text = begin + std::string(length - begin.size() - end.size(), 'x') + end;
    write_text(file, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
    CHECK(io::TensorFile(file).safetensors());
  }
}

TEST_CASE("tensor file: what is neither is told by its kind") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& text) {
    write_text(folder.path() / name, text);
    return refusal(folder.path() / name, [&] { io::TensorFile{folder.path() / name}; });
  };
  CHECK(says(refused("a.ckpt", std::string("PK\x03\x04") + std::string(100, '\0')), "PyTorch checkpoint"));
  CHECK(says(refused("a.bin", std::string("\x80\x02}q") + std::string(100, '\0')), "PyTorch checkpoint"));
  CHECK(says(refused("a.gguf", std::string(100, '\1')), "not a GGUF file"));
  CHECK(says(refused("a.safetensors", std::string(100, '\1')), "not a safetensors file"));
  CHECK(says(refused("b.safetensors", "GGUF"), "the version"));
  CHECK(says(refused("c", ""), "too short"));
}

TEST_CASE("tensor file: what a server sends in a file's place is shown for what it is") {
  const TemporaryFolder folder;
  for (const std::string end : {".safetensors", ".gguf"}) {
    const std::filesystem::path file = folder.path() / ("model" + end);
    const auto said = [&](const std::string& text) {
      write_text(file, text);
      return refusal(file, [&] { io::TensorFile{file}; });
    };
    for (const std::string text :
         {"<!DOCTYPE html>\n<html></html>", "{\"error\":\"Access to model x is restricted\"}",
          "Access to model x is restricted."})
      CHECK(says(said(text), "is text that begins with '" + text.substr(0, 15)));
    CHECK_FALSE(says(said(std::string(1, '\x01') + "<!DOCTYPE html><html>"), "is text"));
    CHECK_FALSE(says(said("short"), "is text"));
  }
}
