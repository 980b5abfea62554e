// The role of a tensor in its model: which ones stay precise unless somebody names them.
#pragma once

#include <cstdint>
#include <string_view>

#include <convert/input_weights.hpp>

namespace precast::conversion {

/// The model that weights are of, by their tensors and not by their file's name. A relative of Flux has
/// blocks under diffusers' names for Flux, and other tensors that are not Flux's. `ldm_unet` is Stable
/// Diffusion's UNet in its authors' names, alone or beside the text encoders and the VAE.
enum class WeightsKind : std::uint8_t { flux, flux_relative, ldm_unet, t5, clip, autoencoder, other };

WeightsKind kind_of(const InputWeights& weights);

/// Whether a tensor's name says, as those of files that hold a whole model do, that it is of one of the small
/// components: the text encoders that are CLIPs, and the VAE.
bool is_of_small_component(std::string_view name);

/// Why a tensor stays as precise as it is, in words of a table ("entry or exit layer"); "" where it is a
/// matrix like others. Two sizes of which one is 1 count as one.
std::string_view precise_because(WeightsKind kind, std::string_view name, const Shape& shape);

/// Whether a tensor is what a layer adds.
bool is_bias(std::string_view name, const Shape& shape);

}  // namespace precast::conversion
