// Every op of the golden file on this translation unit's backend against float64: no more than twice as far
// off as PyTorch's own op in the same dtype.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <op_cases/policy_lists.hpp>
#include <support/arrays.hpp>
#include <support/golden_case.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/softmax.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Moves the axis `from` of four to the place `to`.
template <class T>
std::vector<T> moved(const std::vector<T>& values, const Shape& shape, std::size_t from, std::size_t to) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), from);
  std::array<std::int64_t, 4> strides{}, sizes{};
  std::int64_t stride = 1;
  std::array<std::int64_t, 4> old_strides{};
  for (std::size_t axis = 4; axis-- > 0; stride *= shape[axis]) old_strides[axis] = stride;
  for (std::size_t i = 0; i < 4; ++i) {
    strides[i] = old_strides[order[i]];
    sizes[i] = shape[order[i]];
  }
  std::vector<T> result;
  for (std::int64_t a = 0; a < sizes[0]; ++a)
    for (std::int64_t b = 0; b < sizes[1]; ++b)
      for (std::int64_t c = 0; c < sizes[2]; ++c)
        for (std::int64_t d = 0; d < sizes[3]; ++d)
          result.push_back(values[static_cast<std::size_t>(a * strides[0] + b * strides[1] + c * strides[2] +
                                                           d * strides[3])]);
  return result;
}

/// The golden file's case under a policy whose dtypes are all T.
template <class P>
class OpCase : public GoldenCase<typename P::storage> {
 public:
  using T = typename P::storage;
  using GoldenCase<T>::GoldenCase;

  /// The op's result in the golden file's order of axes.
  std::vector<double> run() const {
    const std::string op = options_["op"];
    if (op == "linear")
      return wide(linear<P>(input("x"), LinearWeight<P>(rounded("weight"), rounded("bias").values())));
    if (op == "layer_norm") {
      const bool affine = golden_.has(name_ + ".weight");
      return wide(affine ? layer_norm<P>(input("x"), input("weight"), input("bias"), {.eps = options_["eps"]})
                         : layer_norm<P>(input("x"), {.eps = options_["eps"]}));
    }
    if (op == "rms_norm") return wide(rms_norm<P>(input("x"), input("weight"), {.eps = options_["eps"]}));
    if (op == "softmax") return wide(softmax<P>(input("x")));
    for (const ActivationFunction activation : {ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf,
                                                ActivationFunction::silu, ActivationFunction::quick_gelu})
      if (op == to_string(activation)) return wide(activate<P>(input("x"), activation));
    if (op == "attention") return attend();
    if (op == "sum") return wide(sum<P>(input("x"), over()));
    if (op == "mean") return wide(mean<P>(input("x"), over()));
    if (op == "mean_squared_error") return wide(mean_squared_error<P>(input("x"), input("y")));
    if (op == "cross_entropy")
      return wide(cross_entropy<P>(input("x"), options_["targets"].template get<std::vector<std::int64_t>>(),
                                   {.ignore_index = options_["ignore_index"]}));
    if (op == "upsample") return channels_first(upsample_nearest<P>(picture(), options_["factor"]));
    if (op == "group_norm")
      return channels_first(group_norm<P>(picture(), input("weight"), input("bias"),
                                          {.groups = options_["groups"], .eps = options_["eps"]}));
    REQUIRE(op == "conv2d");
    const auto padding = options_["padding"].template get<std::vector<std::int64_t>>();
    const ConvOptions options{options_["stride"], padding[0], padding[1], padding[2], padding[3]};
    return channels_first(
        conv2d<P>(picture(), ConvWeight<P>(rounded("weight"), rounded("bias").values()), options));
  }

  double error() const { return this->error_of(run(), "exact"); }
  double pytorchs_error() const { return this->pytorchs_errors(); }

  /// Terms of the sum behind a result of linear, conv2d, a reduction or a loss; 1 for other ops.
  double terms() const {
    const std::string op = options_["op"];
    if (op == "sum" || op == "mean" || op == "mean_squared_error" || op == "cross_entropy") {
      const Shape& x = golden_.shape(name_ + ".x");
      return static_cast<double>(over() == Over::last_axis ? x.back() : x.elements());
    }
    if (op != "linear" && op != "conv2d") return 1;
    const Shape& weight = golden_.shape(name_ + ".weight");
    return static_cast<double>(weight.elements() / weight[0]);
  }

 private:
  using GoldenCase<T>::golden_, GoldenCase<T>::name_, GoldenCase<T>::options_, GoldenCase<T>::rounded;

  Tensor<T> input(const std::string& name) const { return sent(rounded(name)); }

  /// An input with the axis `from` at the place `to`, under another shape of as many values.
  Tensor<T> turned(const std::string& name, std::size_t from, std::size_t to, const Shape& shape) const {
    const HostTensor<T> x = rounded(name);
    return {shape, moved(std::vector<T>(x.values().begin(), x.values().end()), x.shape(), from, to)};
  }
  Over over() const { return options_.value("rows", false) ? Over::last_axis : Over::all; }
  Tensor<T> picture() const {
    const Shape& s = golden_.shape(name_ + ".x");
    return turned("x", 1, 3, {s[0], s[2], s[3], s[1]});
  }
  template <class R>
  static std::vector<double> channels_first(const Tensor<R>& x) {
    return moved(wide(x), x.shape(), 3, 1);
  }

  std::vector<double> attend() const {
    const auto heads_last = [&](const std::string& name) {
      const Shape& s = golden_.shape(name_ + "." + name);
      return turned(name, 1, 2, {s[0], s[2], s[1] * s[3]});
    };
    AttentionOptions options;
    const Shape shape = golden_.shape(name_ + ".q");
    options.heads = shape[1];
    options.causal = options_["causal"];
    const auto result = attention<P>(heads_last("q"), heads_last("k"), heads_last("v"), options);
    return moved(wide(result), Shape{shape[0], shape[2], shape[1], shape[3]}, 2, 1);
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("ops are no more than twice as far from float64 as PyTorch's", "[golden]",
                        PytorchPolicies) {
  const Golden golden("ops");
  const nlohmann::json cases = golden.fact("cases");
  REQUIRE(cases.size() >= 34);
  for (const auto& [name, options] : cases.items()) {
    const OpCase<TestType> one(golden, name, options);
    const double ours = one.error(), theirs = one.pytorchs_error();
    INFO(name << ": " << ours << ", PyTorch's " << theirs);
    // On top, for the cases where theirs happen to be nearly exact, f32 roundings: they add up in any order
    // to no more than sqrt(n) for sums of n random terms (Higham and Mary 2019).
    CHECK(ours <= 2 * theirs + unit<f32> * std::sqrt(one.terms()));
  }
}
