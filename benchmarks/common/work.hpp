// What a part of a model must do at least, counted.
#pragma once

#include <cstdint>
#include <vector>

namespace precast::bench {

/// x [rows, in] times a weight [out, in].
struct LinearShape {
  std::int64_t rows, in, out;
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  }
};
using LinearShapes = std::vector<LinearShape>;

inline double flops_of(const LinearShapes& layers) {
  double sum = 0;
  for (const LinearShape& layer : layers) sum += layer.flops();
  return sum;
}

/// What a part of a model must do at least.
struct Work {
  LinearShapes layers;        ///< linear layers on tokens, which multiply nearly all
  double other_products = 0;  ///< operations of attention's products and convolutions
  double parameters = 0;
  double flops() const { return flops_of(layers) + other_products; }
};

}  // namespace precast::bench
