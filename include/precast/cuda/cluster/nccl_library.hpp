// NCCL, loaded when it is first asked for: its functions, and the one place where its results become
// exceptions. Its types are declared here as its binary interface has had them since 2.10, so that its header
// is not needed; nothing links to the library.
#pragma once

#include <cstddef>
#include <string>

#include <precast/cluster/communicator.hpp>
#include <precast/cuda/runtime/shared_library.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// ncclUniqueId, by which ranks find each other.
struct NcclId {
  char bytes[128];
};
/// A rank of NCCL's: what ncclComm_t points to.
struct NcclRank;
/// ncclResult_t, which is an int: 0 is success, and 7 means still in progress.
using NcclResult = int;

/// The functions that we call. A stream is a cudaStream_t.
struct NcclFunctions {
  NcclResult (*get_id)(NcclId* id);
  NcclResult (*join)(NcclRank** rank, int ranks, NcclId id, int number);
  NcclResult (*sum)(const void* from, void* to, std::size_t count, int dtype, int operation, NcclRank* rank,
                    void* stream);
  NcclResult (*broadcast)(const void* from, void* to, std::size_t count, int dtype, int root, NcclRank* rank,
                          void* stream);
  NcclResult (*state)(NcclRank* rank, NcclResult* result);
  NcclResult (*leave)(NcclRank* rank);
  NcclResult (*abort)(NcclRank* rank);
  const char* (*error_string)(NcclResult result);
};

/// ncclDataType_t and ncclRedOp_t, as far as we use them.
constexpr int nccl_bytes = 0, nccl_sum = 0;
constexpr int nccl_dtype(cluster::SumDtype dtype) {
  constexpr int numbers[]{7, 8, 6, 9};  // f32, f64, f16, bf16
  return numbers[static_cast<std::size_t>(dtype)];
}

/// The library, or why there is none.
class NcclLibrary {
 public:
  /// The one of this process, looked for once in the system's search path (LD_LIBRARY_PATH).
  static const NcclLibrary& instance() {
    static const auto* const library = new NcclLibrary("libnccl.so.2");  // not destroyed, as other libraries
    return *library;
  }
  /// A library by its name or path.
  explicit NcclLibrary(const char* name) : library_({name}) {
    found_ = library_ && library_.find("ncclGetUniqueId", functions_.get_id) &&
             library_.find("ncclCommInitRank", functions_.join) &&
             library_.find("ncclAllReduce", functions_.sum) &&
             library_.find("ncclBroadcast", functions_.broadcast) &&
             library_.find("ncclCommGetAsyncError", functions_.state) &&
             library_.find("ncclCommDestroy", functions_.leave) &&
             library_.find("ncclCommAbort", functions_.abort) &&
             library_.find("ncclGetErrorString", functions_.error_string);
  }

  bool found() const { return found_; }
  /// Throws Error where the library was not found.
  const NcclFunctions& functions() const {
    if (!found_)
      throw Error(
          "NCCL could not be loaded (" + library_.problem() +
          "): install libnccl.so.2 (NVIDIA's libnccl2, or the Python package nvidia-nccl), and name its "
          "folder in LD_LIBRARY_PATH");
    return functions_;
  }
  /// Throws CommunicationError for any other result than success. `doing` completes "NCCL could not ...".
  void check(NcclResult result, const std::string& doing) const {
    if (result == 0) return;
    throw cluster::CommunicationError("NCCL could not " + doing + " (" + functions_.error_string(result) +
                                      "): start the job again, with NCCL_DEBUG=WARN to see more");
  }

 private:
  SharedLibrary library_;
  NcclFunctions functions_{};
  bool found_ = false;
};

}  // namespace precast::gpu
