// The job that this process is a rank of.
#pragma once

#include <functional>

#include <precast/cluster/communicator.hpp>

namespace precast::cluster {

/// Joins the job of MPI that this process was started in, once, and gives its communicator, which lives until
/// `end_job`; where the process was started alone, that is a job of one. A rank that waits for others gives
/// up soon after `is_told_to_stop` says so. Throws InputError where this build has no MPI, or MPI knows of
/// fewer processes than were started.
Communicator& join_job(std::function<bool()> is_told_to_stop);

/// Asked by a rank of a job before it says why that ended: whether another rank of its machine does, or has.
/// One that is stopped because of another leaves it to rank 0, as long as that is there.
bool is_said_by_another(bool is_stopped);

/// Leaves the job. With another code than 0 it ends all ranks at once, and so this process.
void end_job(int code);

}  // namespace precast::cluster
