// The program `precast`.
#include <string>
#include <vector>

#include <cli/commands.hpp>
#include <cli/version_text.hpp>
#include <precast_commit.hpp>

int main(int count, char** arguments) {
  precast::cli::set_commit(PRECAST_COMMIT);
  return precast::cli::run(std::vector<std::string>(arguments + (count > 0 ? 1 : 0), arguments + count));
}
