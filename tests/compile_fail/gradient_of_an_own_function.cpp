// expect: Precast: the gradient of this function is unknown: specialise precast::elementwise::Slope<F>
#include <cmath>

#include <precast/ops/pointwise_gradient.hpp>

using namespace precast;
using P = Policy<Storage<f32>>;

struct Softplus {
  f32 operator()(f32 x) const { return std::log1p(std::exp(x)); }
};
#if !defined(MISTAKE)
template <>
struct precast::elementwise::Slope<Softplus> {
  template <class Inside>
  static f32 of(f32 x) {
    return 1 / (1 + std::exp(-x));
  }
};
#endif

void run(View<const f32> dy, View<const f32> x, View<f32> out) {
  activate_gradient_into<P, Softplus>(dy, x, out);
}
