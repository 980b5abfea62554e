// libcudnn, loaded when it is first asked for: its functions, and the one place where its status codes
// become exceptions. The functions that we call are declared here, so that programs build without cuDNN's
// headers; tests compare the declarations with the headers where these are installed.
#pragma once

#include <cstddef>
#include <string>

#include <cuda_runtime_api.h>

#include <precast/cuda/runtime/shared_library.hpp>
#include <precast/error.hpp>

namespace precast::gpu {

/// Types and values of cudnn.h, version 9. Handles and descriptors are pointers there, the rest enums.
namespace cudnn {
using Handle = void*;
using Descriptor = void*;
using Status = int;
inline constexpr Status success = 0, first_not_supported = 3000, last_not_supported = 3999;
enum Dtype : int { data_float = 0, data_half = 2, data_bfloat16 = 9 };
enum Math : int { tensor_op_math = 1, fma_math = 3 };
inline constexpr int format_nhwc = 1, cross_correlation = 1, implicit_precomputed_gemm = 1,
                     activation_identity = 5, propagate_nan = 1;
}  // namespace cudnn

/// The functions that we call.
struct CudnnFunctions {
  using Status = cudnn::Status;
  using Handle = cudnn::Handle;
  using Descriptor = cudnn::Descriptor;
  Status (*create)(Handle*);
  Status (*set_stream)(Handle, cudaStream_t);
  const char* (*error_string)(Status);
  Status (*create_tensor)(Descriptor*);
  Status (*set_tensor)(Descriptor, cudnn::Dtype, int n, int c, int h, int w, int n_stride, int c_stride,
                       int h_stride, int w_stride);
  Status (*destroy_tensor)(Descriptor);
  Status (*create_filter)(Descriptor*);
  Status (*set_filter)(Descriptor, cudnn::Dtype, int format, int k, int c, int h, int w);
  Status (*destroy_filter)(Descriptor);
  Status (*create_convolution)(Descriptor*);
  Status (*set_convolution)(Descriptor, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                            int dilation_w, int mode, cudnn::Dtype compute);
  Status (*set_math)(Descriptor, cudnn::Math);
  Status (*destroy_convolution)(Descriptor);
  Status (*create_activation)(Descriptor*);
  Status (*set_activation)(Descriptor, int mode, int nan, double coefficient);
  Status (*destroy_activation)(Descriptor);
  Status (*workspace_bytes)(Handle, Descriptor x, Descriptor weight, Descriptor convolution, Descriptor out,
                            int algorithm, std::size_t* bytes);
  Status (*convolve)(Handle, const void* of_sums, Descriptor x, const void*, Descriptor weight, const void*,
                     Descriptor convolution, int algorithm, void* workspace, std::size_t bytes,
                     const void* of_addend, Descriptor addend, const void*, Descriptor bias, const void*,
                     Descriptor activation, Descriptor out, void*);

  /// Calls `visit(symbol, pointer)` for each function until a call returns false; returns whether none did.
  template <class Functions, class Visit>
  static bool each(Functions& f, Visit&& visit) {
    return visit("cudnnCreate", f.create) && visit("cudnnSetStream", f.set_stream) &&
           visit("cudnnGetErrorString", f.error_string) &&
           visit("cudnnCreateTensorDescriptor", f.create_tensor) &&
           visit("cudnnSetTensor4dDescriptorEx", f.set_tensor) &&
           visit("cudnnDestroyTensorDescriptor", f.destroy_tensor) &&
           visit("cudnnCreateFilterDescriptor", f.create_filter) &&
           visit("cudnnSetFilter4dDescriptor", f.set_filter) &&
           visit("cudnnDestroyFilterDescriptor", f.destroy_filter) &&
           visit("cudnnCreateConvolutionDescriptor", f.create_convolution) &&
           visit("cudnnSetConvolution2dDescriptor", f.set_convolution) &&
           visit("cudnnSetConvolutionMathType", f.set_math) &&
           visit("cudnnDestroyConvolutionDescriptor", f.destroy_convolution) &&
           visit("cudnnCreateActivationDescriptor", f.create_activation) &&
           visit("cudnnSetActivationDescriptor", f.set_activation) &&
           visit("cudnnDestroyActivationDescriptor", f.destroy_activation) &&
           visit("cudnnGetConvolutionForwardWorkspaceSize", f.workspace_bytes) &&
           visit("cudnnConvolutionBiasActivationForward", f.convolve);
  }
};

/// The library, or why there is none.
class CudnnLibrary {
 public:
  /// Loaded once in a process: version 9, from the system's search path (LD_LIBRARY_PATH).
  static const CudnnLibrary& instance() {
    static const auto* const library = new CudnnLibrary;  // not destroyed: ops may still run at exit
    return *library;
  }

  bool found() const { return found_; }
  /// One line: the name it was found by, or why it was not found.
  std::string described() const { return found_ ? library_.name() : library_.problem(); }
  /// The library's functions. Only where found().
  const CudnnFunctions& functions() const { return functions_; }

  /// Throws Error for any other status than success. `doing` completes "cuDNN could not ...".
  void check(cudnn::Status status, const std::string& doing) const {
    if (status != cudnn::success)
      throw Error("cuDNN could not " + doing + " (" + functions_.error_string(status) +
                  "): where no libcudnn.so.9 is found, Precast's own kernel convolves");
  }

 private:
  CudnnLibrary() : library_({"libcudnn.so.9"}) {
    found_ = library_ && CudnnFunctions::each(
                             functions_, [&](const char* name, auto& f) { return library_.find(name, f); });
  }

  SharedLibrary library_;
  CudnnFunctions functions_{};
  bool found_ = false;
};

}  // namespace precast::gpu
