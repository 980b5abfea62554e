// expect: or activate<P, decltype(f)>(x), or an ActivationFunction.
#include <precast/ops/activate.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

inline constexpr auto relu = [](f32 x) { return x > 0 ? x : 0; };

void run(View<const bf16> a, View<const bf16> b, View<bf16> out) {
#ifdef MISTAKE
  gated_product_into<P>(a, b, relu, out);
#else
  gated_product_into<P, decltype(relu)>(a, b, out);
#endif
}
