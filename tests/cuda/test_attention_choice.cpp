// HeadWidths and WithoutBias in the emulator: the same bits, and errors for what was left out.
#include <catch2/catch.hpp>
#include <support/attention_choices.hpp>
#include <support/policies.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("attention among chosen head widths, in the emulator", "[attention]", F16UpcastAttention,
                   Bf16Flash) {
  check_attention_choices<TestType>();
}
