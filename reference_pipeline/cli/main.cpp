// The program `precast`.
#include <string>
#include <vector>

#include <cli/run.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/lost_file.hpp>
#include <cli/version_text.hpp>
#include <fcntl.h>
#include <precast_commit.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <precast/memory/address_sanitizer.hpp>

#if defined(__ELF__) && !PRECAST_HAS_ADDRESS_SANITIZER  // a sanitizer must be initialised first
namespace {

/// The size of the program's address space in bytes, 0 if unknown. Does not allocate.
rlim_t addresses_taken() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64];
  const ssize_t count = ::read(file, text, sizeof text);
  ::close(file);
  rlim_t pages = 0;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = pages * 10 + static_cast<rlim_t>(text[i] - '0');
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// Ends the program if its libraries would crash during their initialisation. They take 264 KB until main()
/// (GDB, glibc 2.36, CUDA 12), and some 400 KB until a bad_alloc can be thrown.
void require_addresses_to_start() {
  constexpr rlim_t margin = rlim_t{1} << 20;
  constexpr char message[] =
      "precast: error: out of memory: the program cannot start under this limit on its address space: raise "
      "it (ulimit -v)\n";
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (addresses_taken() + margin <= limit.rlim_cur) return;
  static_cast<void>(!::write(STDERR_FILENO, message, sizeof message - 1));
  ::_exit(1);
}

/// Runs before the libraries initialise themselves, which takes most of a short run: catches signals that
/// arrive meanwhile, and checks the limit on address space.
[[gnu::section(".preinit_array"), gnu::used]] void (*const catch_signals_first)(int, char**, char**) =
    [](int, char**, char**) {
      precast::cli::catch_interrupts();
      require_addresses_to_start();
    };

}  // namespace
#endif

int main(int count, char** arguments) {
  precast::cli::set_commit(PRECAST_COMMIT);
  precast::cli::handle_lost_files();
  return precast::cli::run(std::vector<std::string>(arguments + (count > 0 ? 1 : 0), arguments + count));
}
