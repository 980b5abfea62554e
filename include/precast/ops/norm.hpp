// Layer, RMS and group normalisation; each has a header of its own.
#pragma once

#include <precast/ops/group_norm.hpp>
#include <precast/ops/layer_norm.hpp>
#include <precast/ops/rms_norm.hpp>
