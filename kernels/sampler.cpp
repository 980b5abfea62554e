// The samplers' steps, whose state is f32 under every policy.
#include <tuple>

#include <precast/backend/pointwise.hpp>
#include <precast/backend/reduction.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/tensor/view.hpp>

namespace precast::kernels {
namespace {

using In = View<const f32>;
using PerImage = RowBroadcast<f32>;

[[gnu::used, maybe_unused]] constexpr std::tuple stamped{
    &backend::map_values<SamplerStep, elementwise::EulerStep, In, In>,
    &backend::map_values<SamplerStep, elementwise::Combination, In>,
    &backend::map_values<SamplerStep, elementwise::Combination, In, In>,
    &backend::map_values<SamplerStep, elementwise::Combination, In, In, In>,
    &backend::map_values<SamplerStep, elementwise::Combination, In, In, In, In>,
    &backend::map_values<SamplerStep, elementwise::Guidance, In, In>,
    &backend::map_values<SamplerStep, elementwise::Repainted, In, In, In, In>,
    &backend::map_values<SamplerStep, elementwise::SquaredDeviation, In, PerImage>,
    &backend::map_values<SamplerStep, elementwise::RescaledGuidance, In, PerImage, PerImage>,
    &backend::reduce_values<SamplerSum, f32>};

}  // namespace
}  // namespace precast::kernels
