// expect: Precast: this op runs in the other memory space: what it writes, and every view that it takes
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/linear.hpp>

using namespace precast;
using P = Policy<Storage<bf16>>;

#if defined(MISTAKE)
using Weight = HostTensor<bf16>;
#else
using Weight = Tensor<bf16>;
#endif

LinearWeight<P> run(const Weight& weight) { return LinearWeight<P>::borrowed(weight); }
