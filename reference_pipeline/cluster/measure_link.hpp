// What carries messages between the ranks of a job, measured.
#pragma once

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/step_time.hpp>

namespace precast::cluster {

/// Times sums of one value and of many megabytes, each several times, and gives the link that the times in
/// the middle make; all ranks call it. Throws InputError where there is only one.
Link measured_link(Communicator& job);

}  // namespace precast::cluster
