// What every refusal of a file must be: an InputError of one line that starts with the file's name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include <precast/error.hpp>

namespace precast::testing {

inline bool is_one_line(std::string_view message) {
  for (const char c : message)
    if (static_cast<unsigned char>(c) < 0x20) return false;
  return !message.empty();
}

/// The message of the InputError that `action` must throw because of `file`; empty where it throws none.
template <class Action>
std::string refusal(const std::filesystem::path& file, Action&& action) {
  std::string message;
  try {
    action();
  } catch (const InputError& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(is_one_line(message));
  CHECK(message.starts_with(file.string() + ": "));
  return message;
}

/// Damages a text in a way that `random` picks: bytes flipped, cut off, doubled or removed, a number replaced
/// by one that makes no sense.
inline std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % (limit ? limit : 1));
  };
  const char* const numbers[] = {"-1",
                                 "0",
                                 "18446744073709551615",
                                 "9223372036854775808",
                                 "4611686018427387904",
                                 "1e9",
                                 "1e999",
                                 "null",
                                 "\"x\"",
                                 "[]",
                                 "true",
                                 "0.5",
                                 "{}",
                                 "4294967297"};
  for (std::size_t times = 1 + below(3); times > 0 && !text.empty(); --times) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1u << below(8)));
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, 1 + below(40)));
        break;
      case 4:
        text.erase(at, 1 + below(40));
        break;
      default: {
        const std::size_t first = text.find_first_of("0123456789", at);
        if (first == std::string::npos) break;
        const std::size_t last = std::min(text.find_first_not_of("0123456789", first), text.size());
        text.replace(first, last - first, numbers[below(std::size(numbers))]);
      }
    }
  }
  return text;
}

}  // namespace precast::testing
