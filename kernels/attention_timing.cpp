// Attention in training as precast bench attention measures it. Kernels of gradients are no units of their
// own: language models, which call them too, have those of their policies.
#include <cstddef>
#include <utility>

#include <timing/attention_step.hpp>

#include <precast/host/parallel.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::timing {

namespace {

template <PolicyType P>
class StepUnder final : public AttentionStep {
 public:
  using Activation = typename P::activation;
  using Gradient = typename training<P>::gradient;

  explicit StepUnder(const AttentionSizes& sizes)
      : shape_{sizes.batch, sizes.context, sizes.head_width},
        q_(shape_),
        k_(shape_),
        v_(shape_),
        dout_(shape_) {
    fill(q_, 1);
    fill(k_, 2);
    fill(v_, 3);
    fill(dout_, 4);
  }

  void forward() override {
    out_ = Tensor<Activation>(shape_);
    log_sums_ = Tensor<f32>(Shape{shape_[0], 1, shape_[1]});
    attention_with_log_sums_into<P, WithoutBias>(q_, k_, v_, options, out_.view(), log_sums_.view());
  }
  void backward() override {
    Tensor<Gradient> dq(shape_), dk(shape_), dv(shape_);
    attention_gradient_into<P, WithoutBias>(dout_, q_, k_, v_, out_, std::as_const(log_sums_).view(), options,
                                            dq.view(), dk.view(), dv.view());
  }

 private:
  static constexpr AttentionOptions options{.heads = 1};

  /// Numbers from -1 to 1 without a pattern.
  template <ScalarDtype T>
  static void fill(Tensor<T>& tensor, std::uint32_t seed) {
    host::parallel_for(tensor.rows(), [&](std::int64_t row) {
      auto value = seed * 2654435761u + static_cast<std::uint32_t>(row) * 40503u;
      for (T& to : tensor.view().row(row)) {
        value = value * 1664525u + 1013904223u;
        to = convert<T>(static_cast<f32>(value >> 8) * 0x1p-23f - 1.0f);
      }
    });
  }

  Shape shape_;
  Tensor<Activation> q_, k_, v_, out_;
  Tensor<Gradient> dout_;
  Tensor<f32> log_sums_;
};

template <PolicyType P>
std::unique_ptr<AttentionStep> make(const AttentionSizes& sizes) {
  return std::make_unique<StepUnder<P>>(sizes);
}

template <PathDtype T>
void add(std::vector<AttentionPolicy>& all, const char* name) {
  if constexpr (compiled_preset == "all" && precision_compiled(precision_of<T>)) {
    all.push_back({name, "plain", &make<Policy<Storage<T>>>});
    all.push_back({name, "flash", &make<Policy<Storage<T>, Flash>>});
  }
}

}  // namespace

const std::vector<AttentionPolicy>& attention_policies() {
  static const std::vector<AttentionPolicy> all = [] {
    std::vector<AttentionPolicy> list;
    add<f32>(list, "f32");
    add<bf16>(list, "bf16");
    return list;
  }();
  return all;
}

}  // namespace precast::timing
