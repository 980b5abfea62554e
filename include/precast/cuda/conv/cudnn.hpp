// cuDNN as the library of convolutions. The emulator has no library: our own kernel computes everything
// there, except in tests that use a host's convolution instead (conv_request.hpp).
#pragma once

#include <type_traits>

#include <precast/cuda/conv/conv_request.hpp>
#include <precast/cuda/runtime/library_in_use.hpp>
#include <precast/cuda/runtime/stream.hpp>

#if !PRECAST_CUDA_IS_EMULATED

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include <precast/cuda/runtime/cudnn_library.hpp>
#include <precast/cuda/runtime/stream_type.hpp>

namespace precast::gpu {

/// A convolution of one shape, described to cuDNN, which adds the bias before it rounds a result. One
/// algorithm: the others do not take a bias without an activation.
class CudnnPlan {
 public:
  CudnnPlan(cudnn::Handle handle, const ConvRequest& conv) {
    const auto& library = CudnnLibrary::instance();
    const auto& call = library.functions();
    const ConvSizes& s = conv.sizes;
    const std::string doing = "describe a convolution";
    const cudnn::Dtype dtype = conv.dtype == LibraryDtype::f16    ? cudnn::data_half
                               : conv.dtype == LibraryDtype::bf16 ? cudnn::data_bfloat16
                                                                  : cudnn::data_float;
    for (const std::int64_t size :
         {s.height, s.width, s.stride, s.pad_top, s.pad_left, s.batch * s.height * s.width * conv.x_stride,
          s.pixels() * conv.out_stride})
      if (!fits(size)) return;
    const auto pixels = [&](const Descriptor& to, std::int64_t n, std::int64_t c, std::int64_t h,
                            std::int64_t w, std::int64_t stride) {
      library.check(call.set_tensor(to.get(), dtype, narrow(n), narrow(c), narrow(h), narrow(w),
                                    narrow(h * w * stride), 1, narrow(w * stride), narrow(stride)),
                    doing);
    };
    x_ = made(call.create_tensor, call.destroy_tensor);
    pixels(x_, s.batch, s.channels, s.height, s.width, conv.x_stride);
    out_ = made(call.create_tensor, call.destroy_tensor);
    pixels(out_, s.batch, conv.features, s.out_height, s.out_width, conv.out_stride);
    bias_ = made(call.create_tensor, call.destroy_tensor);
    pixels(bias_, 1, conv.features, 1, 1, conv.features);
    weight_ = made(call.create_filter, call.destroy_filter);
    library.check(call.set_filter(weight_.get(), dtype, cudnn::format_nhwc, narrow(conv.features),
                                  narrow(s.channels), narrow(s.kernel_height), narrow(s.kernel_width)),
                  doing);
    convolution_ = made(call.create_convolution, call.destroy_convolution);
    const int stride = narrow(s.stride);
    library.check(call.set_convolution(convolution_.get(), narrow(s.pad_top), narrow(s.pad_left), stride,
                                       stride, 1, 1, cudnn::cross_correlation, cudnn::data_float),
                  doing);
    // f32 is multiplied as f32, never as tf32.
    const cudnn::Math math = conv.dtype == LibraryDtype::f32 ? cudnn::fma_math : cudnn::tensor_op_math;
    library.check(call.set_math(convolution_.get(), math), doing);
    activation_ = made(call.create_activation, call.destroy_activation);
    library.check(
        call.set_activation(activation_.get(), cudnn::activation_identity, cudnn::propagate_nan, 0.0), doing);
    exists_ = accepted(call.workspace_bytes(handle, x_.get(), weight_.get(), convolution_.get(), out_.get(),
                                            cudnn::implicit_precomputed_gemm, &workspace_bytes_),
                       doing);
  }

  /// Whether cuDNN may have code for the convolution: the only way to ask for the call that is made, with
  /// its bias and its activation, is to make it.
  bool exists() const { return exists_; }
  /// The bytes of workspace that it needs.
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  /// Starts the convolution on the handle's stream; false where cuDNN has no code for it.
  bool start(cudnn::Handle handle, const ConvRequest& conv) {
    const f32 one = 1, zero = 0;
    const auto& call = CudnnLibrary::instance().functions();
    exists_ = accepted(
        call.convolve(handle, &one, x_.get(), conv.x, weight_.get(), conv.weight, convolution_.get(),
                      cudnn::implicit_precomputed_gemm, conv.workspace, conv.workspace_bytes, &zero,
                      out_.get(), conv.out, bias_.get(), conv.bias, activation_.get(), out_.get(), conv.out),
        "convolve");
    return exists_;
  }

 private:
  using Descriptor = std::unique_ptr<void, cudnn::Status (*)(cudnn::Descriptor)>;

  /// False where cuDNN has no code for the call; throws Error for any other failure.
  static bool accepted(cudnn::Status status, const std::string& doing) {
    if (status >= cudnn::first_not_supported && status <= cudnn::last_not_supported) return false;
    CudnnLibrary::instance().check(status, doing);
    return true;
  }
  static bool fits(std::int64_t size) { return size <= std::numeric_limits<int>::max(); }
  static int narrow(std::int64_t size) { return static_cast<int>(size); }
  static Descriptor made(cudnn::Status (*create)(cudnn::Descriptor*),
                         cudnn::Status (*destroy)(cudnn::Descriptor)) {
    cudnn::Descriptor descriptor = nullptr;
    CudnnLibrary::instance().check(create(&descriptor), "make a descriptor");
    return {descriptor, destroy};
  }
  static Descriptor none() { return {nullptr, nullptr}; }

  Descriptor x_ = none(), weight_ = none(), convolution_ = none(), bias_ = none(), activation_ = none(),
             out_ = none();
  std::size_t workspace_bytes_ = 0;
  bool exists_ = false;
};

/// The properties of a convolution that its plan depends on: all but the pointers.
inline auto shape_of(const ConvRequest& conv) {
  const ConvSizes& s = conv.sizes;
  return std::tuple(conv.dtype, s.batch, s.height, s.width, s.channels, s.kernel_height, s.kernel_width,
                    s.stride, s.pad_top, s.pad_left, s.out_height, s.out_width, conv.features, conv.x_stride,
                    conv.out_stride);
}

/// The convolutions of one process: a handle for each device, and a plan for each shape. Any thread may call
/// it.
class Cudnn {
 public:
  /// Whether the current device may have code for a convolution; false where cuDNN does not start. Throws
  /// Error where a later call fails.
  bool has_code(const ConvRequest& conv) {
    const std::lock_guard lock(mutex_);
    OfDevice& device = current_device();
    return device.handle && plan_for(conv, device).exists();
  }

  /// Why cuDNN does not start on the current device; empty where it does.
  std::string problem() {
    const std::lock_guard lock(mutex_);
    return current_device().problem;
  }

  /// Starts a convolution; returns false where cuDNN has no code for it, which has_code then remembers.
  bool convolve(const ConvRequest& conv, Stream stream) {
    const std::lock_guard lock(mutex_);
    OfDevice& device = current_device();
    const auto& library = CudnnLibrary::instance();
    library.check(library.functions().set_stream(device.handle, stream), "use a stream");
    return plan_for(conv, device).start(device.handle, conv);
  }

  /// The bytes of workspace of a convolution that it has code for.
  std::size_t workspace_bytes(const ConvRequest& conv) {
    const std::lock_guard lock(mutex_);
    return plan_for(conv, current_device()).workspace_bytes();
  }

  static Cudnn& instance() {
    static auto* const library = new Cudnn;  // not destroyed: at exit the driver may be gone before us
    return *library;
  }

 private:
  struct OfDevice {
    cudnn::Handle handle = nullptr;
    std::string problem;
    std::map<decltype(shape_of(ConvRequest{})), CudnnPlan> plans;
  };

  OfDevice& current_device() {
    OfDevice& device = devices_[detail::current_device()];
    if (!device.handle && device.problem.empty()) {
      const auto& call = CudnnLibrary::instance().functions();
      const cudnn::Status status = call.create(&device.handle);
      if (status != cudnn::success) {
        device.handle = nullptr;
        device.problem = "cuDNN did not start: " + std::string(call.error_string(status));
      }
    }
    return device;
  }
  static CudnnPlan& plan_for(const ConvRequest& conv, OfDevice& device) {
    return device.plans.try_emplace(shape_of(conv), device.handle, conv).first->second;
  }

  std::mutex mutex_;
  std::map<int, OfDevice> devices_;
};

/// The implementation that convolves on the current device, and the reason where that is not cuDNN.
inline std::string convolutions_described() {
  const auto& library = CudnnLibrary::instance();
  const std::string problem = library.found() ? Cudnn::instance().problem() : library.described();
  return problem.empty() ? "cuDNN (" + library.described() + ")" : "our own kernel (" + problem + ")";
}

/// cuDNN, or nothing where it was not found (CudnnLibrary::described says why).
inline ConvLibrary cudnn_convolutions() {
  if (!CudnnLibrary::instance().found()) return {};
  return {.has_code = [](const ConvRequest& conv) { return Cudnn::instance().has_code(conv); },
          .convolve = [](const ConvRequest& conv,
                         Stream stream) { return Cudnn::instance().convolve(conv, stream); },
          .workspace_bytes = [](const ConvRequest& conv) { return Cudnn::instance().workspace_bytes(conv); }};
}

}  // namespace precast::gpu

#endif

namespace precast::gpu {

/// cuDNN on a device, where it was found; none in the emulator.
inline ConvLibrary default_library(std::type_identity<ConvLibrary>) {
#if PRECAST_CUDA_IS_EMULATED
  return {};
#else
  return cudnn_convolutions();
#endif
}

}  // namespace precast::gpu
