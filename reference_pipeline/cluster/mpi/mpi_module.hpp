// What the program finds in precast_mpi.so, the only part of Precast that is linked with MPI.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <precast/cluster/communicator.hpp>

namespace precast::cluster {

/// An MPI job: a communicator that can end all of its ranks.
class MpiJob : public Communicator {
 public:
  /// Ends every rank of the job at once, or this process alone where the job was told to stop.
  virtual void abort(int code) = 0;
};

}  // namespace precast::cluster

/// The module's only function: joins the MPI job that this process was started in, which MPI allows once. A
/// rank that waits for others gives up with CommunicationError once `stop_requested` has been true for
/// `grace_period`. Throws CommunicationError.
extern "C" void precast_join_mpi(std::unique_ptr<precast::cluster::MpiJob>* job,
                                 const std::function<bool()>* stop_requested,
                                 std::chrono::milliseconds grace_period);
