// TrainedParameter: one parameter under a policy, with its gradient and AdamW's moments.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <language_model/parameters.hpp>

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/problem/optimiser_kernels.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/train/optimiser.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// A parameter in the dtypes of the op table: a copy for the model's ops in the storage dtype, a
/// master in the optimiser's dtype, and a gradient. If storage and master dtypes are equal, there is
/// one copy.
template <PolicyType P>
class TrainedParameter {
 public:
  using Storage = vector_storage_for<typename P::storage>;
  using Master = typename training<P>::master;
  using Gradient = typename training<P>::parameter_gradient;
  static_assert(ScalarDtype<typename P::storage>, "Parameters in blocks cannot be trained.");
  static_assert(std::is_same_v<Master, Gradient>, "An optimiser takes gradients in its own dtype.");

  /// `values` may be empty in a dry run.
  TrainedParameter(ParameterFacts facts, std::span<const f32> values)
      : facts_(std::move(facts)), master_(from_host(facts_.shape, values)) {
    if constexpr (!one_copy) stored_ = Tensor<Storage>(facts_.shape);
    master_changed();
  }

  const ParameterFacts& facts() const { return facts_; }
  /// The copy that ops read.
  const Tensor<Storage>& weight() const {
    if constexpr (one_copy)
      return master_;
    else
      return stored_;
  }
  Tensor<Master>& master() { return master_; }
  const Tensor<Master>& master() const { return master_; }
  /// Moments and gradient are allocated on first use, with zeros: a forward pass needs none of them, a
  /// backward pass no moments.
  Tensor<Master>& mean() { return made(mean_); }
  Tensor<Master>& square() { return made(square_); }
  Tensor<Gradient>& gradient() { return made(gradient_); }

  /// The operands of an optimiser step.
  AdamWArrays<Master, Storage> arrays() {
    return {master_.view(),
            std::as_const(gradient()).view(),
            mean().view(),
            square().view(),
            one_copy ? View<Storage>() : stored_.view(),
            facts_.is_matrix()};
  }

  /// Updates the model's copy from the master.
  void master_changed() {
    if constexpr (!one_copy) backend::convert_values<Storage>(std::as_const(master_).view(), stored_.view());
  }
  /// Resets the gradient and the count of readers for a new step.
  void begin_step() {
    has_gradient_ = false;
    readers_ = 0;
  }
  /// Counts a layer that has read the parameter and will contribute to its gradient.
  void read() { ++readers_; }
  /// Whether the next contribution overwrites the gradient or accumulates.
  GradientOptions next_gradient() {
    --readers_;
    return {.accumulate = std::exchange(has_gradient_, true)};
  }
  /// Whether the gradient is final: all readers have contributed.
  bool is_gradient_ready() const { return readers_ == 0; }

 private:
  static constexpr bool one_copy = std::is_same_v<Storage, Master>;

  static Tensor<Master> from_host(const Shape& shape, std::span<const f32> values) {
    HostTensor<Master> rounded(shape);
    host::for_each_chunk(values.size(), [&](std::size_t, std::size_t first, std::size_t end) {
      host::convert_row<Master>(values.subspan(first, end - first),
                                rounded.values().subspan(first, end - first));
    });
    return arrived(std::move(rounded));
  }

  template <class T>
  Tensor<T>& made(std::optional<Tensor<T>>& tensor) {
    if (!tensor) train::clear<T>(tensor.emplace(facts_.shape).view());
    return *tensor;
  }

  ParameterFacts facts_;
  Tensor<Master> master_;
  Tensor<Storage> stored_;
  std::optional<Tensor<Master>> mean_, square_;
  std::optional<Tensor<Gradient>> gradient_;
  bool has_gradient_ = false;
  int readers_ = 0;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
