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

/// Asked by a rank of a job before it says why that ended: whether it is the one to do so, though others are
/// about to be stopped. It is rank 0; or another, on rank 0's machine, once rank 0 is gone and has said
/// nothing.
bool says_why_it_ended();

/// Leaves the job. With another code than 0 it ends all ranks at once, and so this process.
void end_job(int code);

}  // namespace precast::cluster
