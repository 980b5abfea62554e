// What carries messages between the ranks of a job, measured; and which of them share a machine.
#pragma once

#include <cstdint>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/step_time.hpp>

namespace precast::cluster {

/// Times sums of one value and of many megabytes, each several times, and gives the link that the times in
/// the middle make; all ranks call it. Throws InputError where there is only one.
Link measured_link(Communicator& job);

/// How many ranks run on this rank's machine, this one among them; all ranks call it.
std::int64_t ranks_of_this_machine(Communicator& job);
/// How many ranks of this rank's machine have a lower number: which of its devices is this rank's. All ranks
/// call it.
std::int64_t place_on_this_machine(Communicator& job);

}  // namespace precast::cluster
