// linear: x W^T + b and an activation, in one pass. LinearWeight holds W and b as the policy stores them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/ops/weight_and_bias.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

struct LinearOptions {
  ActivationFunction activation = ActivationFunction::none;
};

inline namespace PRECAST_BACKEND {

/// The weight [out_features, in_features] of a linear layer as the policy stores it, scalars or blocks, in
/// the form that products of this backend read; and its bias [out_features].
template <PolicyType P>
class LinearWeight : public detail::WeightAndBias<precisions<P, Matmul>> {
  using Base = detail::WeightAndBias<precisions<P, Matmul>>;

 public:
  using typename Base::BiasStorage, typename Base::HostBias, typename Base::OwnBias, typename Base::Storage,
      typename Base::Types;

  /// Calls `fill(first_row, HostStoredView<Storage> rows)` for one group of rows after another, and it
  /// writes them. The backend chooses the size of a group, so that a weight is never in memory twice while
  /// it is loaded. `bias` may be empty. Throws ShapeError for sizes below 1, or a bias of another size.
  template <RowFill<Storage> Fill>
  LinearWeight(std::int64_t out_features, std::int64_t in_features, Fill&& fill, const HostBias& bias = {})
      : Base(Base::Packed::template filled<Types>(checked({out_features, in_features}), fill), bias) {}
  /// Copies a weight [out_features, in_features]. Throws ShapeError also where it is not a matrix.
  explicit LinearWeight(HostStoredView<const Storage> weight, const HostBias& bias = {})
      : LinearWeight(matrix(weight.shape())[0], weight.columns(), rows_of_matrix<Storage>(weight), bias) {}

  /// Do not compile (static_assert): a weight of another policy, and one in device memory (see borrowed()).
  template <PolicyType Other>
    requires(!std::same_as<Other, P>)
  LinearWeight(const LinearWeight<Other>&)  // NOLINT(google-explicit-constructor)
      : Base(Base::template of_another_policy<Other>()) {}
  template <detail::WeightOnDevice Weight, class... Bias>
  explicit LinearWeight(const Weight&, const Bias&...) : Base(Base::template of_a_device<Weight>()) {}

  /// The same weight held in the narrower dtype of its file, whose values Storage represents exactly.
  /// Products widen them: the same result bits, in less memory.
  template <ScalarDtype Held, RowFill<Held> Fill>
    requires backend::holds_scalars_of_files<Storage, Held>
  static LinearWeight in_scalars(std::int64_t out_features, std::int64_t in_features, Fill&& fill,
                                 const HostBias& bias = {}) {
    return LinearWeight(
        Base::Packed::template filled<Types, Held>(checked({out_features, in_features}), fill), bias);
  }

  /// A weight in a block format of its file, held in the file's layout: calls `fill(bytes)`, which writes
  /// the bytes of all rows; each row begins with a block. Products round its values to operands once (for
  /// few rows, the host multiplies by the codes: docs/quantisation.md). A device without products of the
  /// format to Storage rounds them as they are loaded. Throws InputError where the library has no such
  /// block format, PathNotCompiled where PRECAST_QUANT leaves it out.
  template <class Fill>
    requires backend::holds_blocks_of_files<Storage>
  static LinearWeight in_blocks(const DtypeInfo& format, std::int64_t out_features, std::int64_t in_features,
                                Fill&& fill, const HostBias& bias = {}) {
    const host::BlockDecoder decoder = host::block_decoder<Types>(format);
    if (!decoder.to_f32)
      throw InputError("a linear weight in " + std::string(format.name) +
                       ": the library has no block format of this name");
    return LinearWeight(
        Base::Packed::template in_blocks<Types>(decoder, checked({out_features, in_features}), fill), bias);
  }
  /// The bytes that in_blocks() reads of a format; nullopt where the library has no such block format.
  static std::optional<std::int64_t> bytes_in_blocks(const DtypeInfo& format, std::int64_t out_features,
                                                     std::int64_t in_features) {
    const host::BlockDecoder decoder = host::block_decoder<Types>(format);
    if (!decoder.to_f32) return std::nullopt;
    return out_features * decoder.bytes_per_row(in_features);
  }

  /// A weight and a bias that are already in this backend's memory. A device multiplies by the rows in
  /// place, without a copy: they must outlive this object, which sees every change of them. The host packs
  /// a copy, as of every weight. The bias is read by this call, in the current context. Throws ShapeError
  /// as the constructors do.
  static LinearWeight borrowed(const PendingView<StoredView<const Storage>>& weight,
                               const OwnBias& bias = {}) {
    checked(matrix(weight.shape()));
    return {Base::Packed::template borrowed<Types>(weight), bias};
  }

  std::int64_t out_features() const { return this->weight().features(); }
  std::int64_t in_features() const { return this->weight().columns(); }

 private:
  template <class Space>
  LinearWeight(typename Base::Packed weight, const BiasValues<BiasStorage, Space>& bias)
      : Base(std::move(weight), bias) {}

  static const Shape& matrix(const Shape& shape) {
    if (shape.rank() != 2) throw ShapeError("a linear weight has two dimensions, not " + to_string(shape));
    return shape;
  }
  static const Shape& checked(const Shape& shape) {
    if (shape.elements() == 0) throw ShapeError("a linear weight of shape " + to_string(shape) + " is empty");
    return shape;
  }
};

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements linear_into on views.
template <class Row, class X>
void linear_of_view_into(X x, const WeightAndBias<Row>& layer, const LinearOptions& options,
                         View<typename Row::result> out) {
  const auto& weight = layer.weight();
  if (x.columns() != weight.columns())
    throw ShapeError("linear: " + to_string(x.shape()) + " does not have the " +
                     std::to_string(weight.columns()) + " columns that the weight takes");
  if (out.columns() != weight.features() || out.rows() != x.rows())
    shapes_do_not_fit("linear", x.shape().with_back(weight.features()), out.shape(),
                      "are the shapes of the result and of the output given for it");
  require_apart("linear", out, x);
  require_apart_from_weight("linear", out, weight);
  run_op_into<Matmul, Row>("linear", out, [&]<class Types>(Types, auto to) {
    backend::matmul_transposed<Types>(x, weight, layer.epilogue(options.activation), to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// out = activation(x W^T + b), x [..., in_features], out [..., out_features]. Operands are rounded to the
/// policy's operand dtype, sums kept in its accumulate dtype, bias and activation computed in f32, results
/// rounded once. `out` may be strided. On CPUs with AVX-512 BF16, bf16 operands that are subnormal count as
/// zero. Throws ShapeError where shapes do not fit, or `out` overlaps x or a borrowed weight.
template <PolicyType P, ScalarArray X>
void linear_into(const X& x, const LinearWeight<P>& weight, const LinearOptions& options,
                 ResultOf<P, Matmul> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::linear_of_view_into<precisions<P, Matmul>>(as_view(x), weight, options, out.view());
}
template <PolicyType P, ScalarArray X>
void linear_into(const X& x, const LinearWeight<P>& weight, ResultOf<P, Matmul> out,
                 const Context& context = current_context()) {
  linear_into<P>(x, weight, LinearOptions{}, out, context);
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto linear(const X& x, const LinearWeight<P>& weight, const LinearOptions& options = {},
            const Context& context = current_context()) {
  return detail::into_new<P, Matmul>(x.shape().with_back(weight.out_features()), context,
                                     [&](auto out) { linear_into<P>(x, weight, options, out); });
}

/// Do not compile (static_assert): a weight that is a plain tensor or view, with or without a bias. (The
/// linear_into of ops/training_linear.hpp takes one.)
template <PolicyType P, ScalarArray W>
Tensor<typename precisions<P, Matmul>::result> linear(detail::AnyArgument, const W&,
                                                      const LinearOptions& = {},
                                                      const Context& = current_context()) {
  detail::refuse_plain_weight<W>();
  return {};
}
template <PolicyType P, ScalarArray W>
auto linear(detail::AnyArgument x, const W& weight, detail::AnyArgument, const LinearOptions& = {},
            const Context& = current_context()) {
  return linear<P>(x, weight);
}
template <PolicyType, ScalarArray W>
void linear_into(detail::AnyArgument, const W&, const LinearOptions&, detail::AnyArgument,
                 const Context& = current_context()) {
  detail::refuse_plain_weight<W>();
}
template <PolicyType, ScalarArray W>
void linear_into(detail::AnyArgument, const W&, detail::AnyArgument, detail::AnyArgument = 0,
                 detail::AnyArgument = 0) {
  detail::refuse_plain_weight<W>();
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
