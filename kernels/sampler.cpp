// The samplers' steps, whose state is f32 under every policy.
#include <tuple>

#include <precast/backend/pointwise.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/tensor/view.hpp>

namespace precast::kernels {
namespace {

using In = View<const f32>;

[[gnu::used, maybe_unused]] constexpr std::tuple stamped{
    &backend::map_values<SamplerStep, elementwise::EulerStep, In, In>};

}  // namespace
}  // namespace precast::kernels
