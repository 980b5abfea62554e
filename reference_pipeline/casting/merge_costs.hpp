// merge_costs: the numbers of several cost files, such as those of shards, in one. SharedCostFile: the same
// of runs that write one file at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// A cost file and the name that messages have for it.
struct NamedCosts {
  std::string name;
  CostFile file;
};

/// All layers and formats of the files, at least one, in the order of the model, which each of them says.
/// Files of before that have none: their layers that share what stands before their first number
/// ("transformer_blocks.") stand together, by number, and these groups come as the layers of a file and those
/// that it is missing do, else in the order of the files. What is missing is what no file has. Of a layer in
/// a format one file may have numbers that another lacks. Throws InputError that names two files and what
/// differs, where their model, samples, settings or what estimates were made from do, or where both have a
/// number that is not the same.
CostFile merge_costs(std::span<const NamedCosts> files);

/// The cost file that a measurement writes anew again and again, and which another run may write meanwhile:
/// neither takes the other's numbers away.
class SharedCostFile {
 public:
  /// What is there now is the caller's, who has read it.
  explicit SharedCostFile(std::filesystem::path path);

  /// Writes all that was measured here, and beside it what others have written since. Throws InputError where
  /// that belongs to another measurement; it stays then.
  void write(const CostFile& all);

 private:
  std::optional<CostFile> there() const;
  /// False where there was no file, and there is one by now.
  bool write_once(const CostFile& all);

  std::filesystem::path path_;
  std::optional<CostFile> known_, others_;
};

}  // namespace precast::casting
