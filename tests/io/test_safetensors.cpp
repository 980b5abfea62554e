// safetensors: what is read from well-formed files, and that no lie in a header is believed.
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/write_safetensors.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using precast::testing::read_text;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + rest;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return with_length(header.size(), header + std::string(data_bytes, '\x01'));
}

/// The message of the refusal of a file with that content.
std::string refusal_of(const std::string& content) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  write_text(file, content);
  return refusal(file, [&] { io::SafetensorsFile{file}; });
}

/// The same for a header with four F32 of data behind it.
std::string refusal_of_header(const std::string& header) { return refusal_of(file_of(header, 16)); }

bool mentions(const std::string& message, const std::string& words) {
  INFO(message);
  CHECK(message.find(words) != std::string::npos);
  return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("safetensors: names, dtypes, shapes, bytes and metadata of a file") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  write_text(
      file,
      file_of(
          R"({"b.bias":{"dtype":"BF16","shape":[3],"data_offsets":[4,10]},"__metadata__":{"format":"pt"},)"
          R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[10,10]},)"
          R"("a.ids":{"dtype":"I32","shape":[],"data_offsets":[0,4]},)"
          R"("c":{"dtype":"F8_E4M3","shape":[1,2],"data_offsets":[10,12],"note":1}}   )",
          12));
  const io::SafetensorsFile opened(file);
  std::vector<std::string> names;
  for (const io::TensorEntry& entry : opened.tensors()) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"a.ids", "b.bias", "c", "empty"});
  CHECK(opened.metadata().at("format") == "pt");
  CHECK(opened.at("b.bias").dtype.info == dtype_info<bf16>);
  CHECK(opened.at("b.bias").bytes.size() == 6);
  CHECK(opened.at("c").dtype.info == dtype_info<fp8_e4m3>);
  CHECK(opened.at("c").shape == Shape{1, 2});
  CHECK_FALSE(opened.at("a.ids").dtype.is_float);
  CHECK(opened.at("a.ids").shape.rank() == 0);
  CHECK(opened.at("empty").bytes.empty());
  CHECK(opened.lookup("b") == nullptr);
  mentions(refusal(file, [&] { opened.at("b.weight"); }), "tensor 'b.weight': is missing");
}

TEST_CASE("safetensors: what is written is read, views and odd texts included") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "latents.safetensors";
  Tensor<f32> matrix(Shape{3, 4});
  std::iota(matrix.data(), matrix.data() + 12, 0.5f);
  const std::array<io::NamedTensor, 2> tensors{
      {{"whole", matrix}, {"columns", matrix.view().columns_between(1, 2)}}};
  io::write_safetensors(file, tensors, {{"prompt", "a \"red\"\n\u5186"}, {"bytes", "\xff\xfe"}});
  const io::SafetensorsFile opened(file);
  CHECK(opened.metadata().at("prompt") == "a \"red\"\n\u5186");
  CHECK(opened.at("whole").shape == Shape{3, 4});
  CHECK(std::memcmp(opened.at("whole").bytes.data(), matrix.data(), 48) == 0);
  std::array<f32, 6> columns{};
  REQUIRE(opened.at("columns").bytes.size() == sizeof columns);
  std::memcpy(columns.data(), opened.at("columns").bytes.data(), sizeof columns);
  CHECK(columns == std::array<f32, 6>{1.5f, 2.5f, 5.5f, 6.5f, 9.5f, 10.5f});
  CHECK(reinterpret_cast<std::uintptr_t>(opened.at("columns").bytes.data()) % 8 == 0);

  const std::array<io::NamedTensor, 2> twice{{{"x", matrix}, {"x", matrix}}};
  mentions(refusal(file, [&] { io::write_safetensors(file, twice); }), "tensor 'x': was given twice");
  for (const char* name : {"", "__metadata__"}) {
    const std::array<io::NamedTensor, 1> nameless{{{name, matrix}}};
    mentions(refusal(file, [&] { io::write_safetensors(file, nameless); }),
             std::string("tensor '") + name + "': cannot have this name");
  }
  const std::array<io::NamedTensor, 2> no_utf8{{{"\xff.weight", matrix}, {"\xfe.weight", matrix}}};
  mentions(refusal(file, [&] { io::write_safetensors(file, no_utf8); }), "has a name that is not UTF-8");
  CHECK(io::SafetensorsFile(file).tensors().size() == 2);
}

TEST_CASE("safetensors: a length that lies is refused") {
  mentions(refusal_of(""), "only 0 bytes");
  mentions(refusal_of("1234567"), "only 7 bytes");
  mentions(refusal_of(with_length(3, "{}")), "claims to have 3 bytes in a file of 10");
  mentions(refusal_of(with_length(100'000'001, "{}")), "not a plausible length");
  mentions(refusal_of(with_length(~std::uint64_t{0}, "{}")), "not a plausible length");
  mentions(refusal_of(with_length(~std::uint64_t{0} - 7, "{}")), "not a plausible length");
  mentions(refusal_of(with_length(0, "{}")), "does not start with '{'");
  mentions(refusal_of(file_of(" {}", 0)), "does not start with '{'");
  mentions(refusal_of("<!DOCTYPE html><html></html>"), "not a plausible length");
}

TEST_CASE("safetensors: a header that is not JSON of the right form is refused") {
  mentions(refusal_of(file_of(R"({"a":)", 0)), "header: not valid JSON");
  mentions(refusal_of(file_of("{\"\xff\":1}", 0)), "header: not valid JSON");
  mentions(refusal_of(file_of("{} x", 0)), "header: not valid JSON");
  mentions(refusal_of(file_of(std::string("{}\0", 3), 0)), "header: not valid JSON, at byte 3 of 3");
  mentions(refusal_of(file_of(std::string("{}\0 x", 5), 0)), "header: not valid JSON, at byte 3 of 5");
  mentions(refusal_of(file_of(R"({"a":1e999})", 0)), "header: JSON with a number that is out of range");
  mentions(refusal_of(file_of("{\"a\":" + std::string(50'000, '['), 0)), "deeper than 64 levels");
  mentions(refusal_of(file_of("{\"a\":" + std::string(50'000, '[') + std::string(50'000, ']') + "}", 0)),
           "deeper than 64 levels");
  mentions(refusal_of_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                             R"("a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
           "key 'a' appears twice");
  mentions(refusal_of_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
           "key 'dtype' appears twice");
  mentions(refusal_of_header(R"({"__metadata__":[]})"),
           "header: key '__metadata__': must be an object, not a list: get the file again");
  mentions(refusal_of_header(R"({"__metadata__":{"a":1}})"),
           "header: key '__metadata__.a': must be a string");
  mentions(refusal_of_header(R"({"a\nb":4})"), "header: key 'a?b': must be an object");
  mentions(refusal_of_header(R"({"a":{"shape":[4],"data_offsets":[0,16]}})"), "key 'a.dtype': is missing");
  mentions(refusal_of_header(R"({"a":{"dtype":"F32","data_offsets":[0,16]}})"), "key 'a.shape': is missing");
  mentions(refusal_of_header(R"({"a":{"dtype":"F32","shape":[4]}})"), "key 'a.data_offsets': is missing");
}

TEST_CASE("safetensors: many tensors are read in a time that grows as their number does") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  constexpr std::size_t count = 200'000;  // of which each pair would take minutes
  std::string header = "{";
  for (std::size_t i = 0; i < count; ++i)
    header +=
        (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  write_text(file, file_of(header + "}", 0));
  CHECK(io::SafetensorsFile(file).tensors().size() == count);
}

TEST_CASE("safetensors: a tensor whose description does not hold is refused") {
  const auto tensor = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return refusal_of_header(R"({"x.y":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" +
                             offsets + "}}");
  };
  mentions(tensor(R"("F33")", "[4]", "[0,16]"), "tensor 'x.y': unknown dtype 'F33': convert it");
  mentions(tensor("32", "[4]", "[0,16]"), "key 'x.y.dtype': must be a string, not 32");
  mentions(tensor(R"("F32")", "4", "[0,16]"), "key 'x.y.shape': must be a list, not 4");
  mentions(tensor(R"("F32")", "[1,1,1,1,1,1,4]", "[0,16]"),
           "tensor 'x.y': a tensor has at most 6 dimensions");
  mentions(tensor(R"("F32")", "[-4]", "[0,16]"),
           "key 'x.y.shape[0]': must be an integer from 0 to 144115188075855872, not -4");
  mentions(tensor(R"("F32")", "[4.0]", "[0,16]"), "must be an integer from 0 to 144115188075855872, not 4.0");
  mentions(tensor(R"("F32")", R"(["4"])", "[0,16]"),
           "must be an integer from 0 to 144115188075855872, not \"4\"");
  mentions(tensor(R"("F32")", "[4294967296,4294967296]", "[0,16]"), "a tensor's size overflows");
  mentions(tensor(R"("F32")", "[4611686018427387905,0]", "[0,0]"), "'x.y.shape[0]': must be an integer");
  mentions(tensor(R"("F32")", "[18446744073709551616]", "[0,16]"), "'x.y.shape[0]': must be an integer");
  mentions(tensor(R"("F32")", "[4]", "[16]"), "its data_offsets must be a list of two offsets");
  mentions(tensor(R"("F32")", "[4]", "{}"), "'x.y.data_offsets': must be a list");
  mentions(tensor(R"("F32")", "[4]", "[-1,15]"), "'x.y.data_offsets[0]': must be an integer");
  mentions(tensor(R"("F32")", "[4]", "[16,0]"), "bytes 16 to 0 run backwards");
  mentions(tensor(R"("F32")", "[5]", "[0,20]"), "bytes 0 to 20 lie outside the file's 16 bytes of data");
  mentions(tensor(R"("F32")", "[4]", "[9223372036854775807,9223372036854775807]"), "lie outside");
  mentions(tensor(R"("F32")", "[3]", "[0,16]"), "bytes 0 to 16 do not fit F32 [3], which takes 12");
  mentions(tensor(R"("F16")", "[2,2]", "[0,16]"), "do not fit F16 [2, 2], which takes 8");
}

TEST_CASE("safetensors: tensors must tile the data") {
  const auto two = [](const std::string& a, const std::string& b) {
    return refusal_of_header(R"({"a":{"dtype":"U8","shape":)" + a + R"(},"b":{"dtype":"U8","shape":)" + b +
                             "}}");
  };
  mentions(two(R"([9],"data_offsets":[0,9])", R"([8],"data_offsets":[8,16])"), "tensor 'b': overlaps");
  mentions(two(R"([16],"data_offsets":[0,16])", R"([16],"data_offsets":[0,16])"), "overlaps");
  mentions(two(R"([7],"data_offsets":[0,7])", R"([8],"data_offsets":[8,16])"),
           "tensor 'b': is preceded by a gap of 1 byte of no tensor");
  mentions(two(R"([7],"data_offsets":[1,8])", R"([8],"data_offsets":[8,16])"),
           "tensor 'a': is preceded by a gap");
  mentions(two(R"([4],"data_offsets":[0,4])", R"([8],"data_offsets":[4,12])"),
           "ends with 4 bytes of no tensor");
  mentions(refusal_of_header("{}"), "ends with 16 bytes of no tensor");
}

TEST_CASE("safetensors: integers of every width are listed, though nothing is computed with them") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  for (const auto& [name, bytes] : {std::pair("U16", 2), {"U32", 4}, {"U64", 8}, {"I16", 2}, {"BOOL", 1}}) {
    const std::string size = std::to_string(3 * bytes);
    write_text(file, file_of(R"({"ids":{"dtype":")" + std::string(name) +
                                 R"(","shape":[3],"data_offsets":[0,)" + size + "]}}",
                             static_cast<std::size_t>(3 * bytes)));
    const io::SafetensorsFile opened(file);
    REQUIRE(opened.tensors().size() == 1);
    CHECK(opened.tensors()[0].shape == Shape{3});
  }
}

TEST_CASE("safetensors: dtypes that nothing here decodes are listed with what their values take") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  for (const auto& [name, bytes] : {std::pair("F4", 12),
                                    {"F6_E2M3", 18},
                                    {"F6_E3M2", 18},
                                    {"F8_E4M3FNUZ", 24},
                                    {"F8_E5M2FNUZ", 24},
                                    {"C64", 192}}) {
    write_text(file, file_of(R"({"w":{"dtype":")" + std::string(name) +
                                 R"(","shape":[3,8],"data_offsets":[0,)" + std::to_string(bytes) + "]}}",
                             static_cast<std::size_t>(bytes)));
    const io::SafetensorsFile opened(file);
    CHECK(opened.tensors().at(0).shape == Shape{3, 8});
    CHECK(opened.tensors().at(0).dtype.is_unread);
    CHECK_FALSE(opened.tensors().at(0).dtype.is_float);
  }
}

TEST_CASE("safetensors: a damaged file is opened or refused, and never crashes") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights.safetensors";
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
      R"("c":{"dtype":"I64","shape":[],"data_offsets":[32,40]}})";
  std::mt19937 random(20251121);
  int opened = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    // Half of the time the length stays true, so that the damage gets past it.
    const bool honest = i % 2 == 0;
    write_text(file, honest ? file_of(precast::testing::damaged(header, random), 40)
                            : precast::testing::damaged(file_of(header, 40), random));
    try {
      const io::SafetensorsFile result(file);
      std::size_t sum = 0;
      for (const io::TensorEntry& entry : result.tensors())
        for (const std::byte byte : entry.bytes) sum += static_cast<std::size_t>(byte);
      CHECK(sum <= 255 * 40);
      ++opened;
    } catch (const InputError& error) {
      ++refused;
      if (!precast::testing::is_one_line(error.what())) FAIL_CHECK(error.what());
    }
  }
  CHECK(opened > 0);
  CHECK(refused > 3000);
}
