// The emulator: runs the kernels of include/precast/cuda thread by thread under a host compiler. The headers
// of precast/cuda/device include this one in place of what nvcc provides. docs/kernels.md says what is
// modelled.
#pragma once

#include <simt/barrier.hpp>
#include <simt/capability.hpp>
#include <simt/cp_async.hpp>
#include <simt/errors.hpp>
#include <simt/fault.hpp>
#include <simt/launch.hpp>
#include <simt/mbarrier.hpp>
#include <simt/memory.hpp>
#include <simt/mma.hpp>
#include <simt/pointer.hpp>
#include <simt/session.hpp>
#include <simt/site.hpp>
#include <simt/thread.hpp>
#include <simt/tma_load.hpp>
#include <simt/warp.hpp>
#include <simt/wgmma.hpp>
