// conv2d: convolution of images [batch, height, width, channels], with bias and activation, in one pass.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/conv.hpp>
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

/// The stride, the zero padding of each side in pixels, and the activation that follows.
struct ConvOptions {
  std::int64_t stride = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
  std::int64_t pad_bottom = 0;
  std::int64_t pad_right = 0;
  ActivationFunction activation = ActivationFunction::none;
};

inline namespace PRECAST_BACKEND {

/// The weight of a convolution as the policy stores it, and its bias. Files store an output channel as
/// [in_channels, height, width], this class as [height, width, in_channels], the order of NHWC pixels.
template <PolicyType P>
class ConvWeight : public detail::WeightAndBias<precisions<P, Conv>> {
  using Base = detail::WeightAndBias<precisions<P, Conv>>;

 public:
  using typename Base::BiasStorage, typename Base::HostBias, typename Base::OwnBias, typename Base::Storage,
      typename Base::Types;

  /// Calls `fill(first_row, HostStoredView<Storage> rows)` for one group of output channels after another.
  /// A row of scalars is [in_channels, kernel_height, kernel_width]; one of blocks, whose values cannot be
  /// permuted, is [kernel_height, kernel_width, in_channels]. `bias` may be empty. Throws ShapeError for
  /// sizes below 1, or a bias of another size.
  template <RowFill<Storage> Fill>
  ConvWeight(std::int64_t out_channels, std::int64_t in_channels, std::int64_t kernel_height,
             std::int64_t kernel_width, Fill&& fill, const HostBias& bias = {})
      : ConvWeight(std::type_identity<Storage>{}, {out_channels, kernel_height, kernel_width, in_channels},
                   fill, bias) {}
  /// The same weight held in the narrower dtype of its file, whose values Storage represents exactly.
  /// Products widen them: the same result bits, in less memory.
  template <ScalarDtype Held, RowFill<Held> Fill>
    requires backend::holds_scalars_of_files<Storage, Held>
  static ConvWeight in_scalars(std::int64_t out_channels, std::int64_t in_channels,
                               std::int64_t kernel_height, std::int64_t kernel_width, Fill&& fill,
                               const HostBias& bias = {}) {
    return ConvWeight(std::type_identity<Held>{}, {out_channels, kernel_height, kernel_width, in_channels},
                      fill, bias);
  }
  /// Copies a weight [out_channels, in_channels, kernel_height, kernel_width].
  explicit ConvWeight(HostStoredView<const Storage> weight,
                      const HostBias& bias = {}) requires ScalarDtype<Storage>
      : ConvWeight(
            four(weight.shape())[0], weight.shape()[1], weight.shape()[2], weight.shape()[3],
            [&](std::int64_t first, HostView<Storage> rows) {
              const auto from = weight.values().subspan(static_cast<std::size_t>(first * rows.columns()),
                                                        static_cast<std::size_t>(rows.elements()));
              std::ranges::copy(from, rows.data());
            },
            bias) {}

  /// A weight [out_channels, kernel_height, kernel_width, in_channels] (channels_last in PyTorch) and a
  /// bias that are already in this backend's memory, held as by LinearWeight::borrowed. Throws ShapeError
  /// as the constructors do, and where the weight is not contiguous.
  static ConvWeight borrowed(const PendingView<StoredView<const Storage>>& weight,
                             const OwnBias& bias = {}) requires ScalarDtype<Storage> {
    const Shape& shape = four(weight.shape());
    const PendingView<StoredView<const Storage>> matrix{weight.place().reshaped(checked(shape)),
                                                        weight.upload()};
    const Shape kernel{shape[1], shape[2], shape[3]};
    return {Base::Packed::template borrowed<Types>(matrix), bias, kernel};
  }

  /// Do not compile (static_assert): a weight of another policy, and one in device memory (see borrowed()).
  template <PolicyType Other>
    requires(!std::same_as<Other, P>)
  ConvWeight(const ConvWeight<Other>&)  // NOLINT(google-explicit-constructor)
      : Base(Base::template of_another_policy<Other>()) {}
  template <detail::WeightOnDevice Weight, class... Bias>
  explicit ConvWeight(const Weight&, const Bias&...) : Base(Base::template of_a_device<Weight>()) {}

  // The matrix is [out_channels, kernel_height * kernel_width * in_channels].
  std::int64_t out_channels() const { return this->weight().features(); }
  std::int64_t in_channels() const { return kernel_[2]; }
  std::int64_t kernel_height() const { return kernel_[0]; }
  std::int64_t kernel_width() const { return kernel_[1]; }
  /// [kernel_height, kernel_width, in_channels].
  const Shape& kernel() const { return kernel_; }

 private:
  ConvWeight(typename Base::Packed weight, const OwnBias& bias, const Shape& kernel)
      : Base(std::move(weight), bias), kernel_(kernel) {}
  /// Of a shape as it lies here.
  template <Dtype Held, class Fill>
  ConvWeight(std::type_identity<Held>, const Shape& shape, Fill& fill, const HostBias& bias)
      : Base(packed<Held>(checked(shape), fill, shape[1] * shape[2]), bias),
        kernel_{shape[1], shape[2], shape[3]} {}
  template <Dtype Held, class Fill>
  static typename Base::Packed packed(const Shape& shape, Fill& fill, std::int64_t taps) {
    if constexpr (BlockDtype<Held>)
      return Base::Packed::template filled<Types>(shape, fill);
    else if constexpr (std::is_same_v<Held, Storage>)
      return Base::Packed::template filled<Types>(shape, pixels_of<Held>(fill, taps));
    else
      return Base::Packed::template filled<Types, Held>(shape, pixels_of<Held>(fill, taps));
  }
  template <ScalarDtype Held, class Fill>
  static auto pixels_of(Fill& fill, std::int64_t taps) {
    return [&fill, taps](std::int64_t first, HostView<Held> rows) { fill_pixels(fill, first, rows, taps); };
  }
  static const Shape& four(const Shape& shape) {
    if (shape.rank() != 4)
      throw ShapeError("a convolution's weight has four dimensions, not " + to_string(shape));
    return shape;
  }
  static Shape checked(const Shape& shape) {
    if (shape.elements() == 0)
      throw ShapeError("a convolution's weight of shape " + to_string(shape) + " is empty");
    return {shape[0], shape[1] * shape[2] * shape[3]};
  }
  /// Fills rows in the file's order, and writes them in the order of NHWC pixels.
  template <class Fill, class T>
  static void fill_pixels(Fill& fill, std::int64_t first, ViewIn<T, HostSpace> pixels, std::int64_t taps) {
    const HostTensor<T> rows = [&] {
      HostTensor<T> filled(pixels.shape());
      fill(first, filled.view());
      return filled;
    }();
    const std::int64_t columns = pixels.columns(), channels = columns / taps;
    for (std::int64_t r = 0; r < pixels.rows() && !DryRun::active(); ++r)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < channels; ++c)
          pixels.data()[r * columns + tap * channels + c] = rows.data()[r * columns + c * taps + tap];
  }

  Shape kernel_;
};

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// The sizes for images x and kernels [kernel_height, kernel_width, in_channels]; may throw ShapeError.
inline ConvSizes conv_sizes(const Shape& x, const Shape& weight, const ConvOptions& options) {
  const std::int64_t kernel_height = weight[0], kernel_width = weight[1], in_channels = weight[2];
  if (x.rank() != 4 || x[3] != in_channels)
    throw ShapeError("conv2d: " + to_string(x) + " is not [batch, height, width, " +
                     std::to_string(in_channels) + "]");
  const std::int64_t least_padding =
      std::min({options.pad_top, options.pad_left, options.pad_bottom, options.pad_right});
  if (options.stride < 1 || least_padding < 0)
    throw ShapeError("conv2d: a stride of " + std::to_string(options.stride) + " or a padding of " +
                     std::to_string(least_padding) + ": a stride is 1 or more, and a padding 0 or more");
  if (std::max({x[1], x[2], options.pad_top, options.pad_left, options.pad_bottom, options.pad_right}) >
      Shape::max_elements)
    throw ShapeError("conv2d: " + to_string(x) + " with a padding of " + std::to_string(options.pad_top) +
                     ", " + std::to_string(options.pad_left) + ", " + std::to_string(options.pad_bottom) +
                     " and " + std::to_string(options.pad_right) + " has a size that no tensor can have");
  const std::int64_t height = x[1] + options.pad_top + options.pad_bottom;
  const std::int64_t width = x[2] + options.pad_left + options.pad_right;
  if (height < kernel_height || width < kernel_width)
    throw ShapeError("conv2d: a kernel of " + std::to_string(kernel_height) + " x " +
                     std::to_string(kernel_width) + " does not fit into " + to_string(x) + ", padded to " +
                     std::to_string(height) + " x " + std::to_string(width));
  return {.batch = x[0],
          .height = x[1],
          .width = x[2],
          .channels = x[3],
          .kernel_height = kernel_height,
          .kernel_width = kernel_width,
          .stride = options.stride,
          .pad_top = options.pad_top,
          .pad_left = options.pad_left,
          .out_height = (height - kernel_height) / options.stride + 1,
          .out_width = (width - kernel_width) / options.stride + 1};
}

/// The shape of the result: [batch, out_height, out_width, out_channels].
inline Shape conv_result(const ConvSizes& sizes, std::int64_t out_channels) {
  return {sizes.batch, sizes.out_height, sizes.out_width, out_channels};
}

template <class Row, class X>
void conv2d_of_sizes(X x, const WeightAndBias<Row>& weight, const ConvSizes& sizes,
                     ActivationFunction activation, View<typename Row::result> out) {
  run_op_into<Conv, Row>("conv2d", out, [&]<class Types>(Types, auto to) {
    backend::conv<Types>(x, weight.weight(), sizes, weight.epilogue(activation), to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// x [batch, height, width, in_channels] -> activation(x * W + b) [batch, out_height, out_width,
/// out_channels], where out_height = (height + pad_top + pad_bottom - kernel_height) / stride + 1. Operands
/// are rounded to the policy's operand dtype, sums kept in its accumulate dtype, bias and activation
/// computed in f32, results rounded once. Throws ShapeError where shapes do not fit, or `out` overlaps x or
/// a borrowed weight.
template <PolicyType P, ScalarArray X>
void conv2d_into(const X& x, const ConvWeight<P>& weight, const ConvOptions& options, ResultOf<P, Conv> out,
                 const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto in = as_view(x);
  const ConvSizes sizes = detail::conv_sizes(in.shape(), weight.kernel(), options);
  detail::require_same_shape("conv2d", detail::conv_result(sizes, weight.out_channels()), result.shape());
  detail::require_apart("conv2d", result, in);
  detail::require_apart_from_weight("conv2d", result, weight.weight());
  detail::conv2d_of_sizes<precisions<P, Conv>>(in, weight, sizes, options.activation, result);
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto conv2d(const X& x, const ConvWeight<P>& weight, const ConvOptions& options = {},
            const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto in = as_view(x);
  const ConvSizes sizes = detail::conv_sizes(in.shape(), weight.kernel(), options);
  Tensor<typename precisions<P, Conv>::result> out(detail::conv_result(sizes, weight.out_channels()));
  detail::conv2d_of_sizes<precisions<P, Conv>>(in, weight, sizes, options.activation, out.view());
  return out;
}

/// Do not compile (static_assert): a weight that is a plain tensor or view, with or without a bias.
template <PolicyType P, ScalarArray W>
Tensor<typename precisions<P, Conv>::result> conv2d(detail::AnyArgument, const W&, const ConvOptions& = {},
                                                    const Context& = current_context()) {
  detail::refuse_plain_weight<W>();
  return {};
}
template <PolicyType P, ScalarArray W>
auto conv2d(detail::AnyArgument x, const W& weight, detail::AnyArgument, const ConvOptions& = {},
            const Context& = current_context()) {
  return conv2d<P>(x, weight);
}
template <PolicyType, ScalarArray W>
void conv2d_into(detail::AnyArgument, const W&, const ConvOptions&, detail::AnyArgument,
                 const Context& = current_context()) {
  detail::refuse_plain_weight<W>();
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
