// The emulator: runs the kernels of include/precast/cuda thread by thread under a host compiler. The headers
// of precast/cuda/device include this one in place of what nvcc provides. docs/kernels.md says what is
// modelled.
#pragma once

#include <simt/async_copy.hpp>
#include <simt/barrier.hpp>
#include <simt/bulk_copy.hpp>
#include <simt/errors.hpp>
#include <simt/fault.hpp>
#include <simt/launch.hpp>
#include <simt/matrix.hpp>
#include <simt/mbarrier.hpp>
#include <simt/memory.hpp>
#include <simt/pointer.hpp>
#include <simt/session.hpp>
#include <simt/site.hpp>
#include <simt/thread.hpp>
#include <simt/warp.hpp>
#include <simt/warpgroup_matrix.hpp>
