// Runs ops in main(), at the end of a thread, and after all that ops themselves keep would have been
// destroyed in the usual order, in which what was made last goes first; and the same in the child of a fork.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <precast/ops/linear.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/tensor/tensor.hpp>

namespace {

using namespace precast;
using P = Policy<Storage<f32>>;

/// Rows of ones times a matrix of ones: a product of the library's, on several threads, and a kernel of ours.
void run_ops(const char* when) {
  constexpr std::int64_t columns = 512;
  Tensor<f32> x({300, columns}), weight({256, columns});
  for (f32& value : x.values()) value = 1;
  for (f32& value : weight.values()) value = 1;
  const Tensor<f32> y = linear<P>(x, LinearWeight<P>(weight.view()));
  const Tensor<f32> weights = softmax<P>(y);
  const bool right = y.values().back() == columns && weights.values().back() == 1.0f / 256;
  std::printf("%s: %s\n", when, right ? "right" : "wrong");
  std::fflush(stdout);
  if (!right) std::_Exit(EXIT_FAILURE);
}

struct AtEnd {
  const char* when;
  ~AtEnd() { run_ops(when); }
};

// Made before anything of the ops', and destroyed after it.
const AtEnd of_program{"a static destructor"};

}  // namespace

int main() {
  std::atexit([] { run_ops("atexit"); });
  std::thread([] {
    thread_local const AtEnd of_thread{"a thread's destructor"};
    static_cast<void>(of_thread.when);
    run_ops("a thread");
  }).join();
  run_ops("main");
  const pid_t child = ::fork();
  if (child < 0) return EXIT_FAILURE;
  if (child == 0) {
    run_ops("the child of a fork");
    return 0;  // to the same end
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
