// Names of parameters in another program's naming: what a line of a table describes, and what it does not.
#include <array>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include <precast/io/name_table.hpp>

using namespace precast;

TEST_CASE("a name is translated where a line describes it, numbers as they are written alone") {
  const auto name = [](std::string_view theirs) {
    return io::translated(theirs, "double_blocks.#.qkv.*", "blocks.#.attn.*");
  };
  CHECK(name("double_blocks.0.qkv.weight") == "blocks.0.attn.weight");
  CHECK(name("double_blocks.18.qkv.bias") == "blocks.18.attn.bias");
  for (const char* other :
       {"double_blocks.-0.qkv.weight", "double_blocks.-1.qkv.weight", "double_blocks.+1.qkv.weight",
        "double_blocks.01.qkv.weight", "double_blocks..qkv.weight", "double_blocks.1.qkv.scale",
        "double_blocks.1.qkv.", "double_blocks.1.qkv.weight.weight", "double_blocks", ""})
    CHECK_FALSE(name(other));
}

TEST_CASE("levels that two programs count from opposite ends are turned round") {
  const auto name = [](std::string_view theirs) {
    return io::translated(theirs, "up.~.*", "up_blocks.~.*", 4);
  };
  CHECK(name("up.0.bias") == "up_blocks.3.bias");
  CHECK(name("up.3.bias") == "up_blocks.0.bias");
  CHECK_FALSE(name("up.4.bias"));
}

TEST_CASE("rows of one matrix are found by either naming") {
  constexpr std::array table{io::NameLine{"qkv.*", "v.*", 2, 1, 3}, io::NameLine{"qkv.*", "q.*", 0, 1, 3},
                             io::NameLine{"out.*", "proj.*"},
                             io::NameLine{.theirs = "turned", .ours = "matrix.weight", .transposed = true}};
  CHECK(io::their_rows(table, "v.weight") == io::NamedRows{"qkv.weight", 2, 1, 3});
  CHECK_FALSE(io::their_rows(table, "k.weight"));
  const auto rows = io::our_rows(table, "qkv.bias");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == io::NamedRows{"q.bias", 0, 1, 3});
  CHECK(rows[1] == io::NamedRows{"v.bias", 2, 1, 3});
  CHECK(io::our_rows(table, "turned").front() == io::NamedRows{.name = "matrix.weight", .transposed = true});
  CHECK(io::their_rows(table, "matrix.weight") == io::NamedRows{.name = "turned", .transposed = true});
}
