// Catches the first Ctrl-C.
#include <csignal>

#include <cli/interrupt.hpp>
#include <unistd.h>

namespace precast::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int) {
  static constexpr char notice[] = "\nstopping after this step; Ctrl-C again stops at once\n";
  interrupted = 1;
  static_cast<void>(!write(STDERR_FILENO, notice, sizeof notice - 1));  // the only way to speak in a handler
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // One signal is caught, the next has its default effect; a write that a signal meets goes on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void throw_if_interrupted() {
  if (interrupted) throw Interrupted("interrupted: nothing was written");
}

}  // namespace precast::cli
