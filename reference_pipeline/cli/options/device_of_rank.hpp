// The device of one of several processes that were given the same --device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace precast::cli {

/// The value of --device for one of `size` processes. "cuda": the device at this process's index on its
/// machine (`place`, from 0), or the only one that CUDA_VISIBLE_DEVICES shows; "auto": the CPU. `place` is
/// called by all processes or by none. Throws UsageError for "cuda:N", which all would share.
std::string device_of_rank(const std::string& wanted, std::int64_t size,
                           const std::function<std::int64_t()>& place);

}  // namespace precast::cli
