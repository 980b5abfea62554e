// The device of one of several processes, for what --device says to all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace precast::cli {

/// What --device is for one of `size` processes. "cuda" is the device at its `place` among the processes of
/// its machine, from 0, or the only one that CUDA_VISIBLE_DEVICES shows it; "auto" is the CPU. `place` is
/// asked of all or of none. Throws UsageError for "cuda:N", which is one device for all.
std::string device_of_rank(const std::string& wanted, std::int64_t size,
                           const std::function<std::int64_t()>& place);

}  // namespace precast::cli
