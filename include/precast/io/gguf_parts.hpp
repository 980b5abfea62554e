// The files of a GGUF model that llama.cpp's gguf-split divided into parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <precast/io/gguf.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::io {

/// Which part of a model a file is, counted from 0, and of how many.
struct GgufPart {
  std::int64_t index = 0, count = 1;
};

/// A file that is whole is its model's only part. Throws InputError for numbers that are none of a part's.
inline GgufPart gguf_part(const GgufFile& file) {
  constexpr std::int64_t most = 99'999;  // as many as names have digits for
  GgufPart part;
  if (const GgufValue* const count = file.value("split.count")) part.count = count->integer();
  if (const GgufValue* const index = file.value("split.no")) part.index = index->integer();
  if (part.count == 0) part.count = 1;  // of a model that was not divided in the end
  if (part.count < 1 || part.count > most || part.index < 0 || part.index >= part.count)
    throw file_error(file.path(), "claims to be part " + std::to_string(part.index + 1) + " of " +
                                      std::to_string(part.count) + ": get the file again");
  return part;
}

/// How the name of a part ends: "-00001-of-00003.gguf".
inline std::string gguf_part_ending(const GgufPart& part) {
  const auto digits = [](std::int64_t number) {
    const std::string text = std::to_string(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return "-" + digits(part.index + 1) + "-of-" + digits(part.count) + ".gguf";
}

/// The files of the model that `file` is a part of, in their order: of a whole one itself. Throws InputError
/// where its name does not say how the others are called, or where one is not there.
inline std::vector<std::filesystem::path> gguf_part_paths(const GgufFile& file) {
  const GgufPart own = gguf_part(file);
  if (own.count == 1) return {file.path()};
  const std::string name = file.path().filename().string(), ending = gguf_part_ending(own);
  const std::string which =
      "part " + std::to_string(own.index + 1) + " of " + std::to_string(own.count) + " of a model";
  if (!name.ends_with(ending))
    throw file_error(file.path(), "is " + which + ", and its name does not end in " + ending +
                                      ", by which the other parts are found: name all as llama.cpp does, or "
                                      "merge them with llama-gguf-split --merge");
  const std::string stem = name.substr(0, name.size() - ending.size());
  std::vector<std::filesystem::path> paths;
  for (std::int64_t i = 0; i < own.count; ++i) {
    paths.push_back(file.path().parent_path() / (stem + gguf_part_ending({i, own.count})));
    if (!is_there(paths.back()))
      throw file_error(paths.back(), "is missing, and " + printable(name) + " is " + which +
                                         ": get all parts, in one folder");
  }
  return paths;
}

/// Throws InputError where a file is not the part that its place among the others says.
inline void check_gguf_part(const GgufFile& file, const GgufPart& expected) {
  const GgufPart part = gguf_part(file);
  if (part.index != expected.index || part.count != expected.count)
    throw file_error(file.path(), "is part " + std::to_string(part.index + 1) + " of " +
                                      std::to_string(part.count) + " where part " +
                                      std::to_string(expected.index + 1) + " of " +
                                      std::to_string(expected.count) + " is expected: get the parts again");
}

}  // namespace precast::io
