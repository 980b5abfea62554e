#include <casting/plan_source.hpp>

#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::casting {

nn::Parameter PlanSource::find(std::string_view name) const {
  nn::Parameter found = original().find(name);
  const auto planned = plan_.layer_of(name);
  // In a dry run values cannot be read, and are not: what is loaded has the same size either way.
  if (!planned || found.shape.rank() < 2 || takes_any_shape() || DryRun::active()) return found;
  found_.insert(planned->first);
  if (!cast_ || layer_ != planned->first) {
    cast_ = std::make_unique<CastSource>(original());
    layer_ = planned->first;
  }
  cast_->cast({std::string(name), found.shape, found.dtype, families::BlockParameterRole::matrix},
              planned->second);
  nn::Parameter cast = cast_->find(name);
  cast.name = found.name;
  return cast;
}

void PlanSource::check_all_found(const std::string& plan_path) const {
  if (DryRun::active() || takes_any_shape()) return;
  for (const auto& [layer, type] : plan_.types)
    if (!found_.contains(layer))
      throw InputError(plan_path + ": layer '" + io::printable(layer) + "': " + original().description() +
                       " has no matrix of it, and the plan is of " + plan_.model_in_words() +
                       ": give the plan of this model");
}

}  // namespace precast::casting
