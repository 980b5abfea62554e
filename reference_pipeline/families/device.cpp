// Chooses a device. Builds without CUDA have the CPU alone.
#include <optional>

#include <families/backend.hpp>
#include <families/device.hpp>
#include <families/request_error.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>

#if PRECAST_HAS_CUDA
#include <families/cuda_backend.hpp>
#endif

namespace precast::families {

namespace {

ChosenDevice on_cpu(std::string reason) { return {&cpu_backend(), "cpu", std::move(reason)}; }

/// The number in "cuda" (0) or "cuda:N".
std::optional<int> cuda_number(std::string_view wanted) {
  if (wanted == "cuda") return 0;
  if (!wanted.starts_with("cuda:")) return std::nullopt;
  const auto number = io::number_in<int>(wanted.substr(5));
  return number && *number >= 0 ? number : std::nullopt;
}

ChosenDevice on_cuda([[maybe_unused]] int number) {
#if PRECAST_HAS_CUDA
  return find_cuda_backend(number);
#else
  return {nullptr, {}, "this build has no CUDA (build it where nvcc is, with -DPRECAST_CUDA=on)"};
#endif
}

ChosenDevice on_any_cuda() {
#if PRECAST_HAS_CUDA
  return first_usable_device(count_cuda_devices(), find_cuda_backend);
#else
  return on_cuda(0);
#endif
}

/// Whether there was anything to choose.
constexpr bool has_cuda = PRECAST_HAS_CUDA;

}  // namespace

ChosenDevice first_usable_device(int count, const std::function<ChosenDevice(int)>& find) {
  ChosenDevice found = find(0);
  std::string passed_over = found.reason;
  for (int number = 1; number < count && !found.backend; ++number) {
    found = find(number);
    if (found.backend)
      found.reason = "it is the first that can be used: " + passed_over;
    else
      passed_over += "; " + found.reason;
  }
  if (!found.backend) found.reason = passed_over;
  return found;
}

ChosenDevice choose_device(std::string_view wanted) {
  if (wanted == "cpu") return on_cpu({});
  if (wanted == "auto") {
    ChosenDevice found = on_any_cuda();
    return found.backend ? found : on_cpu(has_cuda ? found.reason : std::string());
  }
  const auto number = cuda_number(wanted);
  if (!number)
    throw RequestError("there is no device '" + std::string(wanted) +
                       "': it is one of auto, cpu, cuda and cuda:N");
  ChosenDevice found = on_cuda(*number);
  if (!found.backend)
    throw InputError("device " + std::string(wanted) + " cannot be used: " + found.reason +
                     "; --device cpu works everywhere");
  return found;
}

}  // namespace precast::families
