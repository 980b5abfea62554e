// A file of importances, as llama.cpp's imatrix tool writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::testing {

/// Writes a file of one matrix, whose columns' inputs have these mean squares.
inline void write_imatrix(const std::filesystem::path& file, const std::string& name,
                          const std::vector<f32>& squares) {
  io::GgufWriter writer(file);
  writer.set("general.type", "imatrix");
  writer.declare(name + ".in_sum2", dtype_info<f32>, Shape{1, std::ssize(squares)});
  writer.declare(name + ".counts", dtype_info<f32>, Shape{1, 1});
  constexpr f32 count = 8;
  std::vector<f32> sums;
  for (const f32 square : squares) sums.push_back(square * count);
  writer.write(std::as_bytes(std::span(sums)));
  writer.write(std::as_bytes(std::span(&count, 1)));
  writer.commit();
}

}  // namespace precast::testing
