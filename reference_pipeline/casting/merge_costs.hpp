// merge_costs: merges several cost files, such as those of shards. SharedCostFile: merges the numbers of
// runs that write the same file concurrently.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// A cost file and its name in messages.
struct NamedCosts {
  std::string name;
  CostFile file;
};

/// Merges all layers and formats of one or more files, in the order of the model, which files of precast
/// cost have; layers that are not in it come last, in the order of the files. A layer is missing where no
/// file has it. One file may have numbers of a layer and format that another lacks. Throws InputError that
/// names two files and what differs where their model, samples, settings or the importance of their estimates
/// do, or where both have a number that is not the same.
CostFile merge_costs(std::span<const NamedCosts> files);

/// The cost file that a measurement rewrites repeatedly, and that another run may write meanwhile: neither
/// removes the other's numbers.
class SharedCostFile {
 public:
  /// Takes the file's present content as known to the caller, not as another run's.
  explicit SharedCostFile(std::filesystem::path path);

  /// Writes all that was measured here, merged with what other runs have written since. Throws InputError
  /// where that belongs to another measurement, and leaves the file as it is.
  void write(const CostFile& all);

 private:
  std::optional<CostFile> there() const;
  /// Returns false where there was no file, and another run has created one since.
  bool write_once(const CostFile& all);

  std::filesystem::path path_;
  std::optional<CostFile> known_, others_;
};

}  // namespace precast::casting
