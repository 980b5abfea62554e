// Each fuzz target on what it starts from, and on 300 damaged copies of it: what CI can do in a second of
// what `./dev fuzz` does for minutes.
#include <random>

#include <catch2/catch.hpp>
#include <fuzz/target.hpp>
#include <io/input_errors.hpp>

using namespace precast::testing;

namespace {

void read(const FuzzTarget& target, std::string_view input) {
  target.read(std::as_bytes(std::span(input.data(), input.size())));
}

}  // namespace

TEST_CASE("fuzz targets take what they start from, damaged copies of it, and nothing") {
  for (const FuzzTarget& target : fuzz_targets()) {
    INFO(target.name);
    const auto seeds = target.seeds();
    REQUIRE_FALSE(seeds.empty());
    std::mt19937 random(20);
    read(target, "");
    for (const std::string& seed : seeds) read(target, seed);
    for (int i = 0; i < 300; ++i) {
      const std::string input = damaged(seeds[random() % seeds.size()], random);
      CAPTURE(i);
      CHECK_NOTHROW(read(target, input));
    }
  }
}

TEST_CASE("fuzz targets are listed by their names") {
  std::string before;
  for (const FuzzTarget& target : fuzz_targets()) {
    CHECK(before < target.name);
    CHECK(find_fuzz_target(target.name) == &target);
    before = target.name;
  }
  CHECK(find_fuzz_target("nothing") == nullptr);
}

TEST_CASE("a fuzz target lets no error through that is not Precast's, or is no line") {
  CHECK_NOTHROW(answer_or_refusal([] { throw precast::InputError("f: is broken"); }));
  CHECK_THROWS_AS(answer_or_refusal([] { throw std::out_of_range("at"); }), std::out_of_range);
  CHECK_THROWS_AS(answer_or_refusal([] { throw precast::InputError(""); }), std::logic_error);
  CHECK_THROWS_AS(answer_or_refusal([] { throw precast::InputError("f: a\nb"); }), std::logic_error);
}
