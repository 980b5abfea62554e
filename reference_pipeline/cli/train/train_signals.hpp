// Signals to a job that trains: all its ranks stop after the same step.
#pragma once

#include <functional>
#include <string>

#include <precast/cluster/communicator.hpp>

namespace precast::cli {

/// Whether a signal says that the job is being ended, so that who waits for another rank waits in vain. While
/// ranks train, Ctrl-C is none: all of them are to stop after a step. Once they agreed to, none is that came
/// before.
bool is_told_to_end();

/// That this process trains, as long as it lives.
struct WhileTraining {
  WhileTraining();
  ~WhileTraining();
  WhileTraining(const WhileTraining&) = delete;
  WhileTraining& operator=(const WhileTraining&) = delete;
};

/// Between two steps, on all ranks: after Ctrl-C on any of them `leave_behind` is called on all, which may
/// write, and Interrupted thrown with what it says.
void stop_where_interrupted(cluster::Communicator& job, const std::function<std::string()>& leave_behind);

/// Returns when all ranks are here: rank 0, which writes, last. One that died on the way there is told of as
/// one that died in a step.
void end_together(cluster::Communicator& job);

}  // namespace precast::cli
