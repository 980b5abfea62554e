// A unit that links to kernels, and calls one that no unit of kernels/ stamps: it must not link, on either
// backend.
#include <precast/backend/softmax.hpp>
#include <precast/policy/op_table.hpp>

int main() { precast::backend::softmax<precast::OpDtypes<float, float, float, float, float>, float>({}, {}); }
