// GGUF: what is read from files of ggml's own tools and of ours, what is written, and that no lie in a head
// is believed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/gguf_bytes.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/gguf.hpp>
#include <precast/io/write_gguf.hpp>

// A namespace of its own: this file is compiled together with others (tests/CMakeLists.txt).
namespace gguf_tests {

using namespace precast;
using precast::testing::gguf_array;
using precast::testing::gguf_text;
using precast::testing::gguf_value;
using precast::testing::GgufBytes;
using precast::testing::GgufTensorBytes;
using precast::testing::raw;
using precast::testing::read_text;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

std::filesystem::path golden_file() {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/expected/small.gguf";
}

/// A malformed file, and what its refusal must say.
struct Malformed {
  std::string bytes, says;
};

/// Checks that each is refused so, in one line.
void check_refused(const std::vector<Malformed>& files) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "model.gguf";
  for (const Malformed& malformed : files) {
    write_text(file, malformed.bytes);
    const std::string message = refusal(file, [&] { io::GgufFile{file}; });
    INFO("expected: " << malformed.says << ", got: " << message);
    CHECK(message.find(malformed.says) != std::string::npos);
  }
}

/// One file with something changed.
template <class Change>
std::string with(Change&& change) {
  GgufBytes file;
  change(file);
  return file.bytes();
}
std::string with_tensor(const GgufTensorBytes& tensor, std::uint64_t data_bytes = 32) {
  return with([&](GgufBytes& f) { f.tensors = {tensor}, f.data_bytes = data_bytes; });
}
std::string with_value(const std::string& value) {
  return with([&](GgufBytes& f) { f.values = {value}; });
}

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("gguf: a file of the gguf package") {
  const io::GgufFile file(golden_file());
  CHECK(file.version() == 3);
  CHECK(file.alignment() == 32);
  const auto value = [&](const char* key) -> const io::GgufValue& {
    const io::GgufValue* found = file.value(key);
    REQUIRE(found != nullptr);
    return *found;
  };
  CHECK(value("general.architecture").text() == "flux");
  CHECK(value("test.u8").integer() == 200);
  CHECK(value("test.i8").integer() == -100);
  CHECK(value("test.u16").integer() == 60000);
  CHECK(value("test.i16").integer() == -30000);
  CHECK(value("test.u32").integer() == 4000000000);
  CHECK(value("test.i32").integer() == -2000000000);
  CHECK(value("test.i64").integer() == -(std::int64_t{1} << 62));
  CHECK(value("test.f32").real() == 0.5);
  CHECK(value("test.f64").real() == 0.1);
  CHECK(value("test.u8").real() == 200);
  CHECK(value("test.bool").boolean());
  CHECK(value("test.string").text() == "a \u5186\n");
  CHECK(value("test.shape").integers() == std::vector<std::int64_t>{320, 4, 3});
  CHECK(value("test.scores").reals() == std::vector<double>{0.25, -1.5});
  CHECK(value("test.tokens").texts() == std::vector<std::string_view>{"<unk>", "", "\u2581a"});
  CHECK(file.value("test") == nullptr);

  CHECK(file.tensors().size() == 7);
  CHECK(file.at("matrix.f32").shape == Shape{2, 6});
  CHECK(file.at("ids").shape == Shape{2, 3, 5});
  CHECK_FALSE(file.at("ids").type.has_values);
  CHECK(file.at("single").shape == Shape{1});
  const io::GgufTensor& q8 = file.at("matrix.q8_0");
  CHECK(q8.shape == Shape{2, 256});
  CHECK(q8.type.info == dtype_info<q8_0>);
  CHECK(io::gguf_name(file.at("matrix.q4_k").type) == "Q4_K");
  CHECK(file.at("matrix.q4_k").bytes.size() == 288);
  CHECK(file.at("matrix.q4_k").bytes[287] == std::byte{287 % 251});
  CHECK(file.at("matrix.bf16").type.info == dtype_info<bf16>);
  // The package's own encoder of q8_0 and ours make values within half a step of 4 / 127.
  std::vector<q8_0> blocks(16);
  REQUIRE(q8.bytes.size() == blocks.size() * sizeof(q8_0));
  std::memcpy(blocks.data(), q8.bytes.data(), q8.bytes.size());
  std::vector<f32> values(512);
  decode_run<q8_0>(blocks.data(), 0, 512, values.data());
  for (int i = 0; i < 512; ++i)
    REQUIRE(std::abs(values[static_cast<std::size_t>(i)] - (i / 64.f - 4)) <= 2.02f / 127);
  CHECK(file.lookup("matrix") == nullptr);
  CHECK(refusal(golden_file(), [&] { file.at("matrix.weight"); }).find("'matrix.weight': is missing") !=
        std::string::npos);
}

TEST_CASE("gguf: a value asked for as what it is not is refused") {
  const io::GgufFile file(golden_file());
  const auto refused = [&](const char* key, auto&& ask, const std::string& says) {
    const std::string message = refusal(golden_file(), [&] { ask(*file.value(key)); });
    INFO(message);
    CHECK(message.find("key '" + std::string(key) + "' must be " + says) != std::string::npos);
  };
  refused(
      "test.u64", [](const io::GgufValue& v) { v.integer(); }, "a whole number below 2^63, not u64");
  refused(
      "test.f32", [](const io::GgufValue& v) { v.integer(); }, "a whole number, not f32");
  refused(
      "test.string", [](const io::GgufValue& v) { v.real(); }, "a whole number, not string");
  refused(
      "test.u8", [](const io::GgufValue& v) { v.boolean(); }, "a bool, not u8");
  refused(
      "test.u8", [](const io::GgufValue& v) { v.text(); }, "a string, not u8");
  refused(
      "test.u8", [](const io::GgufValue& v) { v.integers(); }, "an array, not u8");
  refused(
      "test.tokens", [](const io::GgufValue& v) { v.integers(); }, "an array of numbers, not array");
  refused(
      "test.scores", [](const io::GgufValue& v) { v.integers(); }, "a whole number, not array");
  refused(
      "test.shape", [](const io::GgufValue& v) { v.texts(); }, "an array of strings, not array");
}

TEST_CASE("gguf: a file that is read and written again has the same bytes") {
  const io::GgufFile file(golden_file());
  const TemporaryFolder folder;
  const std::filesystem::path copy = folder.path() / "copy.gguf";
  // Values and tensors in the order of the original, which is not the order of names.
  std::vector<const io::GgufValue*> values;
  for (const io::GgufValue& value : file.values()) values.push_back(&value);
  std::ranges::sort(values, {}, [](const io::GgufValue* v) { return v->bytes().data(); });
  std::vector<const io::GgufTensor*> tensors;
  for (const io::GgufTensor& tensor : file.tensors()) tensors.push_back(&tensor);
  std::ranges::sort(tensors, {}, [](const io::GgufTensor* t) { return t->bytes.data(); });
  {
    io::GgufWriter writer(copy);
    for (const io::GgufValue* value : values) writer.set(*value);
    for (const io::GgufTensor* tensor : tensors)
      writer.declare(tensor->name, tensor->type.info, tensor->shape);
    for (const io::GgufTensor* tensor : tensors)
      for (std::span<const std::byte> left = tensor->bytes; !left.empty();) {
        const auto some = std::min<std::size_t>(left.size(), 77);
        writer.write(left.first(some));
        left = left.subspan(some);
      }
    CHECK_FALSE(std::filesystem::exists(copy));
    writer.commit();
  }
  CHECK(read_text(copy) == read_text(golden_file()));
}

TEST_CASE(
    "gguf: every type of value and of tensor, other alignments, empty tensors are read as they were "
    "written") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "all.gguf";
  for (const std::uint32_t alignment : {1u, 8u, 32u, 4096u}) {
    CAPTURE(alignment);
    io::GgufWriter writer(path, alignment);
    writer.set("a.text", "red \"x\"");
    writer.set("a.flag", false);
    writer.set("a.u16", std::uint16_t{65535});
    writer.set("a.f64", 1e-300);
    const std::vector<std::int32_t> numbers{1, -2, 3};
    writer.set("a.numbers", std::span(numbers));
    const std::vector<std::string> words{"", "b\0c", "\xff"};
    writer.set("a.words", std::span(words));
    writer.set("a.nothing", std::span<const std::string>{});
    std::string data;
    for (const io::GgufType& type : io::gguf_types) {
      writer.declare("t." + std::string(type.info.name), type.info, Shape{3, 2 * type.info.values_per_block});
      data.append(static_cast<std::size_t>(6 * type.info.bytes_per_block), static_cast<char>(type.number));
    }
    writer.declare("empty", dtype_info<f32>, Shape{0, 7});
    writer.declare("scalar", dtype_info<f32>, Shape{});
    data += "\1\2\3\4";
    writer.write(std::as_bytes(std::span(data)));
    writer.commit();

    const io::GgufFile file(path);
    CHECK(file.alignment() == alignment);
    CHECK(file.value("a.text")->text() == "red \"x\"");
    CHECK_FALSE(file.value("a.flag")->boolean());
    CHECK(file.value("a.u16")->integer() == 65535);
    CHECK(file.value("a.f64")->real() == 1e-300);
    CHECK(file.value("a.numbers")->integers() == std::vector<std::int64_t>{1, -2, 3});
    CHECK(file.value("a.words")->texts() == std::vector<std::string_view>(words.begin(), words.end()));
    CHECK(file.value("a.nothing")->texts().empty());
    CHECK(file.tensors().size() == io::gguf_types.size() + 2);
    for (const io::GgufType& type : io::gguf_types) {
      CAPTURE(type.info.name);
      const io::GgufTensor& tensor = file.at("t." + std::string(type.info.name));
      CHECK(tensor.type.number == type.number);
      CHECK(tensor.shape == Shape{3, 2 * type.info.values_per_block});
      CHECK(tensor.bytes.size() == static_cast<std::size_t>(6 * type.info.bytes_per_block));
      CHECK(std::ranges::all_of(tensor.bytes, [&](std::byte b) { return b == std::byte(type.number); }));
    }
    CHECK(file.at("empty").bytes.empty());
    CHECK(file.at("scalar").shape.rank() == 0);
    CHECK(file.at("scalar").bytes[3] == std::byte{4});
  }
}

TEST_CASE("gguf: version 2 is read") {
  const TemporaryFolder folder;
  write_text(folder.path() / "old.gguf", with([](GgufBytes& f) { f.version = 2; }));
  const io::GgufFile file(folder.path() / "old.gguf");
  CHECK(file.version() == 2);
  CHECK(file.at("x.y").shape == Shape{2, 4});
}

TEST_CASE("gguf: a copy has the alignment of its writer, whatever the file had that its values are of") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "64.gguf", copy = folder.path() / "copy.gguf";
  const std::string bytes(40, 'x');
  const auto write = [&](io::GgufWriter& writer) {
    for (const char* name : {"a", "b"}) writer.declare(name, dtype_info<f32>, Shape{10});
    for (int i = 0; i < 2; ++i) writer.write(std::as_bytes(std::span(bytes)));
    writer.commit();
  };
  io::GgufWriter original(path, 64);
  original.set("k", 1);
  write(original);
  const io::GgufFile file(path);
  for (const std::uint32_t alignment : {32u, 64u, 128u}) {
    io::GgufWriter writer(copy, alignment);
    for (const io::GgufValue& value : file.values()) writer.set(value);
    write(writer);
    const io::GgufFile read(copy);
    CHECK(read.tensors().size() == 2);
    for (const io::GgufTensor& tensor : read.tensors())
      CHECK(std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()) == bytes);
    CHECK(read.value("k")->integer() == 1);
  }
}

TEST_CASE("gguf: a writer that is used wrongly says so, and leaves no file") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x.gguf";
  const std::string bytes(64, 'x');
  const auto written = std::as_bytes(std::span(bytes));
  {
    io::GgufWriter writer(path);
    writer.set("k", 1);
    CHECK(refusal(path, [&] { writer.set("k", 2); }).find("was set twice") != std::string::npos);
    CHECK(refusal(path, [&] { writer.set("", 2); }).find("is empty") != std::string::npos);
    writer.declare("a", dtype_info<f32>, Shape{2, 4});
    const auto refused = [&](const char* name, const DtypeInfo& dtype, const Shape& shape, const char* says) {
      const std::string message = refusal(path, [&] { writer.declare(name, dtype, shape); });
      INFO(message);
      CHECK(message.find(says) != std::string::npos);
    };
    refused("a", dtype_info<f32>, Shape{1}, "needs a name of its own");
    refused("", dtype_info<f32>, Shape{1}, "needs a name of its own");
    refused("b", dtype_info<mxfp8>, Shape{32}, "GGUF has no mxfp8");
    refused("b", {"q4_k", 32, 18}, Shape{32}, "GGUF has no q4_k");
    refused("b", dtype_info<q4_k>, Shape{2, 128}, "rows of 128 values are not whole blocks of q4_k");
    refused("b", dtype_info<f32>, Shape{1, 1, 1, 1, 1},
            "more than the 4 dimensions that GGUF has: write safetensors");
    writer.write(written.first(31));
    CHECK_THROWS_WITH(writer.commit(), Catch::Contains("tensor 0 has 31 of its 32 bytes"));
    CHECK_THROWS_WITH(writer.set("late", 1),
                      Catch::Contains("before the tensors' bytes") || Catch::Contains("stand"));
    CHECK_THROWS_WITH(writer.declare("late", dtype_info<f32>, Shape{1}), Catch::Contains("declared before"));
    CHECK_THROWS_WITH(writer.write(written.first(2)), Catch::Contains("1 bytes more than the tensors take"));
  }
  CHECK_THROWS_WITH(io::GgufWriter(path, 24), Catch::Contains("24 is not a power of two"));
  {
    io::GgufWriter writer(path);
    CHECK_THROWS_WITH(writer.set("general.alignment", 64u), Catch::Contains("given to its constructor"));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("gguf: a start, a version or a count that lies is refused") {
  std::vector<Malformed> files = {
      {"", "does not start with GGUF"},
      {"G", "does not start with GGUF"},
      {"GGU", "does not start with GGUF"},
      {"GGML" + raw(3u), "does not start with GGUF"},
      {"<!DOCTYPE html><html></html>", "does not start with GGUF"},
      {"GGUF", "ends inside of the version, at byte 4 of 4"},
      {"GGUF\3", "ends inside of the version"},
      {with([](GgufBytes& f) { f.version = 0; }), "is of GGUF version 0"},
      {with([](GgufBytes& f) { f.version = 1; }), "is of GGUF version 1, and only 2 and 3 are supported"},
      {with([](GgufBytes& f) { f.version = 4; }), "is of GGUF version 4"},
      {with([](GgufBytes& f) { f.version = 0xffffffff; }), "is of GGUF version 4294967295"},
      {with([](GgufBytes& f) { f.version = 0x03000000; }), "is big endian"},
      {with([](GgufBytes& f) { f.version = 0x02000000; }), "is big endian"},
      {"GGUF" + raw(3u) + raw(1u), "ends inside of the number of tensors"},
      {"GGUF" + raw(3u) + raw(std::uint64_t{0}), "ends inside of the number of values"},
      {"GGUF" + raw(3u) + raw(std::uint64_t{0}) + raw(1u), "ends inside of the number of values"},
      {with([](GgufBytes& f) { f.more_tensors = -2; }), "claims to have 18446744073709551615 tensors"},
      {with([](GgufBytes& f) { f.more_tensors = 1000; }), "claims to have 1001 tensors"},
      {with([](GgufBytes& f) { f.more_tensors = 1; }), "tensor 1 has an empty name"},
      {with([](GgufBytes& f) { f.more_values = -1; }), "claims to have 18446744073709551615 values"},
      {with([](GgufBytes& f) { f.more_values = 1000; }), "claims to have 1000 values"},
      {with([](GgufBytes& f) { f.more_values = 1; }), "ends inside of the name of tensor 0"},
  };
  check_refused(files);
}

TEST_CASE("gguf: a value that does not hold is refused") {
  const std::string one = raw(std::uint32_t{1});
  std::vector<Malformed> files = {
      {with_value(gguf_value("", 4, one)), "value 0 has an empty key"},
      {with_value(raw(huge) + "key"), "ends inside of the key of value 0"},
      {with_value(raw(std::uint64_t{1} << 63) + "key"), "ends inside of the key of value 0"},
      {with_value(raw(std::uint64_t{4000}) + "key"), "ends inside of the key of value 0"},
      {with_value(gguf_value("a\nb", 13, one)), "key 'a?b': unknown type of value 13"},
      {with_value(gguf_value("k", 0xffffffff, one)), "unknown type of value 4294967295"},
      {with_value(gguf_value("k", 7, "\2")), "a bool that is neither 0 nor 1"},
      {with_value(gguf_value("k", 8, raw(huge))), "ends inside of key 'k'"},
      {with_value(gguf_value("k", 8, raw(huge - 7))), "ends inside of key 'k'"},
      {with_value(gguf_value("k", 8, raw(std::uint64_t{5000}))), "ends inside of key 'k'"},
      {with_value(gguf_value("k", 9, gguf_array(9, 1, gguf_array(4, 1, one)))), "an array of arrays"},
      {with_value(gguf_value("k", 9, gguf_array(13, 1, one))), "unknown type of value 13"},
      {with_value(gguf_value("k", 9, gguf_array(0, huge, one))), "18446744073709551615 elements in key 'k'"},
      {with_value(gguf_value("k", 9, gguf_array(4, (huge >> 2) + 1, one))),
       "4611686018427387904 elements in key 'k'"},
      {with_value(gguf_value("k", 9, gguf_array(10, (huge >> 3) + 1, one))), "2305843009213693952 elements"},
      {with_value(gguf_value("k", 9, gguf_array(8, (huge >> 3) + 1, one))), "2305843009213693952 elements"},
      {with_value(gguf_value("k", 9, gguf_array(6, 5000, one))), "5000 elements in key 'k'"},
      {with_value(gguf_value("k", 9, gguf_array(8, 2, gguf_text("a") + raw(huge)))),
       "ends inside of key 'k'"},
      {with([&](GgufBytes& f) {
         f.values = {gguf_value("k", 4, one), gguf_value("k", 4, one)};
       }),
       "key 'k' appears twice"},
      {with([&](GgufBytes& f) {
         f.values = {gguf_value("k", 4, one), gguf_value("j", 7, "\1"), gguf_value("k", 7, "\1")};
       }),
       "key 'k' appears twice"},
      {with_value(gguf_value("general.alignment", 10, raw(std::uint64_t{32}))),
       "'general.alignment' must be u32, not u64"},
      {with_value(gguf_value("general.alignment", 8, gguf_text("32"))), "must be u32, not string"},
      {with_value(gguf_value("general.alignment", 4, raw(0u))),
       "'general.alignment' is 0, which is not a power of two"},
      {with_value(gguf_value("general.alignment", 4, raw(24u))),
       "'general.alignment' is 24, which is not a power of two"},
      {with_value(gguf_value("general.alignment", 4, raw(0xffffffffu))),
       "is 4294967295, which is not a power of two"},
      {with_value(gguf_value("general.alignment", 4, raw(0x80000000u))), "leave its 0 bytes"},
  };
  check_refused(files);
}

TEST_CASE("gguf: a tensor whose description does not hold is refused") {
  const std::uint64_t half = std::uint64_t{1} << 32;
  std::vector<Malformed> files = {
      {with_tensor({.name = ""}), "tensor 0 has an empty name"},
      {with_tensor({.name = "a\tb", .type = 99}), "tensor 'a?b': unknown type 99"},
      {with_tensor({.sizes = {1, 1, 1, 1, 1}}), "5 dimensions, of which GGUF has at most 4"},
      {with_tensor({.sizes = {huge, 2}}), "its shape overflows"},
      {with_tensor({.sizes = {std::uint64_t{1} << 63}}), "its shape overflows"},
      {with_tensor({.sizes = {(std::uint64_t{1} << 57) + 1, 0}}), "its shape overflows"},
      {with_tensor({.sizes = {half, half}}), "a tensor's size overflows"},
      {with_tensor({.sizes = {half, half / 128, 2}}), "a tensor's size overflows"},
      {with_tensor({.sizes = {half, half / 128}}), "leave its 32 bytes"},
      {with_tensor({.sizes = {half, half / 128}, .type = 28}), "leave its 32 bytes"},
      {with_tensor({.type = 43}), "unknown type 43"},
      {with_tensor({.type = 0xffffffff}), "unknown type 4294967295"},
      {with_tensor({.type = 4}), "type Q4_2 (4), which ggml has removed"},
      {with_tensor({.type = 5}), "type Q4_3 (5)"},
      {with_tensor({.type = 31}), "type Q4_0_4_4 (31)"},
      {with_tensor({.type = 32}), "type Q4_0_4_8 (32)"},
      {with_tensor({.type = 33}), "type Q4_0_8_8 (33)"},
      {with_tensor({.type = 36}), "type IQ4_NL_4_4 (36)"},
      {with_tensor({.type = 37}), "type IQ4_NL_4_8 (37)"},
      {with_tensor({.type = 38}), "type IQ4_NL_8_8 (38)"},
      {with_tensor({.sizes = {4, 2}, .type = 8}), "rows of 4 values are not whole blocks of Q8_0, of 32"},
      {with_tensor({.sizes = {128, 2}, .type = 12}),
       "rows of 128 values are not whole blocks of Q4_K, of 256"},
      {with_tensor({.sizes = {}, .type = 2}), "rows of 1 values are not whole blocks of Q4_0"},
      {with_tensor({.offset = 1}),
       "begins at byte 1 of the data, which is not a multiple of the alignment, 32"},
      {with_tensor({.offset = 16}), "not a multiple of the alignment"},
      {with_tensor({.offset = 32}), "32 bytes from byte 32 of the data leave its 32 bytes"},
      {with_tensor({.offset = 64}), "leave its 32 bytes"},
      {with_tensor({.offset = huge - 31}), "32 bytes from byte 18446744073709551584"},
      {with_tensor({.offset = huge - 63}), "leave its 32 bytes"},
      {with_tensor({.offset = std::uint64_t{1} << 63}), "leave its 32 bytes"},
      {with_tensor({.sizes = {0, 2}, .offset = 64}), "0 bytes from byte 64"},
      {with_tensor({}, 31), "32 bytes from byte 0 of the data leave its 31 bytes"},
      {with_tensor({}, 0), "leave its 0 bytes"},
      {with([](GgufBytes& f) {
         f.tensors = {{}, {}}, f.data_bytes = 64;
       }),
       "overlaps the tensor before it"},
      {with([](GgufBytes& f) {
         f.tensors = {{.offset = 32}, {.offset = 0}}, f.data_bytes = 64;
       }),
       "tensor 'x.y' appears twice"},
      {with([](GgufBytes& f) {
         f.tensors = {{.name = "a"}, {.name = "b", .offset = 32}, {.name = "a", .offset = 64}},
         f.data_bytes = 96;
       }),
       "tensor 'a' appears twice"},
      {with([](GgufBytes& f) {
         f.tensors = {{.name = "a", .sizes = {16}}, {.name = "b", .offset = 32}}, f.data_bytes = 64;
       }),
       "tensor 'b': overlaps"},
      {with([](GgufBytes& f) {
         f.tensors = {{.name = "b", .sizes = {8}, .offset = 32}, {.name = "a", .sizes = {24}}},
         f.data_bytes = 96;
       }),
       "tensor 'b': overlaps"},
      {with([](GgufBytes& f) {
         f.tensors = {{.name = "a", .sizes = {8}, .offset = 32},
                      {.name = "b", .sizes = {24}},
                      {.name = "c", .offset = 64}},
         f.data_bytes = 96;
       }),
       "overlaps"},
  };
  check_refused(files);
  // What lies behind the last tensor is nobody's; so is what a gap holds.
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "gaps.gguf";
  write_text(file, with([](GgufBytes& f) {
               f.tensors = {{.name = "a"}, {.name = "b", .offset = 96}}, f.data_bytes = 200;
             }));
  CHECK(io::GgufFile(file).tensors().size() == 2);
}

TEST_CASE("gguf: a file cut off anywhere is refused") {
  const std::string whole = with([](GgufBytes& f) {
    f.values = {gguf_value("k.text", 8, gguf_text("abc")),
                gguf_value("k.list", 9, gguf_array(8, 2, gguf_text("d") + gguf_text(""))),
                gguf_value("k.flag", 7, "\1"), gguf_value("k.number", 12, raw(0.5))};
    f.tensors = {{.name = "a", .sizes = {32}, .type = 8}, {.name = "b", .sizes = {3, 2}, .offset = 64}};
    f.data_bytes = 88;
  });
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "cut.gguf";
  write_text(file, whole);
  CHECK(io::GgufFile(file).at("b").bytes.size() == 24);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    write_text(file, whole.substr(0, size));
    CHECK_FALSE(refusal(file, [&] { io::GgufFile{file}; }).empty());
  }
}

TEST_CASE("gguf: damaged files are read or refused in one line, never more") {
  std::mt19937 random(5);
  const std::string whole = read_text(golden_file());
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "damaged.gguf";
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    std::string text = whole;
    // Numbers stand in the head: eight bytes of it become an edge of their range, or it is damaged as text
    // is.
    if (i % 2) {
      const std::uint64_t edges[] = {0,          1,          255,  1ull << 31, 1ull << 32,
                                     1ull << 62, 1ull << 63, huge, huge - 31};
      text.replace(random() % 1200, 8, raw(edges[random() % std::size(edges)]));
    } else {
      text = precast::testing::damaged(text.substr(0, 1400), random) + text.substr(1400);
    }
    write_text(file, text);
    try {
      const io::GgufFile opened(file);
      std::uint64_t sum = 0;
      for (const io::GgufTensor& tensor : opened.tensors())
        for (const std::byte byte : tensor.bytes) sum += static_cast<std::uint64_t>(byte);
      for (const io::GgufValue& value : opened.values())
        for (const std::byte byte : value.bytes()) sum += static_cast<std::uint64_t>(byte);
      CHECK(sum > 0);
    } catch (const InputError& error) {
      ++refused;
      CHECK(precast::testing::is_one_line(error.what()));
    }
  }
  CHECK(refused > 500);
}

}  // namespace gguf_tests
