#include <precast/nn/linear.hpp>
#include <precast/policy/presets.hpp>
using namespace precast;
void snippet(const nn::ParameterSource& source) {
  // [block]
}
