// The job that this process is a rank of.
#pragma once

#include <functional>

#include <precast/cluster/communicator.hpp>

namespace precast::cluster {

/// Joins the MPI job that this process was started in and returns its communicator, which lives until
/// `end_job`. Called once. A process started alone forms a job of one. A rank that waits for others gives up
/// soon after `stop_requested` returns true. Throws InputError if this build has no MPI, or if MPI reports
/// fewer processes than were started.
Communicator& join_job(std::function<bool()> stop_requested);

/// Whether another rank on this machine reports, or has reported, why the job ended, so that this rank stays
/// silent. A rank that was stopped because of another leaves the report to rank 0 while that is running.
bool is_reported_by_another_rank(bool is_stopped);

/// Leaves the job. A nonzero code ends all ranks at once, this process among them.
void end_job(int code);

}  // namespace precast::cluster
