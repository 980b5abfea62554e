// TrainedParameter: one parameter under a policy, with its gradient and what AdamW keeps of it.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <language_model/parameters.hpp>

#include <precast/backend.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/host/convert_values.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/train/for_each_chunk.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// A parameter as the op table has it: stored as the model's ops read it, its master in the dtype that the
/// optimiser changes, its gradient in the dtype of parameters' gradients. Where a policy stores parameters in
/// the master's dtype there is one copy of them.
template <PolicyType P>
class TrainedParameter {
 public:
  using Storage = vector_storage_for<typename P::storage>;
  using Master = typename training<P>::master;
  using Gradient = typename training<P>::parameter_gradient;
  static_assert(ScalarDtype<typename P::storage>, "Parameters in blocks cannot be trained.");
  static_assert(std::is_same_v<Master, Gradient>, "An optimiser takes gradients in its own dtype.");

  /// In a dry run no values are needed.
  TrainedParameter(ParameterFacts facts, std::span<const f32> values)
      : facts_(std::move(facts)),
        master_(facts_.shape),
        mean_(facts_.shape),
        square_(facts_.shape),
        gradient_(facts_.shape) {
    host::convert_values<Master, false>(HostView<const f32>(values.data(), facts_.shape), master_.view());
    for (Tensor<Master>* zeros : {&mean_, &square_, &gradient_}) fill_with_zeros(*zeros);
    if constexpr (!one_copy) stored_ = Tensor<Storage>(facts_.shape);
    master_changed();
  }

  const ParameterFacts& facts() const { return facts_; }
  /// What ops read.
  const Tensor<Storage>& weight() const {
    if constexpr (one_copy)
      return master_;
    else
      return stored_;
  }
  Tensor<Master>& master() { return master_; }
  const Tensor<Master>& master() const { return master_; }
  Tensor<Master>& mean() { return mean_; }
  Tensor<Master>& square() { return square_; }
  Tensor<Gradient>& gradient() { return gradient_; }
  const Tensor<Gradient>& gradient() const { return gradient_; }

  /// Rounds what the model reads anew.
  void master_changed() {
    if constexpr (!one_copy)
      host::convert_values<Storage, false>(std::as_const(master_).view(), stored_.view());
  }
  /// Forgets the gradient of the step before, and who read the parameter then.
  void begin_step() {
    has_gradient_ = false;
    readers_ = 0;
  }
  /// A layer whose backward pass will say something of the gradient has read the parameter.
  void read() { ++readers_; }
  /// How the next gradient comes to what is there.
  GradientOptions next_gradient() {
    --readers_;
    return {.accumulate = std::exchange(has_gradient_, true)};
  }
  /// Whether all readers have said what they had to, once the step of the last one is over.
  bool gradient_is_whole() const { return readers_ == 0; }
  /// Rounds the gradient as the operands of products are: autocast casts parameters in the forward pass, and
  /// so their gradients leave the products in that dtype. What is beyond f16 is inf.
  void round_as_operand() {
    using Result = typename gradient_precisions<P, Matmul>::operand;
    if constexpr (!std::is_same_v<Result, Gradient>)
      for_each_chunk(gradient_, [](std::span<Gradient> values) {
        for (Gradient& value : values) value = convert<Gradient>(convert<Result>(value));
      });
  }

 private:
  static constexpr bool one_copy = std::is_same_v<Storage, Master>;

  /// Calls `change` with the values of a tensor in pieces, on all threads.
  template <class T, class Change>
  static void for_each_chunk(Tensor<T>& tensor, Change&& change) {
    train::detail::for_each_chunk(static_cast<std::size_t>(tensor.elements()),
                                  [&](std::size_t, std::size_t first, std::size_t end) {
                                    change(std::span<T>(tensor.data() + first, end - first));
                                  });
  }
  template <class T>
  static void fill_with_zeros(Tensor<T>& tensor) {
    for_each_chunk(tensor, [](std::span<T> values) { std::ranges::fill(values, convert<T>(0.0f)); });
  }

  ParameterFacts facts_;
  Tensor<Master> master_, mean_, square_;
  Tensor<Storage> stored_;
  Tensor<Gradient> gradient_;
  bool has_gradient_ = false;
  int readers_ = 0;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
