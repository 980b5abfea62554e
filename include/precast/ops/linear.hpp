// linear: x W^T + b and an activation, in one pass. LinearWeight holds W and b as the policy stores them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <precast/host/matmul.hpp>
#include <precast/ops/activate.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/as_view.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/watch/report.hpp>

namespace precast {

/// The weight [out_features, in_features] and bias [out_features] of a linear layer, in the policy's storage.
template <PolicyType P>
class LinearWeight {
 public:
  using Storage = typename precisions<P, Matmul>::storage;
  static_assert(ScalarDtype<Storage>, "LinearWeight: Storage<T> needs a scalar dtype on the host backend.");

  /// The rows that `fill` is asked for at a time.
  static constexpr std::int64_t rows_per_panel = 64;

  /// Calls `fill(first_row, View<Storage> rows)` for panel after panel, which writes the weight's rows in place.
  /// `bias` may be empty. Throws ShapeError for sizes below 1, or a bias of another size.
  template <class Fill>
    requires std::is_invocable_v<Fill&, std::int64_t, View<Storage>>
  LinearWeight(std::int64_t out_features, std::int64_t in_features, Fill&& fill, std::span<const Storage> bias = {})
      : weight_(checked(out_features, in_features, bias.size())), bias_(widened(bias)) {
    for (std::int64_t first = 0; first < out_features; first += rows_per_panel)
      fill(first, weight_.view().rows_between(first, std::min(rows_per_panel, out_features - first)));
  }
  /// Copies a weight [out_features, in_features].
  explicit LinearWeight(View<const Storage> weight, std::span<const Storage> bias = {})
      : LinearWeight(weight.rows(), weight.columns(),
                     [&](std::int64_t first, View<Storage> rows) {
                       for (std::int64_t r = 0; r < rows.rows(); ++r)
                         std::ranges::copy(weight.row(first + r), rows.row(r).begin());
                     },
                     bias) {}

  std::int64_t out_features() const { return weight_.rows(); }
  std::int64_t in_features() const { return weight_.columns(); }
  View<const Storage> weight() const { return weight_; }
  /// In f32, exactly; empty where the layer has none.
  std::span<const f32> bias() const { return bias_.values(); }
  std::int64_t bytes() const { return bytes_for<Storage>(weight_.elements()) + bytes_for<f32>(bias_.elements()); }

 private:
  static Shape checked(std::int64_t out_features, std::int64_t in_features, std::size_t bias) {
    const Shape shape{out_features, in_features};
    if (shape.elements() == 0) throw ShapeError("a linear weight of shape " + to_string(shape) + " is empty");
    if (bias != 0 && static_cast<std::int64_t>(bias) != out_features)
      throw ShapeError("a bias of " + std::to_string(bias) + " does not fit a linear weight of shape " +
                       to_string(shape));
    return shape;
  }
  static Tensor<f32> widened(std::span<const Storage> bias) {
    Tensor<f32> wide(Shape{static_cast<std::int64_t>(bias.size())});
    host::convert_row<f32>(bias, wide.values());
    return wide;
  }

  Tensor<Storage> weight_;
  Tensor<f32> bias_;
};

/// out = activate(x W^T + b), x [..., in_features], out [..., out_features]. Operands are rounded to the policy's
/// operand dtype, sums kept in its accumulate dtype, bias and activation computed in f32, results rounded once. Rows
/// of `out` may lie apart. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray X>
void linear_into(const X& x, const LinearWeight<P>& weight, View<typename precisions<P, Matmul>::result> out,
                 Activate activate = Activate::none) {
  using Types = precisions<P, Matmul>;
  const auto in = as_view(x);
  if (in.columns() != weight.in_features())
    throw ShapeError("a linear layer with " + std::to_string(weight.in_features()) + " inputs cannot take " +
                     to_string(in.shape()));
  if (!(out.shape() == in.shape().with_back(weight.out_features())) &&
      !(out.columns() == weight.out_features() && out.rows() == in.rows()))
    throw ShapeError("the result " + to_string(in.shape().with_back(weight.out_features())) +
                     " of a linear layer does not fit " + to_string(out.shape()));
  const host::Epilogue epilogue{weight.bias(), activate};
  host::matmul_transposed<Types>(in, weight.weight(), epilogue, out);
  watch::report<Matmul, Types>("linear", out, [&] {
    Tensor<f32> wide(out.shape());
    host::matmul_transposed<widened_to_f32<Types>>(in, weight.weight(), epilogue, wide.view());
    return wide;
  });
}

/// linear_into, with a result of its own.
template <PolicyType P, ScalarArray X>
Tensor<typename precisions<P, Matmul>::result> linear(const X& x, const LinearWeight<P>& weight,
                                                      Activate activate = Activate::none) {
  Tensor<typename precisions<P, Matmul>::result> out(x.shape().with_back(weight.out_features()));
  linear_into<P>(x, weight, out, activate);
  return out;
}

}  // namespace precast
