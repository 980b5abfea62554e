// How many parameters tensors hold.
#pragma once

#include <support/random_model.hpp>

namespace precast::bench {

inline double parameters_of(const testing::TensorShapes& shapes) {
  double sum = 0;
  for (const auto& [name, shape] : shapes) sum += static_cast<double>(shape.elements());
  return sum;
}

}  // namespace precast::bench
