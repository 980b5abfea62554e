// The list of Precast's own families. Their models are in models.hpp.
#include <families/registry.hpp>
#include <flux/family.hpp>
#include <stable_diffusion/family.hpp>

namespace precast::families {

std::vector<const Family*> own_families() { return {&flux::family(), &stable_diffusion::family()}; }

}  // namespace precast::families
