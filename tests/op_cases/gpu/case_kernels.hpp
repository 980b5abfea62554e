// The kernels that cases of products, convolutions and attention, and those of PyTorch's results, call, by
// policy. nvcc stamps them in units of their own, less those of the library's units (kernels/), and the
// cases themselves are compiled by the host compiler, which sees declarations. A kernel that is not here does
// not link.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <op_cases/policy_lists.hpp>
#include <stamp.hpp>

#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/cuda/attention/largest_score.hpp>
#include <precast/cuda/attention/plain_attention.hpp>
#include <precast/cuda/conv/conv.hpp>
#include <precast/cuda/loss/cross_entropy.hpp>
#include <precast/cuda/loss/mean_squared_error.hpp>
#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#include <precast/cuda/reduction/reduce_values.hpp>
#include <precast/cuda/softmax/softmax.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::testing {

namespace detail {

using kernels::Overload;

template <class Types, class X>
constexpr auto product =
    Overload<void, View<const X>, const gpu::PackedWeight<typename Types::storage>&, const Epilogue&,
             View<typename Types::result>>(&gpu::matmul_transposed<Types, X>);
/// With a right side that is a tensor, as it lies.
template <class Types, class X>
constexpr auto product_of_tensors =
    std::tuple(Overload<void, View<const X>, StoredView<const typename Types::storage>, const Epilogue&,
                        View<typename Types::result>>(&gpu::matmul_transposed<Types, X>),
               &gpu::matmul<Types, X>);
template <class Types, class X>
constexpr auto convolution =
    Overload<void, View<const X>, const gpu::PackedWeight<typename Types::storage>&, const ConvSizes&,
             const Epilogue&, View<typename Types::result>>(&gpu::conv<Types, X>);
template <class Types, class Q, class K, class V>
using Attends = Overload<void, const AttentionProblem&, HeadsView<const Q>, HeadsView<const K>,
                         HeadsView<const V>, HeadsView<typename Types::result>>;
template <class Types, class Q, class K, class V>
constexpr auto plain = Attends<Types, Q, K, V>(&gpu::plain_attention<Types, EveryAttention, Q, K, V>);
template <class Types, class Q, class K, class V>
constexpr auto flash = Attends<Types, Q, K, V>(&gpu::flash_attention<Types, EveryAttention, Q, K, V>);

/// Whether kernels/ has a product, or an attention of one dtype. Of f32 there are products for each row.
template <class Types, class X, OpClass... Ops>
inline constexpr bool product_is_stamped =
    kernels::is_stamped<Types, X, kernels::EveryPolicy, Ops...> ||
    (std::is_same_v<X, f32> &&
     kernels::is_stamped<Types, typename Types::storage, kernels::EveryPolicy, Ops...>);
template <class Types, class Q, class K, class V, bool UsesFlash>
inline constexpr bool attention_is_stamped = std::conjunction_v<
    std::is_same<Q, K>, std::is_same<Q, V>,
    std::bool_constant<kernels::is_stamped<
        Types, Q, std::conditional_t<UsesFlash, kernels::WithFlash, kernels::WithoutFlash>, Attention>>>;

}  // namespace detail

// Each holds the addresses of what an op calls in the policy's dtypes, and of what the watch hook calls in
// f32. An instance of `functions` makes nvcc stamp them.

/// Products and convolutions of results of the policy and of f32; for matmul, whose right side is a tensor,
/// with that one's dtype. Together, because a convolution of single pixels is a product.
template <class P>
struct ProductKernels {
  using Result = typename P::activation;
  template <class Types>
  using OfTensors = with_storage<Types, Result>;
  template <class Types, class X>
  static constexpr auto product = [] {
    if constexpr (detail::product_is_stamped<Types, X, Matmul, Conv>)
      return std::tuple();
    else
      return std::tuple(detail::product<Types, X>);
  }();
  template <class Types, class X>
  static constexpr auto convolution = [] {
    if constexpr (detail::product_is_stamped<Types, X, Conv>)
      return std::tuple();
    else
      return std::tuple(detail::convolution<Types, X>);
  }();
  template <class Types>
  static constexpr auto products = std::tuple_cat(product<Types, Result>, product<Types, f32>,
                                                  detail::product_of_tensors<OfTensors<Types>, Result>);
  template <class Types>
  static constexpr auto convolutions = std::tuple_cat(convolution<Types, Result>, convolution<Types, f32>);
  static constexpr auto functions =
      std::tuple_cat(products<precisions<P, Matmul>>, products<widened_to_f32<precisions<P, Matmul>>>,
                     convolutions<precisions<P, Conv>>, convolutions<widened_to_f32<precisions<P, Conv>>>,
                     std::tuple(&gpu::transpose<Result>));
};

template <class P, class Q = typename P::activation, class K = Q, class V = Q>
struct AttentionKernels {
  using Types = precisions<P, Attention>;
  template <class T>
  static constexpr auto in = [] {
    if constexpr (detail::attention_is_stamped<T, Q, K, V, P::flash>)
      return std::tuple();
    else if constexpr (P::flash)
      return std::tuple(detail::flash<T, Q, K, V>);
    else
      return std::tuple(detail::plain<T, Q, K, V>);
  }();
  static constexpr auto functions =
      std::tuple_cat(in<Types>, in<widened_to_f32<Types>>, std::tuple(&gpu::largest_score<Q, K>));
};

template <class P>
struct SoftmaxKernels {
  using Types = precisions<P, Softmax>;
  static constexpr auto functions = std::tuple(&gpu::softmax<Types, typename P::activation>,
                                               &gpu::softmax<widened_to_f32<Types>, typename P::activation>);
};

template <class P>
struct ReductionKernels {
  using In = typename P::activation;
  template <class Types>
  static constexpr std::tuple losses{&gpu::mean_squared_error<Types, In, In>, &gpu::cross_entropy<Types, In>};
  using Reduced = precisions<P, Reduction>;
  static constexpr auto functions = std::tuple_cat(
      std::tuple(&gpu::reduce_values<Reduced, In>, &gpu::reduce_values<widened_to_f32<Reduced>, In>),
      losses<precisions<P, Loss>>, losses<widened_to_f32<precisions<P, Loss>>>);
};

namespace detail {

template <class... Lists>
using joined = decltype(std::tuple_cat(std::declval<Lists>()...));

template <template <class...> class Kernels, class Policies>
struct Each;
template <template <class...> class Kernels, class... P>
struct Each<Kernels, std::tuple<P...>> {
  using type = std::tuple<Kernels<P>...>;
};
template <template <class...> class Kernels, class... Lists>
using each = typename Each<Kernels, joined<Lists...>>::type;

}  // namespace detail

using ProductCases = detail::each<ProductKernels, ProductPolicies, NarrowSumPolicies,
                                  std::tuple<F16Saturate, E4m3OfBf16InF32, E4m3OfBf16InF32Saturate>>;
template <class P>
using AttentionKernelsOfF32 = AttentionKernels<P, f32>;

using AttentionCases = detail::joined<
    detail::each<AttentionKernels, AttentionPolicies, std::tuple<F16Saturate>>,
    detail::each<AttentionKernelsOfF32, AttentionOperandRangePolicies>,
    std::tuple<AttentionKernels<F32, bf16>, AttentionKernels<F32Flash, bf16>, AttentionKernels<F32, f16>,
               AttentionKernels<F32Flash, f16>, AttentionKernels<Bf16, f32, bf16, f32>,
               AttentionKernels<Bf16Flash, f32, bf16, f32>,
               AttentionKernels<F16UpcastAttention, f16, f16, f32>,
               AttentionKernels<F16UpcastAttentionFlash, f16, f16, f32>,
               AttentionKernels<F16SaturateUpcastAttentionFlash, f16, f16, f32>>>;

using SoftmaxCases = detail::each<SoftmaxKernels, PytorchPolicies>;
using ReductionCases = detail::each<ReductionKernels, PytorchPolicies>;

/// The kernels of every `parts`-th of the cases, from `part` on.
template <class Cases, std::size_t part, std::size_t parts>
constexpr auto kernels_of_part = []<std::size_t... I>(std::index_sequence<I...>) {
  const auto functions = []<std::size_t i>(std::integral_constant<std::size_t, i>) {
    if constexpr (i % parts == part)
      return std::tuple_element_t<i, Cases>::functions;
    else
      return std::tuple();
  };
  return std::tuple_cat(functions(std::integral_constant<std::size_t, I>{})...);
}
(std::make_index_sequence<std::tuple_size_v<Cases>>{});

}  // namespace precast::testing
