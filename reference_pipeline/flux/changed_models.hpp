// Flux's models, with a change to the weights of the transformer.
#pragma once

#include <memory>

#include <families/changed_weights.hpp>

namespace precast::flux {

/// The same models, whose transformer loads changed weights; null where they are not Flux's. Both must
/// outlive it.
std::unique_ptr<families::FamilyModels> with_changed_weights(const families::FamilyModels& models,
                                                             const families::WeightsChange& change);

}  // namespace precast::flux
