#include <families/changed_weights.hpp>
#include <families/registry.hpp>

namespace precast::families {

std::span<const FamilyModels> ChangedWeights::models(const PolicyChoice& choice) const {
  for (const Changed& known : changed_)
    if (known.choice == choice) return known.models;
  Changed changed{choice, {}};
  for (const FamilyModels& models : backend_.models(choice))
    for (const Family* family : all_families())
      if (auto own = family->with_changed_weights(models, change_); own.has_value())
        changed.models.push_back(std::move(own));
  changed_.push_back(std::move(changed));
  return changed_.back().models;
}

}  // namespace precast::families
