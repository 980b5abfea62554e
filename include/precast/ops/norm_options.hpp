// Options of norms and of their gradients, and checks of their parameters' shapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless `parameters` is [C], where C is the last size of x.
inline void require_one_per_column(std::string_view op, const Shape& x, const Shape& parameters) {
  if (x.rank() == 0 || parameters != Shape{x.back()})
    shapes_do_not_fit(op, x, parameters, "do not fit: one parameter for each value of the last dimension");
}

/// Throws ShapeError unless x is [B, H, W, C], where `groups` divides C.
inline void require_groups(std::string_view op, const Shape& x, std::int64_t groups) {
  if (x.rank() != 4) throw ShapeError(std::string(op) + ": " + to_string(x) + " is not [B, H, W, C]");
  if (groups < 1 || x.back() % groups != 0)
    throw ShapeError(std::string(op) + ": " + std::to_string(groups) +
                     " groups do not divide the channels of " + to_string(x) +
                     ": name in its options groups that do");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

struct NormOptions {
  double eps = 1e-5;  ///< added to the variance, or to the mean of squares
};

struct GroupNormOptions {
  std::int64_t groups = 0;  ///< of neighbouring channels; required
  double eps = 1e-5;        ///< added to the variance
  ActivationFunction activation = ActivationFunction::none;
};

}  // namespace precast
