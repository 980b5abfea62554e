// Attention in training as precast bench attention measures it, on this unit's backend. trained_attention.cpp
// stamps its kernels.
#include <string>
#include <utility>

#include <boost/hana/unpack.hpp>
#include <timed_attention.hpp>
#include <timing/attention_step.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/arrived.hpp>
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
        q_(filled<Activation>(1)),
        k_(filled<Activation>(2)),
        v_(filled<Activation>(3)),
        dout_(filled<Gradient>(4)) {}

  void forward() override {
    out_ = Tensor<Activation>(shape_);
    log_sums_ = Tensor<f32>(Shape{shape_[0], 1, shape_[1]});
    attention_with_log_sums_into<P, WithoutBias>(q_, k_, v_, options_, out_.view(), log_sums_.view());
  }
  void backward() override {
    Tensor<Gradient> dq(shape_), dk(shape_), dv(shape_);
    attention_gradient_into<P, WithoutBias>(dout_, q_, k_, v_, out_, std::as_const(log_sums_).view(),
                                            options_, dq.view(), dk.view(), dv.view());
  }

 private:
  const AttentionOptions options_{.heads = 1};

  /// Numbers from -1 to 1 without a pattern.
  template <ScalarDtype T>
  Tensor<T> filled(std::uint32_t seed) const {
    HostTensor<T> tensor(shape_);
    host::parallel_for(tensor.rows(), [&](std::int64_t row) {
      auto value = seed * 2654435761u + static_cast<std::uint32_t>(row) * 40503u;
      for (T& to : tensor.view().row(row)) {
        value = value * 1664525u + 1013904223u;
        to = convert<T>(static_cast<f32>(value >> 8) * 0x1p-23f - 1.0f);
      }
    });
    return arrived(std::move(tensor));
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

}  // namespace

#if PRECAST_BACKEND_IS_CUDA
const std::vector<AttentionPolicy>& cuda_attention_policies() {
#else
const std::vector<AttentionPolicy>& attention_policies() {
#endif
  static const std::vector<AttentionPolicy> all =
      boost::hana::unpack(kernels::TimedPolicies(), []<class... P>(P...) {
        return std::vector<AttentionPolicy>{{std::string(dtype_traits<typename P::type::activation>::name),
                                             P::type::flash ? "flash" : "plain", &make<typename P::type>}...};
      });
  return all;
}

}  // namespace precast::timing
