// Trace keeps the first value that is not finite, and says what cures it.
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/watch/trace.hpp>

using namespace precast;
using namespace precast::watch;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double bf16_max = dtype_traits<bf16>::format.max();

OpRecord op(std::string_view name, std::string_view operand, std::string_view inside,
            std::string_view result) {
  return {.path = "transformer.transformer_blocks.3.attn",
          .function = name == "Attention" ? "attention" : "linear",
          .op = name,
          .dtypes = {"f16", operand, "f32", inside, result},
          .shape = Shape{1, 4, 8},
          .max_abs = 12,
          .nans = 2};
}

}  // namespace

TEST_CASE("scores that overflow inside attention") {
  const NonFinite found{op("Attention", "f16", "f16", "f16"), 19, not_a_number, 1.25, 91234, 65504};
  CHECK(cause_of(found) == Cause::inside);
  CHECK(cure_for(found) == Cure::upcast_attention);
  CHECK(diagnosis(found) ==
        "first non-finite value: nan at [0, 2, 3] of transformer.transformer_blocks.3.attn (attention, "
        "Attention); f32 "
        "has 1.25 there: f16 can hold that, but the op overflows on the way, where values reach 91234 and "
        "f16 ends at "
        "65504: Upcast<Attention> cures it, and so does Flash");
}

TEST_CASE("a result above the range of its dtype") {
  const NonFinite found{op("Matmul", "f16", "", "f16"), 0, inf, 70000, 0, 65504};
  CHECK(cause_of(found) == Cause::result);
  CHECK(cure_for(found) == Cure::store_bf16);
  CHECK_THAT(diagnosis(found),
             Catch::Contains("inf at [0, 0, 0]") && Catch::Contains("f32 has 70000 there") &&
                 Catch::Contains(
                     "above the largest f16, 65504, which no upcast changes: Storage<bf16> cures it, and so "
                     "does Overflow<Saturate>"));
  // Casting attention up does not cure what its result cannot hold.
  CHECK(cure_for({op("Attention", "f32", "f32", "f16"), 0, inf, -70000, 0, 65504}) == Cure::store_bf16);
  CHECK(cure_for({op("Matmul", "bf16", "", "bf16"), 0, inf, 3.4e38, 0, bf16_max}) == Cure::store_f32);
}

TEST_CASE("a product that overflows on the way") {
  CHECK(cure_for({op("Matmul", "f16", "", "f16"), 0, not_a_number, 2, 0, 65504}) == Cure::upcast_matmul);
  CHECK(cure_for({op("Conv", "f16", "", "f16"), 0, not_a_number, 2, 0, 65504}) == Cure::upcast_conv);
  CHECK(cure_for({op("Conv", "f32", "", "f16"), 0, not_a_number, 2, 0, 65504}) == Cure::store_bf16);
  CHECK(cure_for({op("Conv", "f16", "", "f16"), 0, inf, 70000, 0, 65504}) == Cure::store_bf16);
  CHECK(in_policy(Cure::upcast_conv) == "Upcast<Conv>");
  CHECK(cure_for({op("Norm", "as given", "f32", "f16"), 0, not_a_number, 2, 0, 65504}) == Cure::store_bf16);
}

TEST_CASE("what a downcast lost on the way, its absence cures") {
  const NonFinite found{op("Norm", "as given", "f16", "f16"), 0, not_a_number, 2, 0, 65504};
  CHECK(cure_for(found) == Cure::no_downcast);
  CHECK_THAT(diagnosis(found), Catch::EndsWith(": a policy that does not downcast this op class cures it"));
  CHECK(cure_for({op("Norm", "as given", "f16", "f16"), 0, inf, 70000, 0, 65504}) == Cure::store_bf16);
}

TEST_CASE("a program spells the cures as its own options") {
  const NonFinite found{op("Attention", "f16", "f16", "f16"), 19, not_a_number, 1.25, 91234, 65504};
  const auto shout = [](Cure cure) { return in_policy(cure) + "!"; };
  CHECK_THAT(diagnosis(found, shout), Catch::EndsWith(": Upcast<Attention>! cures it, and so does Flash!"));
}

TEST_CASE("weights that the dtype at rest may have made infinite") {
  // The last is a dtype that a user may have added.
  for (const auto& [storage, largest] : std::initializer_list<std::pair<std::string_view, double>>{
           {"f16", 65504}, {"fp8_e4m3", 448}, {"e3m4", 15.5}}) {
    NonFinite found{op("Matmul", "f16", "", "f16"), 0, not_a_number, inf, 0, 65504, largest};
    found.record.dtypes.storage = storage;
    CHECK(cause_of(found) == Cause::weights);
    CHECK(cure_for(found) == Cure::store_bf16);
    CHECK_THAT(diagnosis(found),
               Catch::Contains("a weight is not a number of " + std::string(storage) +
                               ", in which they are stored, or what the op reads is not finite: where the "
                               "file's own numbers are, Storage<bf16> cures it, and otherwise no"));
  }
}

TEST_CASE("what no precision cures") {
  for (const double in_f32 : {inf, -inf, not_a_number}) {
    NonFinite found{op("Matmul", "bf16", "", "bf16"), 0, not_a_number, in_f32, 0, bf16_max, bf16_max};
    found.record.dtypes.storage = "bf16";
    CHECK(cause_of(found) == Cause::input);
    CHECK(cure_for(found) == Cure::none);
    CHECK_THAT(diagnosis(found), Catch::Contains("no precision option cures that"));
  }
}

TEST_CASE("a trace keeps every op and the first value alone", "[watch]") {
  Trace trace;
  CHECK(trace.wants_non_finite());
  const Watching watching(trace);
  trace.on_op(op("Matmul", "f16", "", "f16"));
  trace.on_non_finite({op("Matmul", "f16", "", "f16"), 5, inf, 70000, 0, 65504});
  CHECK_FALSE(trace.wants_non_finite());
  trace.on_op(op("Norm", "as given", "f32", "f16"));
  trace.on_non_finite({op("Norm", "as given", "f32", "f16"), 6, not_a_number, 1, 0, 65504});
  REQUIRE(trace.records().size() == 2);
  CHECK(trace.first_non_finite()->index == 5);
  CHECK(trace.non_finite_values() == 4);
}
