// Compiled with PRECAST_USE_CUDA: models named here are those of the CUDA backend.
#include <language_model/compiled_model.hpp>
#include <language_model/cuda_models.hpp>

#include <precast/cuda/cluster/nccl_communicator.hpp>

namespace precast::language_model {

const std::vector<TrainingPolicy>& cuda_training_policies() { return compiled_training_policies(); }
std::unique_ptr<cluster::Communicator> join_devices(cluster::Communicator& job) {
  return std::make_unique<gpu::NcclCommunicator>(job);
}

}  // namespace precast::language_model
