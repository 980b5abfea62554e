// How launches run while a session lives, and what they report to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <simt/site.hpp>

namespace simt {

/// When an asynchronous copy lands, in a kernel or from the host: at the call that starts it, or as late as
/// it may.
enum class Copies { early, late };

/// A site in a kernel.
struct KernelSite {
  std::string kernel;
  Kind kind{};
  Site site;
  friend bool operator==(const KernelSite&, const KernelSite&) = default;
};

/// A planted fault in a kernel (fault.hpp).
struct KernelFault {
  std::string kernel;
  std::string name;
  friend bool operator==(const KernelFault&, const KernelFault&) = default;
};

/// How launches run. The same options give the same run.
struct Options {
  std::uint64_t seed = 1;  ///< of the order in which warps, lanes and blocks run
  Copies copies = Copies::late;
  std::optional<KernelSite> silenced{};  ///< a site that is skipped
  std::optional<KernelFault> planted{};  ///< a fault that is switched on
  bool host_waits = true;                ///< false: the host's waits for the device are skipped
  bool streams_wait = true;              ///< false: streams' waits for events are skipped
};

/// What one launch did.
struct LaunchRecord {
  std::string kernel;
  std::array<int, 3> blocks{};
  int threads = 0;
  std::int64_t matrix_loads = 0;    ///< 8 x 8 matrices that ldmatrix read
  std::int64_t bank_conflicts = 0;  ///< how many more times its banks were read than they need be
  std::int64_t static_shared_bytes = 0;
  std::int64_t unawaited_copies = 0;  ///< copies of cp_async on their way when their thread left, where late
};

/// Whether ThreadSanitizer watches this program: it stops a run that silences a barrier.
bool watched_for_races();

/// While one lives, launches of this thread run by its options and report to it, and to the sessions around
/// it. Without a session the default options hold.
class Session {
 public:
  /// Runs as the session around it does.
  Session();
  explicit Session(Options options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const { return options_; }
  /// Every site that a launch came to, those that were silenced too, in the order of their first visit.
  const std::vector<KernelSite>& sites() const { return sites_; }
  const std::vector<KernelFault>& faults() const { return faults_; }
  const std::vector<LaunchRecord>& launches() const { return launches_; }
  /// How often the host started a copy to the device, and how often it waited for the device.
  std::int64_t uploads() const { return uploads_; }
  std::int64_t waits() const { return waits_; }
  /// How often a stream was told to wait for an event.
  std::int64_t stream_waits() const { return stream_waits_; }

 private:
  friend struct Recorder;
  Options options_;
  std::vector<KernelSite> sites_;
  std::vector<KernelFault> faults_;
  std::vector<LaunchRecord> launches_;
  std::int64_t uploads_ = 0, waits_ = 0, stream_waits_ = 0;
  Session* outer_;
};

}  // namespace simt
