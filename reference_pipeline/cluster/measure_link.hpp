// Measures the link between the ranks of a job, and finds which ranks share a machine.
#pragma once

#include <cstdint>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/step_time.hpp>

namespace precast::cluster {

/// Fits a link to the median times of sums over the ranks, of one f32 and of 16 MiB. All ranks call it.
/// Throws InputError for a job of one rank.
Link measured_link(Communicator& job);

/// How many ranks run on this rank's machine, this one among them; all ranks call it.
std::int64_t ranks_of_this_machine(Communicator& job);
/// How many lower ranks run on this rank's machine: the index of the device that this rank uses. All ranks
/// call it.
std::int64_t place_on_this_machine(Communicator& job);

}  // namespace precast::cluster
