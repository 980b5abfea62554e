// Handles SIGINT, SIGTERM and SIGHUP.
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <cluster/launch.hpp>
#include <unistd.h>

namespace precast::cli {

namespace {

volatile std::sig_atomic_t interrupting = 0, is_of_mpirun = 0, is_srun = 0, is_muted = 0;

/// The handler's own stack: oneDNN's f32 AVX2 kernels use more below the stack pointer than the red zone of
/// 128 bytes, which a handler on the same stack would overwrite.
alignas(64) char stack_of_handler[std::size_t{1} << 16];

std::int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::atomic<std::int64_t> first_signal{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

void on_signal(int signal, siginfo_t* facts, void*) {
  static constexpr char notice[] = "\nstopping after this step; Ctrl-C again stops at once\n";
  // Wrappers such as timeout signal the program and its group: a repeat this soon is the same Ctrl-C.
  constexpr std::int64_t same_milliseconds = 300;
  std::int64_t first = 0;
  if (first_signal.compare_exchange_strong(first, milliseconds_now())) {
    is_of_mpirun = facts->si_pid == getppid() && !is_srun;
    interrupting = signal;
    if (is_muted || quiet()) return;
    static_cast<void>(
        !write(STDERR_FILENO, notice, sizeof notice - 1));  // write() is async-signal-safe, streams are not
  } else if (milliseconds_now() - first > same_milliseconds) {
    std::signal(signal, SIG_DFL);
    static_cast<void>(raise(signal));
  }
}

}  // namespace

void catch_interrupts() {
  is_muted = cluster::is_one_of_several();  // mpirun signals all ranks, for reasons of its own too
  is_srun = cluster::is_started_by_srun();
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {  // unless a sanitizer has one
    stack = {.ss_sp = stack_of_handler, .ss_flags = 0, .ss_size = sizeof stack_of_handler};
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;  // an interrupted write is restarted
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};  // a signal that the parent ignores, as nohup does, stays ignored
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

int interrupting_signal() { return interrupting; }

bool is_interrupted_by_mpirun() { return is_of_mpirun; }

void throw_if_interrupted(const std::string& left_behind) {
  if (interrupting) throw Interrupted("interrupted: " + left_behind, interrupting);
}

}  // namespace precast::cli
