// What runtime/cudnn_library.hpp declares of cuDNN is what its headers, where they are, declare.
#include <type_traits>

#include <cudnn.h>

#include <precast/cuda/runtime/cudnn_library.hpp>

namespace {

using namespace precast::gpu;

/// Whether values of both types are passed alike: pointers, numbers and enums of one size, or one type.
template <class A, class B>
constexpr bool passed_alike = std::is_same_v<A, B> || (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                              ((std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> ||
                                                                              std::is_enum_v<B>)&&sizeof(A) ==
                               sizeof(B));

template <class A, class B>
constexpr bool called_alike = false;
template <class A, class... As, class B, class... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
constexpr bool called_alike<A (*)(As...), B (*)(Bs...)> = passed_alike<A, B> && (passed_alike<As, Bs> && ...);

static_assert(called_alike<decltype(CudnnFunctions::create), decltype(&cudnnCreate)>);
static_assert(called_alike<decltype(CudnnFunctions::set_stream), decltype(&cudnnSetStream)>);
static_assert(called_alike<decltype(CudnnFunctions::error_string), decltype(&cudnnGetErrorString)>);
static_assert(called_alike<decltype(CudnnFunctions::create_tensor), decltype(&cudnnCreateTensorDescriptor)>);
static_assert(called_alike<decltype(CudnnFunctions::set_tensor), decltype(&cudnnSetTensor4dDescriptorEx)>);
static_assert(
    called_alike<decltype(CudnnFunctions::destroy_tensor), decltype(&cudnnDestroyTensorDescriptor)>);
static_assert(called_alike<decltype(CudnnFunctions::create_filter), decltype(&cudnnCreateFilterDescriptor)>);
static_assert(called_alike<decltype(CudnnFunctions::set_filter), decltype(&cudnnSetFilter4dDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::destroy_filter), decltype(&cudnnDestroyFilterDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::create_convolution), decltype(&cudnnCreateConvolutionDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::set_convolution), decltype(&cudnnSetConvolution2dDescriptor)>);
static_assert(called_alike<decltype(CudnnFunctions::set_math), decltype(&cudnnSetConvolutionMathType)>);
static_assert(called_alike<decltype(CudnnFunctions::destroy_convolution),
                           decltype(&cudnnDestroyConvolutionDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::create_activation), decltype(&cudnnCreateActivationDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::set_activation), decltype(&cudnnSetActivationDescriptor)>);
static_assert(
    called_alike<decltype(CudnnFunctions::destroy_activation), decltype(&cudnnDestroyActivationDescriptor)>);
static_assert(called_alike<decltype(CudnnFunctions::workspace_bytes),
                           decltype(&cudnnGetConvolutionForwardWorkspaceSize)>);
static_assert(
    called_alike<decltype(CudnnFunctions::convolve), decltype(&cudnnConvolutionBiasActivationForward)>);

static_assert(int{cudnn::success} == CUDNN_STATUS_SUCCESS);
static_assert(int{cudnn::first_not_supported} == CUDNN_STATUS_NOT_SUPPORTED);
static_assert(int{cudnn::data_float} == CUDNN_DATA_FLOAT);
static_assert(int{cudnn::data_half} == CUDNN_DATA_HALF);
static_assert(int{cudnn::data_bfloat16} == CUDNN_DATA_BFLOAT16);
static_assert(int{cudnn::tensor_op_math} == CUDNN_TENSOR_OP_MATH);
static_assert(int{cudnn::fma_math} == CUDNN_FMA_MATH);
static_assert(cudnn::format_nhwc == CUDNN_TENSOR_NHWC);
static_assert(cudnn::cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(cudnn::implicit_precomputed_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
static_assert(cudnn::activation_identity == CUDNN_ACTIVATION_IDENTITY);
static_assert(cudnn::propagate_nan == CUDNN_PROPAGATE_NAN);

}  // namespace
