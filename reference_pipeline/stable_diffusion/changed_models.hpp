// Stable Diffusion's models, with a change to the weights of the UNet.
#pragma once

#include <memory>

#include <families/changed_weights.hpp>

namespace precast::stable_diffusion {

/// The same models, whose UNet loads changed weights; null where they are not Stable Diffusion's. Both must
/// outlive it.
std::unique_ptr<families::FamilyModels> with_changed_weights(const families::FamilyModels& models,
                                                             const families::WeightsChange& change);

}  // namespace precast::stable_diffusion
