// The program `precast`.
#include <string>
#include <vector>

#include <cli/commands.hpp>
#include <cli/interrupt.hpp>
#include <cli/version_text.hpp>
#include <precast_commit.hpp>

#if defined(__ELF__) && !defined(__SANITIZE_ADDRESS__)  // a sanitizer has to be ready first
namespace {

/// Before the libraries set themselves up, which takes most of a short run: a signal that comes then is
/// heard.
[[gnu::section(".preinit_array"), gnu::used]] void (*const hear_signals_first)(int, char**, char**) =
    [](int, char**, char**) { precast::cli::catch_interrupts(); };

}  // namespace
#endif

int main(int count, char** arguments) {
  precast::cli::set_commit(PRECAST_COMMIT);
  return precast::cli::run(std::vector<std::string>(arguments + (count > 0 ? 1 : 0), arguments + count));
}
