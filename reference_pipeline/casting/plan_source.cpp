#include <algorithm>
#include <utility>

#include <casting/cast_source.hpp>
#include <casting/plan_source.hpp>

#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::casting {

nn::Parameter PlanSource::find(std::string_view name) const {
  nn::Parameter found = original().find(name);
  const auto planned = plan_.layer_of(name);
  if (!planned || found.shape.rank() < 2 || takes_any_shape()) return found;
  found_.insert(planned->first);
  found.name = name;
  auto cast = cast_as_stored(original(), found, planned->second);
  if (!cast) return found;
  cast_bytes_ += cast->bytes.size();
  return std::move(*cast);
}

void PlanSource::taken(std::size_t bytes) const {
  const std::size_t of_casts = std::min(bytes, cast_bytes_);
  cast_bytes_ -= of_casts;
  if (bytes > of_casts) original().taken(bytes - of_casts);
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
