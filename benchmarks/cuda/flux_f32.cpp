// Blocks of Flux and a step of denoising in f32; a unit of its own, because it holds a whole model.
#include <cuda/flux.hpp>

namespace precast::bench {

template void add_flux<F32>(const Suite&);

}  // namespace precast::bench
