// Blocks of Flux and a step of denoising in bf16; a unit of its own, because it holds a whole model.
#include <cuda/flux.hpp>

namespace precast::bench {

template void add_flux<Bf16>(const Suite&);

}  // namespace precast::bench
