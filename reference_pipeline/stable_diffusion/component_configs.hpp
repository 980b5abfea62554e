// The configs of a model's components: what is given as a component brings its own, and must agree with its
// tensors.
#pragma once

#include <stable_diffusion/model_folder.hpp>

namespace precast::stable_diffusion {

// Each takes the config.json of the folder that is given for the component, else the model folder's, else
// what the tensors say, and of files that do not hold the UNet, what its kind says. Each notes in the model
// which tensors nothing reads, and where a config.json beside a given file says otherwise. Throws InputError
// that names the file where a config is bad, or none says what tensors do not, or given weights are another
// model's.

/// The scheduler of the model is read already: it says which size the pictures of 2.x have.
UNetConfig unet_config_of(ModelFolder& model);
vae::AutoencoderConfig vae_config_of(ModelFolder& model);
/// `name`: "text_encoder" or "text_encoder_2", which projects.
text::ClipConfig clip_config_of(ModelFolder& model, const std::string& name);

/// What a scheduler's file says of the model, which is the same for every sampler.
sampling::PredictionType prediction_of(const ModelFolder& model);

}  // namespace precast::stable_diffusion
