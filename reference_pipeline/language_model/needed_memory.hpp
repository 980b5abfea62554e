// The device memory that training takes, computed before any of it is allocated.
#pragma once

#include <cstdint>
#include <functional>

#include <families/backend.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

namespace precast::language_model {

/// The number of equal steps after which the memory pool of a device grows no more.
inline constexpr std::int64_t steps_until_pool_is_full = 3;

/// The peak of the device's memory in bytes during `steps`, by a dry run. `steps` runs steps of `batch`
/// windows of `context` tokens; for more than 16 million tokens a step, the bytes of the logits alone.
/// Throws what `steps` throws.
std::int64_t needed_memory(const LanguageModelConfig& config, std::int64_t batch, std::int64_t context,
                           const families::Backend& device, const std::function<void()>& steps);

/// The same for the steps of a Trainer, with its messages to other ranks. Counts the initial values in host
/// memory throughout: the heap that they free is not returned to the system. Throws what options and sizes
/// do, and TrainingDevice::policy.
std::int64_t needed_memory(const LanguageModelConfig& config, const TrainingOptions& options,
                           std::int64_t batch, std::int64_t context, const TrainingDevice& device,
                           const DataParallel& parallel = {});

}  // namespace precast::language_model
