#include <csignal>

#include <cli/terminal/interrupt.hpp>
#include <cli/train/train_signals.hpp>

namespace precast::cli {

namespace {

enum class Training { no, yes, is_being_left };
Training training = Training::no;
int signal_of_leaving = 0;

/// The signal that asks a rank of the job to stop, or 0: the same for all ranks, whichever of them it came
/// to. Where they have several it is the one that is last of these.
int signal_to_any(cluster::Communicator& job) {
  const int own = interrupting_signal();  // read once: one may come between the sums
  if (cluster::sum(job, own) == 0) return 0;
  int found = 0;
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    if (cluster::sum(job, own == signal) > 0) found = signal;
  return found;
}

}  // namespace

bool is_told_to_end() {
  const int signal = interrupting_signal();
  if (training == Training::is_being_left) return signal != signal_of_leaving;
  // Who started the ranks says so to those that are left where one died, for which they would wait for ever.
  // From anybody else it is a wish, and the step comes to its end.
  return training == Training::yes ? signal == SIGTERM && is_interrupted_by_starter() : signal != 0;
}

WhileTraining::WhileTraining() { training = Training::yes; }
WhileTraining::~WhileTraining() { training = Training::no; }

void stop_where_interrupted(cluster::Communicator& job, const std::function<std::string()>& leave_behind) {
  const int signal = signal_to_any(job);
  if (signal == 0) return;
  signal_of_leaving = interrupting_signal();
  training = Training::is_being_left;  // what rank 0 writes may take it a while
  const std::string left = leave_behind();
  cluster::sum(job, 0);  // a rank that ends ends them all: rank 0 has written by then
  throw Interrupted("interrupted: " + left, signal);
}

void end_together(cluster::Communicator& job) {
  if (job.rank() == 0 && is_interrupted_by_starter()) return;  // all is written, and nobody may come
  const WhileTraining trains;
  cluster::sum(job, 0);
}

}  // namespace precast::cli
