// The training policies of language models on CUDA devices. Only in builds with CUDA.
#pragma once

#include <memory>
#include <vector>

#include <language_model/trained_model.hpp>

#include <precast/cluster/communicator.hpp>

namespace precast::language_model {

const std::vector<TrainingPolicy>& cuda_training_policies();
/// NCCL over the devices of a job's ranks. Throws Error if NCCL is not found, and CommunicationError.
std::unique_ptr<cluster::Communicator> join_devices(cluster::Communicator& job);

}  // namespace precast::language_model
