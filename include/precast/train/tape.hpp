// Tape: what a forward pass did, as steps that carry gradients back through it in the opposite order.
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

/// A result of an op, and the gradient of the loss by it once one has come: of the same shape and dtype.
template <ScalarDtype T>
struct Recorded {
  Tensor<T> value;
  std::optional<Tensor<T>> gradient;
};

/// What the steps of a tape share.
template <ScalarDtype T>
using Variable = std::shared_ptr<Recorded<T>>;

template <ScalarDtype T>
Variable<T> variable(Tensor<T> value) {
  return std::make_shared<Recorded<T>>(Recorded<T>{std::move(value), std::nullopt});
}

/// Adds what one reader of a value says of its gradient. The sum of two is rounded as the policy's pointwise
/// results are. Throws ShapeError where the shapes differ.
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

/// The steps of one forward pass. A step is a function that reads the gradient of a result, adds to those of
/// its inputs, and owns what it needs for that; it is destroyed as soon as it has run, and so is what nothing
/// else holds.
class Tape {
 public:
  template <class Step>
  void record(Step&& step) {
    steps_.emplace_back(std::forward<Step>(step));
  }
  /// Runs the steps, the last first. Afterwards the tape is empty, also where a step throws: those before it
  /// would carry on what has not come.
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
