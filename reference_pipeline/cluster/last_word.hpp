// Which rank says why a job ended, where rank 0, which speaks for all, was killed before it could.
#pragma once

#include <precast/cluster/communicator.hpp>
#include <precast/io/file_descriptor.hpp>

namespace precast::cluster {

/// A file in memory of rank 0's machine, without a name once all ranks there have it open. Rank 0 has it
/// locked as long as it lives.
class LastWord {
 public:
  /// Every rank of the job makes one. Throws CommunicationError.
  explicit LastWord(Communicator& job);
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;

  /// Whether this rank is to speak, which of one machine one does. Of those that are stopped because of
  /// another it is rank 0, or where that is gone, one on its machine.
  bool is_ours(bool is_stopped);

 private:
  bool is_first_;
  io::FileDescriptor file_;  ///< not valid on other machines, and where there is no such file
};

}  // namespace precast::cluster
