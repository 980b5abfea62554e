// fitted_picture: resizes a given picture to the size of the new one, or, in a dry run, counts the memory.
#pragma once

#include <families/request.hpp>
#include <image/fit.hpp>
#include <image/image.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// The picture in the size and by the fit of a request; in a dry run an empty one, after counting the
/// memory that fitting takes and freeing it. Throws as image::fitted does.
inline image::Image fitted_picture(const image::Image& given, const ResolvedRequest& full) {
  if (!DryRun::active()) return image::fitted(given, full.width, full.height, full.fit);
  const DryHold fitting(image::fitting_memory(given, full.width, full.height, full.fit));
  return {};
}

}  // namespace precast::families
