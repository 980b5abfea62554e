// The main() of every test program, compiled once.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char** argv) {
  Catch::Session session;
  // A name that ctest and Catch2 read differently (one with a semicolon) fails rather than runs nothing; so
  // does a test without an assertion, unless it says why it is skipped (support/skip.hpp).
  session.configData().warnings =
      static_cast<Catch::WarnAbout::What>(Catch::WarnAbout::NoTests | Catch::WarnAbout::NoAssertions);
  return session.run(argc, argv);
}
