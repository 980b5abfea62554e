#include <cstdlib>
#include <string_view>

#include <cli/options/arguments.hpp>
#include <cli/options/device_of_rank.hpp>

namespace precast::cli {

namespace {

/// Whether this process sees one device, as with Slurm's --gpus-per-task: its number is 0.
bool sees_one_device() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible && *visible && std::string_view(visible).find(',') == std::string_view::npos;
}

}  // namespace

std::string device_of_rank(const std::string& wanted, std::int64_t size,
                           const std::function<std::int64_t()>& place) {
  if (size == 1 || wanted == "cpu") return wanted;
  if (wanted == "auto") return "cpu";
  if (wanted.starts_with("cuda:"))
    throw UsageError("--device " + wanted +
                     " is one device, and there are several ranks: give --device cuda, of which each rank "
                     "of a machine takes the next");
  if (wanted != "cuda") return wanted;
  const std::int64_t next = place();
  return "cuda:" + std::to_string(sees_one_device() ? 0 : next);
}

}  // namespace precast::cli
