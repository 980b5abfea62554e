// Signals to a training job: all ranks stop after the same step.
#pragma once

#include <functional>
#include <string>

#include <precast/cluster/communicator.hpp>

namespace precast::cli {

/// Whether a signal means that the job is being ended, so that waiting for another rank would never end.
/// While ranks train, Ctrl-C does not: all ranks stop after the current step. Once they have agreed to
/// stop, signals from before do not count.
bool stop_requested();

/// Marks this process as training during its lifetime.
struct TrainingScope {
  TrainingScope();
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;
};

/// To be called between two steps, on all ranks. After Ctrl-C on any rank, calls `save_on_interrupt` on all
/// ranks, which may write, and throws Interrupted with its message.
void stop_if_interrupted(cluster::Communicator& job, const std::function<std::string()>& save_on_interrupt);

/// A barrier at the end, from which rank 0, which writes, returns last. A rank that died on its way is
/// reported like one that died in a step.
void end_together(cluster::Communicator& job);

}  // namespace precast::cli
