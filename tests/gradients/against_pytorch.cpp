// Gradients of the golden file on this translation unit's backend against float64: no more than twice as far
// off as PyTorch's own in the same dtype.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <support/arrays.hpp>
#include <support/golden_case.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention_gradient.hpp>
#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/ops/matmul_gradient.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/pointwise_gradient.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/rotary_gradient.hpp>
#include <precast/ops/training_linear.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// The golden file's case under a policy whose dtypes are all T, parameters' gradients apart.
template <class P>
class GradientCase : public GoldenCase<typename P::storage> {
 public:
  using T = typename P::storage;
  using Results = std::map<std::string, std::vector<double>>;
  using GoldenCase<T>::GoldenCase;

  /// The gradient of each input.
  Results run() const {
    const std::string op = options_["op"];
    if (op == "linear") return linear();
    if (op == "layer_norm") return layer_norm();
    if (op == "rms_norm") return rms_norm();
    if (op == "attention") return attention();
    if (op == "swiglu") {
      auto up = like("x"), gate = like("gate");
      gated_product_gradient_into<P>(input("dy"), input("gate"), input("x"), ActivationFunction::silu, gate,
                                     up);
      return {{"x", wide(up)}, {"gate", wide(gate)}};
    }
    if (op == "embedding") {
      auto table = sums("weight");
      embedding_gradient_into<P>(input("dy"), options_["ids"].template get<std::vector<std::int32_t>>(),
                                 GradientOptions{}, table);
      return {{"weight", wide(table)}};
    }
    if (op == "cross_entropy") {
      auto logits = like("x");
      cross_entropy_gradient_into<P>(1.0f, input("x"),
                                     options_["targets"].template get<std::vector<std::int64_t>>(),
                                     {.ignore_index = options_["ignore_index"]}, logits);
      return {{"x", wide(logits)}};
    }
    if (op == "matmul") {
      auto a = like("a"), b = like("b");
      matmul_left_gradient_into<P>(input("dy"), input("b"), a);
      matmul_right_gradient_into<P>(input("a"), input("dy"), b);
      return {{"a", wide(a)}, {"b", wide(b)}};
    }
    if (op == "rotary" || op == "rotary_of_neighbours") {
      auto x = like("x");
      const std::int64_t heads = options_["heads"];
      const Shape& shape = golden_.shape(name_ + ".x");
      std::vector<f32> positions;
      for (std::int64_t i = 0; i < shape[1]; ++i) positions.push_back(static_cast<f32>(i));
      const std::vector<std::int64_t> axes{shape[2] / heads};
      const double theta = options_["theta"];
      if (op == "rotary")
        rotary_gradient_into<P>(input("dy"), rotary_table_of_halves(axes[0], theta, positions), x);
      else
        rotary_gradient_into<P>(input("dy"), rotary_table(axes, theta, positions), x);
      return {{"x", wide(x)}};
    }
    for (const ActivationFunction activation :
         {ActivationFunction::gelu_tanh, ActivationFunction::gelu_erf, ActivationFunction::silu,
          ActivationFunction::quick_gelu, ActivationFunction::relu})
      if (op == to_string(activation)) {
        auto x = like("x");
        activate_gradient_into<P>(input("dy"), input("x"), activation, x);
        return {{"x", wide(x)}};
      }
    FAIL("the golden file has an op that this test does not know: " << op);
    return {};
  }

  double error(const std::string& input, const std::vector<double>& got) const {
    return this->error_of(got, "d" + input);
  }
  double pytorchs_error(const std::string& input) const { return this->pytorchs_errors()[input]; }

 private:
  using GoldenCase<T>::golden_, GoldenCase<T>::name_, GoldenCase<T>::options_, GoldenCase<T>::rounded;

  HostTensor<f32> widened(const std::string& name) const {
    const HostTensor<T> narrow = rounded(name);
    HostTensor<f32> result(narrow.shape());
    for (std::int64_t i = 0; i < result.elements(); ++i) result.data()[i] = convert<f32>(narrow.data()[i]);
    return result;
  }
  Tensor<T> input(const std::string& name) const { return sent(rounded(name)); }
  Tensor<T> like(const std::string& name) const { return Tensor<T>(golden_.shape(name_ + "." + name)); }
  Tensor<f32> sums(const std::string& name) const { return Tensor<f32>(golden_.shape(name_ + "." + name)); }

  Results linear() const {
    auto x = like("x");
    auto weight = sums("weight"), bias = sums("bias");
    linear_input_gradient_into<P>(input("dy"), input("weight"), x);
    linear_weight_gradient_into<P>(input("dy"), input("x"), GradientOptions{}, weight);
    bias_gradient_into<P>(input("dy"), GradientOptions{}, bias);
    return {{"x", wide(x)}, {"weight", wide(weight)}, {"bias", wide(bias)}};
  }
  Results layer_norm() const {
    auto x = like("x");
    auto weight = sums("weight"), bias = sums("bias");
    layer_norm_gradient_into<P>(input("dy"), input("x"), input("weight"),
                                NormGradientOptions{.eps = options_["eps"]}, x, weight, bias);
    return {{"x", wide(x)}, {"weight", wide(weight)}, {"bias", wide(bias)}};
  }
  Results rms_norm() const {
    auto x = like("x");
    auto weight = sums("weight");
    rms_norm_gradient_into<P>(input("dy"), input("x"), input("weight"),
                              NormGradientOptions{.eps = options_["eps"]}, x, weight);
    return {{"x", wide(x)}, {"weight", wide(weight)}};
  }
  Results attention() const {
    AttentionOptions options;
    options.heads = options_["heads"];
    options.heads_kv = options_["heads_kv"].template get<std::int64_t>();
    options.causal = options_["causal"];
    Tensor<f32> bias;
    const std::vector<std::string> inputs = options_["inputs"];
    if (std::count(inputs.begin(), inputs.end(), "bias") > 0)
      bias = sent(widened("bias")), options.bias = bias.view();
    const auto q = input("q"), k = input("k"), v = input("v");
    auto out = like("q"), dq = like("q"), dk = like("k"), dv = like("v");
    Tensor<f32> log_sums(Shape{q.shape()[0], options.heads, q.shape()[1]});
    attention_with_log_sums_into<P>(q, k, v, options, out, log_sums);
    attention_gradient_into<P>(input("dy"), q, k, v, out, log_sums, options, dq, dk, dv);
    return {{"q", wide(dq)}, {"k", wide(dk)}, {"v", wide(dv)}};
  }
};

/// PyTorch's attention keeps scores in f32: in a half precision, so do these.
using PytorchPolicies = std::tuple<F32, F32Flash, Bf16Flash, F16Flash>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("gradients are no more than twice as far from float64 as PyTorch's", "[golden]",
                        PytorchPolicies) {
  const Golden golden("gradients");
  const nlohmann::json cases = golden.fact("cases");
  REQUIRE(cases.size() >= 22);
  for (const auto& [name, options] : cases.items()) {
    const GradientCase<TestType> one(golden, name, options);
    for (const auto& [input, gradient] : one.run()) {
      const double ours = one.error(input, gradient), theirs = one.pytorchs_error(input);
      INFO(name << ", d" << input << ": " << ours << ", PyTorch's " << theirs);
      // On top, where theirs happens to be nearly exact, roundings of f32: a sum of at most 80 terms has no
      // more than sqrt(80) of them (Higham and Mary 2019).
      CHECK(ours <= 2 * theirs + unit<f32> * std::sqrt(80.0));
    }
  }
}
