// Which words of a text a length leaves out.
#include <algorithm>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/lost_words.hpp>

using namespace precast;

namespace {

/// A token for each character that is no space, and two special ones.
std::ptrdiff_t letters(std::string_view text) {
  return 2 + std::ranges::count_if(text, [](unsigned char c) { return c != ' ' && (c & 0xc0u) != 0x80u; });
}

}  // namespace

TEST_CASE("lost words begin with the first that is not whole") {
  CHECK(text::lost_words("", 2, letters).empty());
  CHECK(text::lost_words("one two six", 11, letters).empty());
  CHECK(text::lost_words("one two six", 10, letters) == "six");
  CHECK(text::lost_words("one two six  ", 9, letters) == "six");
  CHECK(text::lost_words("one two six", 8, letters) == "six");
  CHECK(text::lost_words("one  two six", 7, letters) == "two six");
  CHECK(text::lost_words("  one two six", 2, letters) == "one two six");
  CHECK(text::lost_words("one two six", 0, letters) == "one two six");
}

TEST_CASE("a text without spaces is divided between characters") {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "\u5c71";  // three bytes
  CHECK(text::lost_words(text, 22, letters) == text.substr(60));
  CHECK(text::lost_words("a " + text, 23, letters) == text.substr(60));
}

TEST_CASE("what is not lost fits into CLIP's tokens, and a word more does not") {
  const auto tokenizer = text::ClipTokenizer::load(testing::golden_model("dev_f32") / "tokenizer");
  const auto count = [&](std::string_view text) { return std::ssize(tokenizer.encode(text, 1 << 30)); };
  const std::string text = "a large red circle, on a blue background; at the left (of a small yellow star)";
  const auto all = count(text);
  REQUIRE(all > 10);
  for (std::ptrdiff_t limit = 3; limit < all; ++limit) {
    INFO(limit);
    const std::string lost = text::lost_words(text, limit, count);
    REQUIRE_FALSE(lost.empty());
    REQUIRE(text.ends_with(lost));
    const std::string kept = text.substr(0, text.size() - lost.size());
    CHECK(count(kept) <= limit);
    CHECK(count(kept + lost.substr(0, lost.find(' '))) > limit);
  }
}
