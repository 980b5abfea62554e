// expect: cluster::sum: this communicator sums values on devices, and the number is on the host
#define PRECAST_EMULATE_CUDA 1
#include <precast/cuda/cluster/nccl_communicator.hpp>

using namespace precast;

double run(cluster::Communicator& bootstrap) {
#if defined(MISTAKE)
  gpu::NcclCommunicator job(bootstrap);  // whose sums are of a device's memory
#else
  cluster::Communicator& job = bootstrap;
#endif
  return cluster::sum(job, 1);
}
