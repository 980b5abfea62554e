// Compiled with PRECAST_EMULATE_CUDA: the models that are named here are the CUDA backend's.
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

#include <cuda/host_library.hpp>
#include <cuda_pipeline/emulated_backend.hpp>
#include <cuda_pipeline/emulated_device.hpp>
#include <emulated_paths.hpp>
#include <families/compiled_backend.hpp>

#include <precast/error.hpp>

namespace precast::testing {

namespace {

/// Calls `visitor` with each emulated policy's type.
template <class Visitor>
void for_each_emulated(Visitor&& visitor) {
  [&]<class... P>(std::type_identity<std::tuple<P...>>) {
    (visitor(std::type_identity<P>{}), ...);
  }(std::type_identity<EmulatedPaths>{});
}

/// Products of a host's library stand for cuBLASLt's, which works in memory of its own: here in about as much
/// as the models of the tests take.
class SessionWithLibrary final : public EmulatedSession {
  HostLibrary host_{.multiplied = {}, .workspace_bytes = std::size_t{1} << 20};
  gpu::LibraryScope<gpu::ProductLibrary> library_{host_.library()};
};

class PictureBackend final : public EmulatedBackend {
 public:
  std::span<const families::FamilyModels> models(const PolicyChoice& choice) const override {
    std::span<const families::FamilyModels> found;
    for_each_emulated([&]<class P>(std::type_identity<P>) {
      if (choice == choice_of<P>()) found = families::compiled_models<P>();
    });
    if (found.empty()) throw PathNotCompiled(to_string(choice) + " is not emulated: see tests/cuda_pipeline");
    return found;
  }

  std::unique_ptr<families::DeviceSession> start() const override {
    return std::make_unique<SessionWithLibrary>();
  }
};

}  // namespace

const families::Backend& emulated_backend() {
  static const PictureBackend backend;
  return backend;
}

std::vector<PolicyChoice> emulated_choices() {
  std::vector<PolicyChoice> choices;
  for_each_emulated([&]<class P>(std::type_identity<P>) { choices.push_back(choice_of<P>()); });
  return choices;
}

}  // namespace precast::testing
