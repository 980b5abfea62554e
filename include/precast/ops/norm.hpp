// Layer, RMS and group normalisation; who calls one of them alone includes its own header.
#pragma once

#include <precast/ops/group_norm.hpp>
#include <precast/ops/layer_norm.hpp>
#include <precast/ops/rms_norm.hpp>
