// Fills the places of closed streams.
#include <cerrno>
#include <initializer_list>

#include <cli/terminal/standard_streams.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace precast::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // The lowest free number is the one that was found closed.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace precast::cli
