// Importance: how much an error counts in each column of a matrix, as llama.cpp's imatrix tool writes it.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/dtype/scalar.hpp>

namespace precast::conversion {

/// The mean square of the inputs that meet each column of each matrix.
class Importance {
 public:
  /// Reads a GGUF file of general.type `imatrix` (tensors NAME.in_sum2 and NAME.counts), or a file of the
  /// kind that was written before, which has no name of its own (.dat): entries of a name, a number of calls
  /// and as many f32 as the matrix has columns. A matrix whose inputs were never seen has no entry. Throws
  /// InputError that names file and entry.
  explicit Importance(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// A hash of all names and values: another importance has another one, but for one chance in 2^64.
  std::uint64_t fingerprint() const;
  /// How many matrices it has.
  std::size_t size() const { return entries_.size(); }
  /// The row of the first of these names that it has; empty where it has none of them. A prefix of a
  /// transformer's or of T5's names, such as `model.diffusion_model.`, is left out. Throws InputError where a
  /// row has another number of columns.
  std::span<const f32> of(std::span<const std::string> names, std::int64_t columns) const;
  /// The row of a matrix of a diffusers model, by that name or, in a Flux transformer, by BFL's for it.
  std::span<const f32> of_parameter(const std::string& name, std::int64_t columns) const;

 private:
  void read_gguf();
  void read_dat(std::span<const std::byte> bytes);
  void add(std::string name, std::vector<f32> squares);

  std::filesystem::path path_;
  std::map<std::string, std::vector<f32>, std::less<>> entries_;
};

}  // namespace precast::conversion
