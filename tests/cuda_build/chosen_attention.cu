// A user's file with one attention, which says what it needs.
#include <precast/ops/attention.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;

Tensor<bf16> attend(const Tensor<bf16>& q, const Tensor<bf16>& k, const Tensor<bf16>& v) {
  return attention<Policy<Storage<bf16>, Flash>, HeadWidths<64>, WithoutBias>(q, k, v, {.heads = 4});
}
