// Opens /dev/null in place of closed standard streams.
#include <cerrno>
#include <initializer_list>

#include <cli/terminal/standard_streams.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace precast::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // open() returns the lowest free descriptor, which is this one.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace precast::cli
