// linear: x W^T + b and an activation, in one pass. LinearWeight holds W and b as the policy stores them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/backend/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/ops/bias.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/as_view.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The weight [out_features, in_features] and bias [out_features] of a linear layer, in the policy's storage.
template <PolicyType P>
class LinearWeight {
 public:
  using Storage = typename precisions<P, Matmul>::storage;
  static_assert(ScalarDtype<Storage>, "LinearWeight: Storage<T> needs a scalar dtype on the host backend.");

  /// How many rows `fill` is asked for at a time.
  static constexpr std::int64_t rows_per_fill = backend::widest_panel;

  /// Calls `fill(first_row, HostView<Storage> rows)` for one group of rows after another, which writes them;
  /// each is packed before the next, so that a weight that is being loaded is never in memory twice. `bias`
  /// may be empty. Throws ShapeError for sizes below 1, or a bias of another size.
  template <class Fill>
    requires std::is_invocable_v<Fill&, std::int64_t, HostView<Storage>> LinearWeight(
        std::int64_t out_features, std::int64_t in_features, Fill&& fill, std::span<const Storage> bias = {})
        : weight_(memory_for({out_features, in_features})), bias_(detail::bias_in_f32(bias, out_features)) {
      HostTensor<Storage> rows(Shape{std::min(rows_per_fill, out_features), in_features});
      for (std::int64_t first = 0; first < out_features; first += rows_per_fill) {
        const HostView<Storage> group =
            rows.view().rows_between(0, std::min(rows_per_fill, out_features - first));
        fill(first, group);
        weight_.pack(first, group);
      }
    }
    /// Copies a weight [out_features, in_features].
    explicit LinearWeight(HostView<const Storage> weight, std::span<const Storage> bias = {})
        : LinearWeight(
              weight.rows(), weight.columns(),
              [&](std::int64_t first, HostView<Storage> rows) {
                for (std::int64_t r = 0; r < rows.rows(); ++r)
                  std::ranges::copy(weight.row(first + r), rows.row(r).begin());
              },
              bias) {}

    std::int64_t out_features() const { return weight_.features(); }
    std::int64_t in_features() const { return weight_.columns(); }
    const backend::PackedWeight<Storage>& weight() const { return weight_; }
    /// In f32, exactly, in the backend's memory; empty where the layer has none.
    View<const f32> bias() const { return bias_; }
    std::int64_t bytes() const { return weight_.bytes() + bytes_for<f32>(bias_.elements()); }

   private:
    static backend::PackedWeight<Storage> memory_for(const Shape& shape) {
      if (shape.elements() == 0)
        throw ShapeError("a linear weight of shape " + to_string(shape) + " is empty");
      using Packed = backend::PackedWeight<Storage>;
      return Packed(shape[0], shape[1], Packed::template columns_at_once_for<precisions<P, Matmul>>());
    }

    backend::PackedWeight<Storage> weight_;
    Tensor<f32> bias_;
};

/// out = activate(x W^T + b), x [..., in_features], out [..., out_features]. Operands are rounded to the
/// policy's operand dtype, sums kept in its accumulate dtype, bias and activation computed in f32, results
/// rounded once. Rows of `out` may lie apart; `out` must not overlap x. Throws ShapeError where shapes do not
/// fit.
template <PolicyType P, ScalarArray X>
void linear_into(const X& x, const LinearWeight<P>& weight, View<typename precisions<P, Matmul>::result> out,
                 Activate activate = Activate::none) {
  const auto in = as_view(x);
  if (in.columns() != weight.in_features())
    throw ShapeError("linear: " + to_string(in.shape()) + " does not have the " +
                     std::to_string(weight.in_features()) + " columns that the weight takes");
  if (out.columns() != weight.out_features() || out.rows() != in.rows())
    detail::shapes_do_not_fit("linear", in.shape().with_back(weight.out_features()), out.shape(),
                              "are the result and where it should go");
  detail::run_op_into<Matmul, precisions<P, Matmul>>("linear", out, [&]<class Types>(Types, auto to) {
    backend::matmul_transposed<Types>(in, weight.weight(), Epilogue{weight.bias(), activate}, to);
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

}  // namespace PRECAST_BACKEND

}  // namespace precast
