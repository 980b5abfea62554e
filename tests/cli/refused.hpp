// refused: what the program does not do, it says in one line.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace program {

/// Checks that the program ends with this code, and with one line of error that has these words.
inline void refused(const std::vector<std::string>& arguments, int code, const std::string& said) {
  const Outcome result = run(arguments);
  INFO(result.err);
  CHECK(result.code == code);
  CHECK(result.one_line_error());
  CHECK_THAT(result.err, Catch::Contains(said));
}

}  // namespace program
