// HeadWidths and WithoutBias on the host: the same bits, and errors for what was left out.
#include <type_traits>

#include <catch2/catch.hpp>
#include <support/attention_choices.hpp>
#include <support/policies.hpp>

using namespace precast;
using namespace precast::testing;

static_assert(std::is_same_v<chosen_attention<>, EveryAttention>);
static_assert(std::is_same_v<chosen_attention<HeadWidths<64>, WithoutBias>, AttentionChoice<false, 64>>);
static_assert(std::is_same_v<chosen_attention<WithoutBias, HeadWidths<64>>, AttentionChoice<false, 64>>);
static_assert(EveryAttention::has_widths(0, 32) && EveryAttention::has_widths(256, 4096));
static_assert(AttentionChoice<true, 40, 128>::has_widths(32, 64) &&
              AttentionChoice<true, 40, 128>::has_widths(96, 128));
static_assert(!AttentionChoice<true, 40, 128>::has_widths(0, 32) &&
              !AttentionChoice<true, 40, 128>::has_widths(128, 160));

TEMPLATE_TEST_CASE("attention among chosen head widths, on the host", "[attention]", F32, Bf16Flash) {
  check_attention_choices<TestType>();
}
