// What tests of training share: that train refuses its words.
#pragma once

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "given.hpp"
#include "program.hpp"

namespace program {

/// Checks that training into a folder ends with this code and one line of error that holds these words, and
/// makes no folder.
inline void check_training_refused(const std::filesystem::path& out, const Words& more, int code,
                                   const std::string& words) {
  const auto outcome = run(train(out, more));
  INFO(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains(words));
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace program
