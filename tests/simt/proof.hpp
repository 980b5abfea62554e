// Proves a kernel's test and its barriers at once: the test passes under every schedule, and fails when any
// one of the kernel's sites is silenced or any of its planted faults is switched on.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <simt/session.hpp>

namespace simt {

/// What became of a test without a site, or with a fault.
struct Verdict {
  std::string kernel;
  std::string change;    ///< "no sync_block 2 in layer_norm (norm.hpp)" or "fault: tile edge"
  std::string found_by;  ///< "wrong result", "Divergence", ...; empty: nothing failed
};

/// How many schedules are tried; each with copies that land late and copies that land early.
struct Effort {
  int clean_seeds = 20;
  int seeds_a_change = 20;  ///< until the test fails
};

struct Proof {
  int clean_runs = 0;
  std::vector<std::string> alarms;  ///< what failed in the unchanged kernels: must be empty
  std::vector<Verdict> verdicts;

  /// The changes that no run noticed: must be empty. Fences are not among them, which the emulator does not
  /// model.
  std::vector<std::string> missed() const;
};

/// Runs `test`, which launches kernels and says whether their results are right. Under ThreadSanitizer only
/// as the kernels are, for a silenced barrier is a race.
Proof prove(const std::function<bool()>& test, const Effort& effort = {});

/// The verdicts as a table in Markdown.
std::string table_of(const Proof& proof);

/// Holds a proof against its table in a document, where `<!-- verdicts: name -->` and `<!-- end of verdicts
/// -->` enclose it. Empty when they agree; otherwise what to do. With the environment variable
/// PRECAST_UPDATE_DOCS=1 it writes the table there instead, at the end of the document where it has none.
std::string difference_from_document(const Proof& proof, const std::string& name,
                                     const std::filesystem::path& document);

}  // namespace simt
