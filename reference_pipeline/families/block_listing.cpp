#include <families/block_listing.hpp>
#include <families/request_error.hpp>

namespace precast::families {

namespace {

/// The role by the name within a block: "norm1.linear.weight" is a matrix, and "norm1.bias" a norm's.
BlockParameterRole role_of_parameter(std::string_view name) {
  const std::string_view module = name.substr(0, name.rfind('.'));
  if (module.substr(module.rfind('.') + 1).starts_with("norm")) return BlockParameterRole::norm_scale;
  return name.ends_with(".bias") ? BlockParameterRole::bias : BlockParameterRole::matrix;
}

}  // namespace

nn::Parameter ListingSource::find(std::string_view name) const {
  nn::Parameter found = original().find(name);
  found_.push_back({std::string(name), found.shape, found.dtype, role_of_parameter(name)});
  return found;
}

Block ListingSource::block(const std::string& place) const {
  Block block{place, {}};
  for (const BlockParameter& parameter : found_)
    if (parameter.name.starts_with(place + '.')) block.parameters.push_back(parameter);
  return block;
}

void require_recording(const Recording& recording) {
  if (recording.every < 1)
    throw RequestError("steps between recorded states are " + std::to_string(recording.every) +
                       ": they must be at least 1");
}

}  // namespace precast::families
