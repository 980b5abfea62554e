// Limits OpenMP, which Debian's oneDNN threads with, to one thread where our own threads share the work.
#pragma once

#if __has_include(<omp.h>)
#include <omp.h>
#else
extern "C" {
int omp_get_max_threads(void) noexcept;
void omp_set_num_threads(int) noexcept;
}
#endif

namespace precast::host {

/// Lets oneDNN, whose Debian build threads with OpenMP, use only the thread that calls it, for as long as it
/// lives.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneOpenMpThread() { omp_set_num_threads(before_); }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

}  // namespace precast::host
