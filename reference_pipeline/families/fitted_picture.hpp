// A given picture in the size of the new one, or, in a dry run, what that takes.
#pragma once

#include <families/request.hpp>
#include <image/fit.hpp>
#include <image/image.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// The picture in the size and by the fit of a request. In a dry run an empty one: the memory that fitting
/// takes is counted, and given back. Throws as image::fitted does.
inline image::Image fitted_picture(const image::Image& given, const ResolvedRequest& full) {
  if (!DryRun::active()) return image::fitted(given, full.width, full.height, full.fit);
  const DryHold fitting(image::fitting_memory(given, full.width, full.height, full.fit));
  return {};
}

}  // namespace precast::families
