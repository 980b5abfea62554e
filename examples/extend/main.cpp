// A program with all of precast's commands, and what formats.cpp and preset.cpp add to them.
// [program]
#include <string>
#include <vector>

#include <cli/run.hpp>

int main(int count, char** arguments) {
  return precast::cli::run(std::vector<std::string>(arguments + 1, arguments + count));
}
// [program]
