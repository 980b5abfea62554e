// Barriers and fences.
#pragma once

#include <simt/site.hpp>

namespace simt {

void sync_block(Site site = Site::here());
void sync_named(int barrier, int threads, Site site = Site::here());
void sync_warp(unsigned lanes = 0xffffffffu, Site site = Site::here());

/// Recorded as sites; the emulator's memory is sequentially consistent, so that silencing one changes
/// nothing.
void fence_block(Site site = Site::here());
void fence_device(Site site = Site::here());

}  // namespace simt
