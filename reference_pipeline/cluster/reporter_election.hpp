// Decides which rank reports why a job ended: rank 0, or another if rank 0 was killed before it could.
#pragma once

#include <precast/cluster/communicator.hpp>
#include <precast/io/file_descriptor.hpp>

namespace precast::cluster {

/// A file in /dev/shm of rank 0's machine, unlinked once all ranks of that machine have opened it. Rank 0
/// holds its lock for as long as it lives.
class ReporterElection {
 public:
  /// Every rank of the job makes one. Throws CommunicationError.
  explicit ReporterElection(Communicator& job);
  ReporterElection(const ReporterElection&) = delete;
  ReporterElection& operator=(const ReporterElection&) = delete;

  /// Whether this rank reports; at most one rank on rank 0's machine does. Among ranks stopped because of
  /// another, it is rank 0, or, if rank 0 is gone, one on its machine.
  bool is_elected(bool is_stopped);

 private:
  bool is_first_;
  io::FileDescriptor file_;  ///< invalid on other machines, and if the file could not be made
};

}  // namespace precast::cluster
