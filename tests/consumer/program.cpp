// What a project that uses Precast's headers looks like: it takes a policy and an op table row, and rounds a
// number.
#include <cstdio>

#include <precast/policy/op_table.hpp>
#include <precast/policy/presets.hpp>
#include <precast/watch/ran_in.hpp>

using Policy = precast::Policy<precast::Upcast<precast::Attention>, precast::Storage<precast::f16>>;
static_assert(std::is_same_v<Policy, precast::presets::Memory>);
using Row = precast::precisions<Policy, precast::Attention>;
static_assert(std::is_same_v<Row::operand, precast::f32>);
static_assert(!precast::watch::compiled, "Whoever takes the headers alone has not two kernels for each op.");

int main() {
  const auto rounded = precast::from_double<Row::result>(65520.0);
  std::printf("65520 in f16 has the bits %04x\n", static_cast<unsigned>(rounded.bits));
  return rounded.bits == 0x7c00 ? 0 : 1;
}
