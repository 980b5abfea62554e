// UNets and a decoder in f32; a unit of its own, because it holds whole models.
#include <cuda/stable_diffusion.hpp>

namespace precast::bench {

template void add_stable_diffusion<F32>(const Suite&);

}  // namespace precast::bench
