// The policies that language models are trained under on CUDA devices. Only builds with CUDA have them.
#pragma once

#include <vector>

#include <language_model/trained_model.hpp>

namespace precast::language_model {

const std::vector<TrainingPolicy>& cuda_training_policies();

}  // namespace precast::language_model
