// The configs of a model's components. A component given by itself brings its own config, which must agree
// with its tensors.
#pragma once

#include <stable_diffusion/model_folder.hpp>

namespace precast::stable_diffusion {

// Each reads the config.json of the folder given for the component, else that of the model's folder;
// without either, derives the config from the tensors and, in files without a UNet, from the model's kind.
// Each adds notes to the model on tensors that nothing reads, and on a config.json next to a given file
// that differs. Throws InputError that names the file if a config is invalid, is missing and cannot be
// derived, or if given weights are another model's.

/// Requires that the scheduler's config was read: it determines the picture size of 2.x.
UNetConfig unet_config_of(ModelFolder& model);
vae::AutoencoderConfig vae_config_of(ModelFolder& model);
/// `name`: "text_encoder", or "text_encoder_2", which has a projection.
text::ClipConfig clip_config_of(ModelFolder& model, const std::string& name);

/// The prediction type in the scheduler's config, the same for every sampler.
sampling::PredictionType prediction_of(const ModelFolder& model);

}  // namespace precast::stable_diffusion
