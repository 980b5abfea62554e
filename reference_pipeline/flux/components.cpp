// From run-time choices to the instances that kernels/ compiled: the only visits in the pipeline.
#include <flux/components.hpp>

#include <precast/policy/visit.hpp>

namespace precast::flux {

namespace {

template <class Component, class Make>
std::unique_ptr<Component> loaded(const PolicyChoice& choice, Make make) {
  return visit_policy<std::unique_ptr<Component>>(choice, make);
}

}  // namespace

std::unique_ptr<Transformer> load_transformer(const PolicyChoice& choice, const TransformerConfig& config,
                                              const nn::ParameterSource& source) {
  return loaded<Transformer>(
      choice, [&](auto path) { return make_transformer<typename decltype(path)::policy>(config, source); });
}

std::unique_ptr<text::ClipTextModel> load_clip(const PolicyChoice& choice, const text::ClipConfig& config,
                                               const nn::ParameterSource& source) {
  return loaded<text::ClipTextModel>(choice, [&](auto path) {
    return text::make_clip_text_model<typename decltype(path)::policy>(config, source);
  });
}

std::unique_ptr<text::T5Encoder> load_t5(const PolicyChoice& choice, const text::T5Config& config,
                                         const nn::ParameterSource& source) {
  return loaded<text::T5Encoder>(choice, [&](auto path) {
    return text::make_t5_encoder<typename decltype(path)::policy>(config, source);
  });
}

std::unique_ptr<vae::Decoder> load_decoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                           const nn::ParameterSource& source) {
  return loaded<vae::Decoder>(
      choice, [&](auto path) { return vae::make_decoder<typename decltype(path)::policy>(config, source); });
}

std::unique_ptr<vae::Encoder> load_encoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                           const nn::ParameterSource& source) {
  return loaded<vae::Encoder>(
      choice, [&](auto path) { return vae::make_encoder<typename decltype(path)::policy>(config, source); });
}

}  // namespace precast::flux
