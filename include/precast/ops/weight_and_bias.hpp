// WeightAndBias: what the weights of linear layers and convolutions have in common.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/error.hpp>
#include <precast/ops/bias.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// Whether a weight still has its values: false once it has been moved from.
class HoldsValues {
 public:
  HoldsValues() = default;
  HoldsValues(HoldsValues&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  HoldsValues& operator=(HoldsValues&& other) noexcept {
    held_ = std::exchange(other.held_, false);
    return *this;
  }
  ~HoldsValues() = default;

  explicit operator bool() const { return held_; }
  /// Throws Error where the weight has been moved from.
  void require() const {
    if (!held_) throw Error("this weight was moved from and has no values: use the one that it was moved to");
  }

 private:
  bool held_ = true;
};

/// Does not compile (static_assert): a weight that is a plain tensor or view.
template <ScalarArray W>
void refuse_plain_weight() {
  static_assert(!ScalarArray<W>,
                "Precast: linear and conv2d take their weight as a LinearWeight<P> or a ConvWeight<P>, which "
                "packs a tensor or view once: LinearWeight<P>(weight, bias), or "
                "LinearWeight<P>::borrowed(weight, bias) of a device's. A weight that is trained is read in "
                "place by linear_into of ops/training_linear.hpp.");
}

/// Any argument of a call that does not compile. Where an overload takes the argument itself, it is called.
struct AnyArgument {
  template <class T>
  AnyArgument(const T&) {}  // NOLINT(google-explicit-constructor)
};

/// Throws ShapeError where the result of an op overlaps a borrowed weight, which a device reads in place:
/// the op would overwrite it.
template <class Out, class Packed>
void require_apart_from_weight(std::string_view op, View<Out> out, const Packed& weight) {
  if constexpr (requires { weight.borrowed_rows(); }) require_apart(op, out, weight.borrowed_rows());
}

/// A weight in device memory, which the host cannot copy from.
template <class Weight>
concept WeightOnDevice = !backend::Memory::on_host && requires {
  typename Weight::value_type;
  requires std::same_as<typename Weight::space, DeviceSpace>;
};

/// A matrix packed for products with `Row`, a row of the op table, and the bias of its output features.
template <class Row>
class WeightAndBias {
 public:
  using Types = Row;
  using Storage = typename Types::storage;
  using BiasStorage = typename Types::vector_storage;
  /// A bias in host memory, and one in this backend's memory.
  using HostBias = BiasValues<BiasStorage, HostSpace>;
  using OwnBias = BiasValues<BiasStorage, BackendSpace>;

  /// The packed weight. Throws Error where this has been moved from.
  const backend::PackedWeight<Storage>& weight() const {
    held_.require();
    return weight_;
  }
  /// The bias in f32, exactly, in the backend's memory; empty where the layer has none.
  View<const f32> bias() const { return bias_.in_f32(); }
  /// The epilogue of a product: the bias in every dtype that is held, and an activation.
  Epilogue epilogue(ActivationFunction activate) const { return bias_.epilogue(activate); }
  std::int64_t bytes() const { return held_ ? weight_.bytes() + bias_.bytes() : 0; }

 protected:
  using Packed = backend::PackedWeight<Storage>;

  /// Throws ShapeError where the bias is not empty and has not one value for each feature.
  template <class Space>
  WeightAndBias(Packed weight, const BiasValues<BiasStorage, Space>& bias)
      : weight_(std::move(weight)), bias_(bias.view(), weight_.features()) {}

  /// Does not compile (static_assert): a weight of another policy.
  template <class Other>
  static WeightAndBias of_another_policy() {
    static_assert(std::is_void_v<Other>,
                  "Precast: this weight is held for another policy than the op's: give both the same policy");
    __builtin_unreachable();
  }
  /// Does not compile (static_assert): a weight in device memory where one in host memory is copied.
  template <class Weight>
  static WeightAndBias of_a_device() {
    static_assert(
        std::is_void_v<Weight>,
        "Precast: this constructor copies a weight of the host's. One that is on the device already "
        "is held without a copy by borrowed(weight, bias).");
    __builtin_unreachable();
  }

 private:
  Packed weight_;
  Bias<Types> bias_;
  HoldsValues held_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
