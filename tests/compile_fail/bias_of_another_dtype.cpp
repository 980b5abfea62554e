// expect: Precast: this bias has another dtype than its weight takes
#include <vector>

#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Bias = std::vector<f32>;
#else
using Bias = std::vector<bf16>;
#endif

LinearWeight<P> run(const Tensor<bf16>& weight, const Bias& bias) { return LinearWeight<P>(weight, bias); }
