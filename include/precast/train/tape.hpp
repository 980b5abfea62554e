// Tape: the record of a forward pass, as steps that propagate gradients back through it in reverse order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::train {

inline namespace PRECAST_BACKEND {

/// A result of an op and, once known, the gradient of the loss by it, of the same shape and dtype.
template <ScalarDtype T>
struct Recorded {
  Tensor<T> value;
  std::optional<Tensor<T>> gradient;
};

/// A recorded result, which the steps of a tape share.
template <ScalarDtype T>
using Variable = std::shared_ptr<Recorded<T>>;

template <ScalarDtype T>
Variable<T> variable(Tensor<T> value) {
  return std::make_shared<Recorded<T>>(Recorded<T>{std::move(value), std::nullopt});
}

/// Adds the contribution of one consumer of a value to its gradient. The sum of two is rounded as the
/// policy's pointwise results are. Throws ShapeError where the shapes differ.
template <PolicyType P, ScalarDtype T>
void add_gradient(const Variable<T>& to, Tensor<T> gradient) {
  if (gradient.shape() != to->value.shape())
    throw ShapeError("a gradient " + to_string(gradient.shape()) + " is not of its value's shape " +
                     to_string(to->value.shape()));
  if (to->gradient)
    to->gradient = add<P>(*to->gradient, gradient);
  else
    to->gradient = std::move(gradient);
}

/// The steps of one forward pass. A step is a function that reads the gradient of a result, adds to those
/// of its inputs, and owns what it needs for that. It is destroyed as soon as it has run, and with it what
/// nothing else owns.
class Tape {
 public:
  template <class Step>
  void record(Step&& step) {
    steps_.emplace_back(std::forward<Step>(step));
  }
  /// Runs the steps, the last first. Afterwards the tape is empty, even where a step throws: the steps
  /// before that one would propagate gradients that are missing.
  void backward() {
    backward([] {});
  }
  /// The same, and calls `after_step` after each.
  template <class AfterStep>
  void backward(AfterStep&& after_step) {
    try {
      while (!steps_.empty()) {
        {
          const std::function<void()> step = std::move(steps_.back());
          steps_.pop_back();
          step();
        }
        after_step();
      }
    } catch (...) {
      steps_.clear();
      throw;
    }
  }

 private:
  std::vector<std::function<void()>> steps_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::train
