// What training takes of a device's memory, known before any of it is taken.
#pragma once

#include <cstdint>
#include <functional>

#include <families/backend.hpp>
#include <language_model/config.hpp>
#include <language_model/trainer.hpp>
#include <language_model/training_device.hpp>

namespace precast::language_model {

/// After as many equal steps the pool of a device holds all that it ever will.
inline constexpr std::int64_t steps_until_pool_is_full = 3;

/// The most bytes of the device's memory that `steps` holds at once, by a dry run of it, which takes steps of
/// `batch` windows of `context` tokens; of more than 16 million tokens, what their results take at least.
/// Throws what `steps` does.
std::int64_t needed_memory(const LanguageModelConfig& config, std::int64_t batch, std::int64_t context,
                           const families::Backend& device, const std::function<void()>& steps);

/// Those of a Trainer, its messages to other ranks among them, and of the host's the values that it is given:
/// where they are freed, what they leave of the heap is not the system's again. Throws what options and sizes
/// do, and TrainingDevice::policy.
std::int64_t needed_memory(const LanguageModelConfig& config, const TrainingOptions& options,
                           std::int64_t batch, std::int64_t context, const TrainingDevice& device,
                           const DataParallel& parallel = {});

}  // namespace precast::language_model
