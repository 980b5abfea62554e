// The list of block formats, and that any run of a block decodes as the whole does.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/dtype/blocks/block_formats.hpp>

using namespace precast;

namespace {

template <class List>
struct FormatsOf;
template <class... Entries>
struct FormatsOf<BlockFormatList<Entries...>> {
  using type = std::tuple<typename Entries::format...>;
};

}  // namespace

TEST_CASE("block formats: names, numbers and sizes are the field's") {
  // ggml's names and type numbers as GGUF's specification lists them, with bits for each value.
  struct Expected {
    std::string_view name;
    int ggml_type;
    double bits;
  };
  constexpr Expected expected[] = {{"q8_0", 8, 8.5},         {"mxfp8", -1, 8.25},      {"q6_k", 14, 6.5625},
                                   {"mxfp6_e3m2", -1, 6.25}, {"mxfp6_e2m3", -1, 6.25}, {"q5_1", 7, 6},
                                   {"q5_0", 6, 5.5},         {"q5_k", 13, 5.5},        {"q4_1", 3, 5},
                                   {"q4_0", 2, 4.5},         {"q4_k", 12, 4.5},        {"iq4_nl", 20, 4.5},
                                   {"nvfp4", 40, 4.5},       {"iq4_xs", 23, 4.25},     {"mxfp4", 39, 4.25},
                                   {"q3_k", 11, 3.4375},     {"q2_k", 10, 2.625}};
  REQUIRE(block_formats.size() == std::size(expected));
  for (std::size_t i = 0; i < block_formats.size(); ++i) {
    CAPTURE(expected[i].name);
    CHECK(block_formats[i].info.name == expected[i].name);
    CHECK(block_formats[i].ggml_type == expected[i].ggml_type);
    CHECK(block_formats[i].bits_per_value() == expected[i].bits);
  }
}

TEST_CASE("block formats: a name is visited as its type") {
  for (const BlockFormat& format : block_formats) {
    DtypeInfo seen;
    CHECK(
        visit_block_format(format.info.name, [&]<class T>(std::type_identity<T>) { seen = dtype_info<T>; }));
    CHECK(seen == format.info);
  }
  bool called = false;
  CHECK_FALSE(visit_block_format("q7_k", [&](auto) { called = true; }));
  CHECK_FALSE(called);
}

TEMPLATE_LIST_TEST_CASE("block formats: any run decodes as the whole block does", "",
                        FormatsOf<BlockFormats>::type) {
  constexpr int in_block = dtype_traits<TestType>::values_per_block;
  std::mt19937 random(1);
  std::vector<TestType> blocks(3);
  std::vector<std::uint8_t> bytes(blocks.size() * sizeof(TestType));
  std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random() & 0x3b); });  // no NaN
  std::memcpy(static_cast<void*>(blocks.data()), bytes.data(), bytes.size());
  std::vector<f32> whole(blocks.size() * in_block);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    dtype_traits<TestType>::decode(blocks[b], 0, in_block, whole.data() + b * in_block);
  CHECK(std::set<f32>(whole.begin(), whole.end()).size() > 4);
  const int values = static_cast<int>(whole.size());
  int wrong = 0;
  for (int first = 0; first < values; first += 1 + first % 3)
    for (const int count : {1, 7, 16, 33, 100, values}) {
      if (first + count > values) continue;
      std::vector<f32> run(static_cast<std::size_t>(count) + 1, -12345.f);
      decode_run<TestType>(blocks.data(), first, count, run.data());
      wrong += !std::equal(run.begin(), run.end() - 1, whole.begin() + first) || run.back() != -12345.f;
    }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("block formats: a scale of 255 makes NaN of every value of OCP's formats", "", mxfp8,
                   mxfp6_e3m2, mxfp6_e2m3) {
  TestType block{};
  block.scale = 255;
  f32 values[32];
  dtype_traits<TestType>::decode(block, 0, 32, values);
  CHECK(std::ranges::all_of(values, [](f32 value) { return value != value; }));
}

TEST_CASE("block formats: e4m3's own NaN is one of mxfp8") {
  mxfp8 block{};
  f32 values[32];
  block.scale = 127;
  block.codes[5] = 0x7f;
  block.codes[6] = 0x38;
  dtype_traits<mxfp8>::decode(block, 0, 32, values);
  CHECK(values[4] == 0);
  CHECK(values[5] != values[5]);
  CHECK(values[6] == 1);
}

TEST_CASE("block formats: mxfp6's codes follow one another bit by bit") {
  // -28, 0.0625, 1 and 3.5 in e3m2: 111111, 000001, 001100 and 010011, the lowest bit first.
  mxfp6_e3m2 block{};
  block.scale = 127 + 1;
  block.codes[3] = 0b01'111111, block.codes[4] = 0b1100'0000, block.codes[5] = 0b010011'00;
  f32 values[32];
  dtype_traits<mxfp6_e3m2>::decode(block, 0, 32, values);
  CHECK(std::vector<f32>(values + 3, values + 9) == std::vector<f32>{0, -56, 0.125f, 2, 7, 0});
  // -7.5, 0.125, 1 and 1.375 in e2m3: 111111, 000001, 001000 and 001011.
  mxfp6_e2m3 finer{};
  finer.scale = 127 - 1;
  finer.codes[21] = 0b01'111111, finer.codes[22] = 0b1000'0000, finer.codes[23] = 0b001011'00;
  dtype_traits<mxfp6_e2m3>::decode(finer, 0, 32, values);
  CHECK(std::vector<f32>(values + 27, values + 32) == std::vector<f32>{0, -3.75f, 0.0625f, 0.5f, 0.6875f});
}
