// The watch hook's reductions of what the cases give, in the one unit that reads CUB.
#include <precast/cuda/reduction/extremes_by_cub.hpp>

namespace precast::cuda {

template Extremes extremes_of<f32>(View<const f32>, Stream);
template Extremes extremes_of<bf16>(View<const bf16>, Stream);
template Extremes extremes_of<f16>(View<const f16>, Stream);

}  // namespace precast::cuda
