// Compiled with PRECAST_EMULATE_CUDA: the models that are named here are the CUDA backend's.
#include <type_traits>

#include <cuda/host_library.hpp>
#include <cuda_pipeline/emulated_components.hpp>
#include <emulated_paths.hpp>

#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
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

/// What `make` makes for the policy that is chosen.
template <class Component, class Make>
std::unique_ptr<Component> made(const PolicyChoice& choice, Make&& make) {
  std::unique_ptr<Component> component;
  for_each_emulated([&]<class P>(std::type_identity<P> policy) {
    if (choice == choice_of<P>()) component = make(policy);
  });
  if (!component) throw PathNotCompiled(to_string(choice) + " is not emulated: see tests/cuda_pipeline");
  return component;
}

/// Products of a host's library stand for cuBLASLt's.
class EmulatedSession final : public flux::DeviceSession {
  cuda::OwnStream stream_;
  HostLibrary host_;
  cuda::LibraryScope<cuda::ProductLibrary> library_{host_.library()};
};

class EmulatedComponents final : public flux::Components {
 public:
  std::unique_ptr<flux::Transformer> transformer(const PolicyChoice& choice,
                                                 const flux::TransformerConfig& config,
                                                 const nn::ParameterSource& source) const override {
    return made<flux::Transformer>(
        choice, [&]<class P>(std::type_identity<P>) { return flux::make_transformer<P>(config, source); });
  }
  std::unique_ptr<text::ClipTextModel> clip(const PolicyChoice& choice, const text::ClipConfig& config,
                                            const nn::ParameterSource& source) const override {
    return made<text::ClipTextModel>(choice, [&]<class P>(std::type_identity<P>) {
      return text::make_clip_text_model<P>(config, source);
    });
  }
  std::unique_ptr<text::T5Encoder> t5(const PolicyChoice& choice, const text::T5Config& config,
                                      const nn::ParameterSource& source) const override {
    return made<text::T5Encoder>(
        choice, [&]<class P>(std::type_identity<P>) { return text::make_t5_encoder<P>(config, source); });
  }
  std::unique_ptr<vae::Decoder> decoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return made<vae::Decoder>(
        choice, [&]<class P>(std::type_identity<P>) { return vae::make_decoder<P>(config, source); });
  }
  std::unique_ptr<vae::Encoder> encoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                        const nn::ParameterSource& source) const override {
    return made<vae::Encoder>(
        choice, [&]<class P>(std::type_identity<P>) { return vae::make_encoder<P>(config, source); });
  }

  std::unique_ptr<flux::DeviceSession> start() const override { return std::make_unique<EmulatedSession>(); }
  std::optional<std::int64_t> free_memory() const override { return std::nullopt; }
  std::int64_t peak_memory() const override { return cuda::memory_use().peak; }
  void reset_peak_memory() const override { cuda::reset_peak_memory(); }
};

}  // namespace

const flux::Components& emulated_components() {
  static const EmulatedComponents components;
  return components;
}

std::vector<PolicyChoice> emulated_choices() {
  std::vector<PolicyChoice> choices;
  for_each_emulated([&]<class P>(std::type_identity<P>) { choices.push_back(choice_of<P>()); });
  return choices;
}

}  // namespace precast::testing
