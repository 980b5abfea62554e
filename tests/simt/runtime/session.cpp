#include <cstring>

#include <simt/runtime/fiber.hpp>
#include <simt/runtime/recorder.hpp>

namespace simt {

namespace {
thread_local constinit Session* current = nullptr;
}

Session::Session() : Session(current ? current->options_ : Options{}) {}
Session::Session(Options options) : options_(std::move(options)), outer_(current) { current = this; }
Session::~Session() { current = outer_; }

bool watched_for_races() { return runtime::thread_sanitizer(); }

Session* Recorder::session() { return current; }

namespace {
template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& value : from)
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}
}  // namespace

void Recorder::add(const LaunchRecord& launch, const std::vector<KernelSite>& sites,
                   const std::vector<KernelFault>& faults) {
  for (Session* session = current; session; session = session->outer_) {
    session->launches_.push_back(launch);
    add_new(session->sites_, sites);
    add_new(session->faults_, faults);
  }
}

void Recorder::count_upload() {
  for (Session* session = current; session; session = session->outer_) ++session->uploads_;
}
void Recorder::count_wait() {
  for (Session* session = current; session; session = session->outer_) ++session->waits_;
}
void Recorder::count_stream_wait() {
  for (Session* session = current; session; session = session->outer_) ++session->stream_waits_;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::sync_block:
      return "sync_block";
    case Kind::sync_named:
      return "sync_named";
    case Kind::sync_warp:
      return "sync_warp";
    case Kind::fence_block:
      return "fence_block";
    case Kind::fence_device:
      return "fence_device";
    case Kind::cp_async_commit:
      return "cp_async_commit";
    case Kind::cp_async_wait:
      return "cp_async_wait";
    case Kind::shuffle:
      return "shuffle";
    case Kind::shuffle_xor:
      return "shuffle_xor";
    case Kind::shuffle_down:
      return "shuffle_down";
    case Kind::warp_ballot:
      return "warp_ballot";
    case Kind::ldmatrix:
      return "ldmatrix";
    case Kind::mma_sync:
      return "mma_sync";
    case Kind::arrive:
      return "arrive";
    case Kind::arrive_expect_tx:
      return "arrive_expect_tx";
    case Kind::wait_parity:
      return "wait_parity";
    case Kind::fence_async_proxy:
      return "fence_async_proxy";
    case Kind::wgmma:
      return "wgmma";
    case Kind::wgmma_fence:
      return "wgmma_fence";
    case Kind::wgmma_commit:
      return "wgmma_commit";
    case Kind::wgmma_wait:
      return "wgmma_wait";
  }
  return "?";
}

bool operator==(const Site& a, const Site& b) {
  return a.line == b.line && a.number == b.number && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string describe(Kind kind, const Site& site) {
  const char* slash = std::strrchr(site.file, '/');
  std::string text =
      std::string(name_of(kind)) + " at " + (slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
  if (site.number > 0) text += " (its barrier " + std::to_string(site.number) + ")";
  return text;
}

}  // namespace simt
