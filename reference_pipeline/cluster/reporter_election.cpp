#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>

#include <cluster/reporter_election.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace precast::cluster {

ReporterElection::ReporterElection(Communicator& job) : is_first_(job.rank() == 0) {
  std::array<char, 32> name{"/dev/shm/precast-XXXXXX"};
  if (is_first_) {
    file_ = io::FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
    if (!file_.valid() || !file_.try_lock()) name[0] = '\0';
  }
  job.broadcast(std::as_writable_bytes(std::span(name)), 0);
  if (!is_first_ && name[0]) file_ = io::FileDescriptor(open(name.data(), O_RDWR | O_CLOEXEC));
  sum(job, 0);  // barrier: by now, all ranks that can have opened it
  if (is_first_ && file_.valid()) unlink(name.data());
}

bool ReporterElection::is_elected(bool is_stopped) {
  if (is_stopped && !is_first_ && (!file_.valid() || !file_.try_lock())) return false;
  if (!file_.valid()) return true;
  // A mode bit of the file records that a rank has reported: a byte of content would need a page, which a
  // full /dev/shm does not have. The lock makes testing and setting the bit one step.
  constexpr mode_t reported = S_IXUSR;
  struct flock all {};
  all.l_type = F_WRLCK;
  static_cast<void>(fcntl(file_.get(), F_OFD_SETLKW, &all));
  struct stat facts {};
  const bool is_reported = fstat(file_.get(), &facts) == 0 && (facts.st_mode & reported) != 0;
  if (!is_reported) static_cast<void>(fchmod(file_.get(), facts.st_mode | reported));
  all.l_type = F_UNLCK;
  static_cast<void>(fcntl(file_.get(), F_OFD_SETLK, &all));
  return !is_reported;
}

}  // namespace precast::cluster
