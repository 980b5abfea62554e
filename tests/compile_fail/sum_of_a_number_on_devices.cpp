// expect: cluster::sum: this job adds up values on devices, and the number is the host's
#define PRECAST_EMULATE_CUDA 1
#include <precast/cuda/cluster/nccl_communicator.hpp>

using namespace precast;

double run(cluster::Communicator& meeting) {
#if defined(MISTAKE)
  gpu::NcclCommunicator job(meeting);  // whose sums are of a device's memory
#else
  cluster::Communicator& job = meeting;
#endif
  return cluster::sum(job, 1);
}
