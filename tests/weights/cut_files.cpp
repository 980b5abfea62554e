// Small quantised files of every layout that is read, cut off at every byte: one line, never more.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/nn/parameters.hpp>

namespace cut_files {
namespace {

using namespace precast;
using namespace precast::testing;

FileTensor bytes_of(const std::string& dtype, const Shape& shape, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 120);
  return file_tensor(dtype, shape, bytes);
}

FileTensor floats(const Shape& shape) {
  return file_tensor("F32", shape, std::vector<f32>(static_cast<std::size_t>(shape.elements()), 0.5f));
}

struct Layout {
  const char* name;
  FileTensors tensors;
  std::map<std::string, std::string> metadata{};
};

/// Each layout with a matrix of 32 columns, or 64 of 4 bits.
std::vector<Layout> layouts() {
  const auto announced = [](const std::string& format) {
    return json_tensor("{\"format\": \"" + format + "\"}");
  };
  const FileTensor fp8 = bytes_of("F8_E4M3", {4, 32}, 128);
  return {
      {"fp8 as it is", {{"a.weight", fp8}}},
      {"scaled fp8, old spelling",
       {{"a.weight", fp8}, {"a.scale_weight", floats({})}, {"scaled_fp8", bytes_of("F8_E4M3", {2}, 2)}}},
      {"scaled fp8 by rows, announced beside it",
       {{"a.weight", fp8},
        {"a.weight_scale", floats({4, 1})},
        {"a.comfy_quant", announced("float8_e4m3fn")}}},
      {"scaled fp8, announced in the header",
       {{"a.weight", bytes_of("F8_E5M2", {4, 32}, 128)}, {"a.weight_scale", floats({})}},
       {{"_quantization_metadata", R"({"layers": {"a": {"format": "float8_e5m2"}}})"}}},
      {"int8 by rows",
       {{"a.weight", bytes_of("I8", {4, 32}, 128)},
        {"a.weight_scale", floats({4, 1})},
        {"a.comfy_quant", announced("int8_tensorwise")}}},
      {"mxfp8",
       {{"a.weight", fp8},
        {"a.weight_scale", bytes_of("U8", {128, 4}, 512)},
        {"a.comfy_quant", announced("mxfp8")}}},
      {"nvfp4",
       {{"a.weight", bytes_of("U8", {4, 32}, 128)},
        {"a.weight_scale", bytes_of("F8_E4M3", {128, 4}, 512)},
        {"a.weight_scale_2", floats({})},
        {"a.comfy_quant", announced("nvfp4")}}},
      {"nf4 of bitsandbytes",
       {{"a.weight", bytes_of("U8", {64, 1}, 64)},
        {"a.weight.absmax", floats({2})},
        {"a.weight.quant_map", floats({16})},
        {"a.weight.quant_state.bitsandbytes__nf4",
         json_tensor(R"({"shape": [2, 64], "dtype": "bfloat16", "blocksize": 64, "quant_type": "nf4"})")}}},
      {"int8 of bitsandbytes", {{"a.weight", bytes_of("I8", {4, 32}, 128)}, {"a.SCB", floats({4})}}}};
}

void read_all(const std::filesystem::path& file) {
  const io::ComponentSource source(file);
  const weights::WeightTensors tensors(source, "");
  for (const auto& [name, weight] : tensors.all())
    nn::load_host_tensor<f32>(nn::ParameterPath(tensors, name), weight.shape);
}

/// Refused at every length below the whole's, and read at the whole: at each byte of the head and near the
/// data's ends, and at every 13th between, which is no multiple of anything in a file.
template <class Read>
void check_cut(const std::filesystem::path& whole_file, const std::filesystem::path& cut, Read&& read) {
  const std::string whole = read_text(whole_file);
  REQUIRE_NOTHROW(read(whole_file));
  std::vector<std::size_t> taken;
  std::uint64_t head = 0;
  if (!whole.starts_with("GGUF")) std::memcpy(&head, whole.data(), sizeof head);
  const std::size_t near = 64, first = (whole.starts_with("GGUF") ? 224 : head + 8) + near;
  for (std::size_t size = 0; size < whole.size();
       size += size < first || size + near >= whole.size()
                   ? 1
                   : std::min<std::size_t>(13, whole.size() - near - size)) {
    write_text(cut, whole.substr(0, size));
    if (refusal(cut, [&] { read(cut); }).empty()) taken.push_back(size);
  }
  CHECK(taken == std::vector<std::size_t>{});
}

}  // namespace

TEST_CASE("a small quantised safetensors file of each layout is refused wherever it is cut off") {
  const TemporaryFolder folder;
  for (const Layout& layout : layouts()) {
    INFO(layout.name);
    const auto whole = folder.path() / "whole.safetensors";
    write_tensors(whole, layout.tensors, layout.metadata);
    check_cut(whole, folder.path() / "cut.safetensors", read_all);
  }
}

TEST_CASE("a small GGUF file of each block format is refused wherever it is cut off") {
  const TemporaryFolder folder;
  for (const BlockFormat& format : block_formats) {
    if (format.ggml_type == no_ggml_type) continue;
    INFO(format.info.name);
    const auto whole = folder.path() / "whole.gguf";
    // Rows whose bytes end where the next tensor would begin, so that every byte belongs to one.
    const std::int64_t rows = 32 / std::gcd(32, format.info.bytes_per_block);
    const Shape shape{rows, format.info.values_per_block};
    {
      io::GgufWriter writer(whole);
      writer.set("general.architecture", "flux");
      writer.declare("a.weight", format.info, shape);
      writer.write(std::vector<std::byte>(static_cast<std::size_t>(rows * format.info.bytes_per_block)));
      writer.commit();
    }
    check_cut(whole, folder.path() / "cut.gguf", read_all);
  }
}

}  // namespace cut_files
