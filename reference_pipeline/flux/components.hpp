// Loads each component of a model folder under the policy that was chosen for it.
#pragma once

#include <memory>

#include <flux/model_folder.hpp>
#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::flux {

std::unique_ptr<Transformer> load_transformer(const PolicyChoice& choice, const TransformerConfig& config,
                                              const nn::ParameterSource& source);
std::unique_ptr<text::ClipTextModel> load_clip(const PolicyChoice& choice, const text::ClipConfig& config,
                                               const nn::ParameterSource& source);
std::unique_ptr<text::T5Encoder> load_t5(const PolicyChoice& choice, const text::T5Config& config,
                                         const nn::ParameterSource& source);
std::unique_ptr<vae::Decoder> load_decoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                           const nn::ParameterSource& source);
std::unique_ptr<vae::Encoder> load_encoder(const PolicyChoice& choice, const vae::AutoencoderConfig& config,
                                           const nn::ParameterSource& source);

}  // namespace precast::flux
