// libcublasLt, loaded when it is first asked for: its functions, and the one place where its status codes
// become exceptions. The header is used for types alone; nothing links to the library.
#pragma once

#include <optional>
#include <string>

#include <cublasLt.h>

#include <precast/cuda/runtime/shared_library.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// The functions that we call.
struct CublasLtFunctions {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmulDescCreate) create_operation;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose_algorithm;
  decltype(&cublasLtMatmul) multiply;
};

/// The library, or why there is none.
class CublasLtLibrary {
 public:
  /// Loaded once in a process, from the system's search path (LD_LIBRARY_PATH). The version of the header
  /// comes first: every driver that runs this program runs it, while drivers for CUDA 12 do not run version
  /// 13. Then comes the other version.
  static const CublasLtLibrary& instance() {
    static const auto* const library = new CublasLtLibrary;  // not destroyed: ops may still run at exit
    return *library;
  }

  bool found() const { return found_; }
  /// One line: the name it was found by, or why it was not found.
  std::string described() const { return found_ ? library_.name() : library_.problem(); }
  /// Throws Error where the library was not found.
  const CublasLtFunctions& functions() const {
    if (!found_)
      throw Error("cuBLASLt could not be loaded (" + library_.problem() +
                  "): install libcublasLt.so.13 or .12 (CUDA toolkit, or the Python package nvidia-cublas), "
                  "and name its folder in LD_LIBRARY_PATH");
    return functions_;
  }

  /// Throws Error or OutOfMemory for any status but success. `doing` completes "cuBLASLt could not ...".
  void check(cublasStatus_t status, const std::string& doing) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string reason = functions_.status_string(status);
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
      throw OutOfMemory("cuBLASLt could not " + doing + " (" + reason +
                        "): use smaller sizes, or a policy of narrower dtypes");
    throw Error("cuBLASLt could not " + doing + " (" + reason + ")");
  }

 private:
  static constexpr const char *newer = "libcublasLt.so.13", *older = "libcublasLt.so.12";
  static constexpr bool is_newer = CUBLAS_VER_MAJOR >= 13;

  CublasLtLibrary() : library_({is_newer ? newer : older, is_newer ? older : newer}) {
    found_ = library_ && library_.find("cublasLtCreate", functions_.create) &&
             library_.find("cublasLtGetStatusString", functions_.status_string) &&
             library_.find("cublasLtMatmulDescCreate", functions_.create_operation) &&
             library_.find("cublasLtMatmulDescDestroy", functions_.destroy_operation) &&
             library_.find("cublasLtMatmulDescSetAttribute", functions_.set_operation) &&
             library_.find("cublasLtMatrixLayoutCreate", functions_.create_layout) &&
             library_.find("cublasLtMatrixLayoutDestroy", functions_.destroy_layout) &&
             library_.find("cublasLtMatmulPreferenceCreate", functions_.create_preference) &&
             library_.find("cublasLtMatmulPreferenceDestroy", functions_.destroy_preference) &&
             library_.find("cublasLtMatmulPreferenceSetAttribute", functions_.set_preference) &&
             library_.find("cublasLtMatmulAlgoGetHeuristic", functions_.choose_algorithm) &&
             library_.find("cublasLtMatmul", functions_.multiply);
  }

  SharedLibrary library_;
  CublasLtFunctions functions_{};
  bool found_ = false;
};

}  // namespace precast::gpu
