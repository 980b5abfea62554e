// Flash attention's kernel in the emulator: the tiles of every architecture, and its loads of matrices. Its
// results in all else are tested as the op's, in tests/op_cases.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>

#include "attention_runs.hpp"

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("flash attention in the tiles of every architecture", "[attention]", F32Flash, Bf16Flash,
                   F16Flash, Tf32Flash) {
  using Operand = typename precisions<TestType, Attention>::operand;
  for (const std::int64_t width : {64, 96, 128, 160, 256}) {
    std::vector<gpu::FlashAttentionTile> tried;
    for (const Architecture architecture : gpu::all_architectures) {
      const auto tile =
          gpu::select_flash_attention<Operand>(architecture, false, static_cast<int>(width), false);
      for (const Architecture device : gpu::all_architectures)  // its own and, by the driver, newer ones
        if (device >= architecture)
          CHECK(gpu::flash_attention_bytes<Operand>(tile, static_cast<int>(width)) <=
                gpu::limits_of(device).shared_per_block);
      if (std::find(tried.begin(), tried.end(), tile) != tried.end()) continue;
      tried.push_back(tile);
      CHECK(wrong_in<TestType>({1, 1, 20, 150, width}, architecture) == "");
    }
  }
}

TEMPLATE_TEST_CASE("flash attention of 16 bits in f32, in the tiles of every architecture", "[attention]",
                   bf16, f16) {
  for (const Architecture architecture : gpu::all_architectures)
    for (const std::int64_t width : {24, 96, 128, 256}) {
      CAPTURE(width);
      CHECK(wrong_in<F32Flash, TestType>({1, 1, 20, 150, width, width == 24, width >= 128}, architecture) ==
            "");
    }
}

// A score that exponents are taken from is rounded, so that weights come to more than 1: f16 ends at 2 of
// them.
TEMPLATE_TEST_CASE("flash attention of 16 bits in f32 takes scores of any size", "[attention]", bf16, f16) {
  for (const double size : {2500.0, 8000.0})
    for (const Architecture architecture : {Architecture::sm_80, Architecture::sm_90}) {
      CAPTURE(size, architecture == Architecture::sm_90);
      const AttentionCase c{.batch = 1, .heads = 1, .queries = 20, .keys = 70, .width = 64, .size = size};
      const AttentionInputs<TestType> in(c);
      const auto expected = wide(attention_of<F32>(c, in, architecture));
      CHECK(outside(attention_of<F32Flash>(c, in, architecture), expected,
                    [](std::size_t) { return 1e-5; }) == "");
    }
}

// Exponents are taken from scores up to 2^23 / log2(e), and from differences of larger ones.
TEMPLATE_TEST_CASE("flash attention's maximum may grow past the scores that exponents are taken from",
                   "[attention]", bf16, f16, f32) {
  for (const double first : {5814539.5, -5814540.5, 5814530.0, -5814550.0}) {
    const AttentionCase c{.batch = 1, .heads = 1, .queries = 1, .keys = 140, .width = 64, .biased = true};
    AttentionInputs<TestType> in(c);
    in.q = filled<TestType>(in.q.shape(), 0);
    for (std::int64_t key = 0; key < c.keys; ++key)
      in.bias.data()[key] = static_cast<f32>(first + (key < 64 ? 0 : key < 128 ? 1 : 2));
    const auto values = wide(in.v);
    std::vector<double> expected(64);
    double sum = 0;
    for (std::size_t key = 0; key < 140; ++key) {
      const double weight = std::exp(key < 64 ? -2 : key < 128 ? -1 : 0);
      sum += weight;
      for (std::size_t column = 0; column < 64; ++column)
        expected[column] += weight * values[key * 64 + column];
    }
    for (double& value : expected) value /= sum;
    for (const Architecture architecture : {Architecture::sm_80, Architecture::sm_90}) {
      CAPTURE(first, architecture == Architecture::sm_90);
      CHECK(outside(attention_of<F32Flash>(c, in, architecture), expected,
                    [](std::size_t) { return 1e-5; }) == "");
    }
  }
}

TEMPLATE_TEST_CASE("flash attention loads matrices without bank conflicts", "[attention]", Bf16Flash,
                   F16Flash, Tf32Flash) {
  for (const std::int64_t width : {32, 64, 96, 128, 160, 256}) {
    const AttentionCase c{1, 1, 17, 70, width};
    const simt::Session session;
    attention_of<TestType>(c, AttentionInputs<typename TestType::activation>(c));
    REQUIRE(session.launches().size() == 1);
    CHECK(session.launches()[0].matrix_loads > 0);
    CHECK(session.launches()[0].bank_conflicts == 0);
  }
}

TEMPLATE_TEST_CASE("flash attention waits for every copy that it starts", "[attention]", Bf16Flash,
                   F32Flash) {
  for (const std::int64_t keys : {0, 1, 40, 150}) {
    const AttentionCase c{1, 1, 20, keys, 64};
    const simt::Session session({.copies = simt::Copies::late});
    attention_of<TestType>(c, AttentionInputs<typename TestType::activation>(c));
    REQUIRE(session.launches().size() == 1);
    CHECK(session.launches()[0].unawaited_copies == 0);
  }
}
