// The program `precast`.
#include <string>
#include <vector>

#include <cli/commands.hpp>

int main(int count, char** arguments) {
  return precast::cli::run(std::vector<std::string>(arguments + (count > 0 ? 1 : 0), arguments + count));
}
