#include <csignal>

#include <cli/terminal/interrupt.hpp>
#include <cli/train/train_signals.hpp>

namespace precast::cli {

namespace {

enum class Training { no, yes, is_being_left };
Training training = Training::no;
int signal_of_leaving = 0;

/// The signal by which any rank was asked to stop, or 0; the same on all ranks. If ranks received different
/// signals, the last one in this order: SIGHUP, SIGINT, SIGTERM.
int signal_to_any(cluster::Communicator& job) {
  const int own = interrupting_signal();  // read once: a signal may arrive between the sums
  if (cluster::sum(job, own) == 0) return 0;
  int found = 0;
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    if (cluster::sum(job, own == signal) > 0) found = signal;
  return found;
}

}  // namespace

bool stop_requested() {
  const int signal = interrupting_signal();
  if (training == Training::is_being_left) return signal != signal_of_leaving;
  // SIGTERM from mpirun means that a rank has died, for which the others would wait for ever. From any other
  // process it is a request, and the current step is completed.
  return training == Training::yes ? signal == SIGTERM && is_interrupted_by_mpirun() : signal != 0;
}

TrainingScope::TrainingScope() { training = Training::yes; }
TrainingScope::~TrainingScope() { training = Training::no; }

void stop_if_interrupted(cluster::Communicator& job, const std::function<std::string()>& save_on_interrupt) {
  const int signal = signal_to_any(job);
  if (signal == 0) return;
  signal_of_leaving = interrupting_signal();
  training = Training::is_being_left;  // rank 0 may take a while to write
  const std::string left = save_on_interrupt();
  cluster::sum(job, 0);  // the exit of one rank ends all: wait until rank 0 has written
  throw Interrupted("interrupted: " + left, signal);
}

void end_together(cluster::Communicator& job) {
  if (job.rank() == 0 && is_interrupted_by_mpirun()) return;  // all is written, and nobody may come
  const TrainingScope trains;
  cluster::sum(job, 0);
}

}  // namespace precast::cli
