// The cases of products of matrices.
#pragma once

#include <cstdint>

#include <precast/problem/activate.hpp>

namespace precast::testing {

/// x [rows, columns] times a weight [features, columns].
struct LinearCase {
  std::int64_t rows, columns, features;
  double scale = 1;  ///< of x
  ActivationFunction activate = ActivationFunction::none;

  constexpr std::int64_t multiplications() const { return rows * columns * features; }
};

inline constexpr LinearCase linear_cases[] = {
    // Nothing; one of all.
    {0, 4, 5},
    {1, 1, 1},
    // Few rows, to the last number that has kernels of its own, and one more; columns around their steps.
    {1, 600, 9},
    {1, 1031, 130},
    {1, 17, 65, 30},
    {2, 257, 5},
    {2, 64, 3, 1e-3},
    {3, 64, 17},
    {3, 530, 7},
    {4, 1031, 65},
    {5, 130, 3},
    {6, 31, 40},
    {7, 64, 5, 30},
    {8, 17, 33},
    {9, 1, 3},
    {10, 45, 100},
    // Columns around vectors of 4, 8 and 16 values, and around what a step multiplies.
    {17, 3, 8},
    {17, 4, 9},
    {17, 5, 7},
    {17, 7, 64},
    {17, 8, 64},
    {17, 9, 64},
    {17, 15, 8},
    {17, 16, 8},
    {17, 33, 8},
    {20, 63, 8},
    {20, 64, 8},
    {20, 65, 8},
    {20, 127, 8, 30},
    {20, 128, 8},
    {20, 129, 8},
    {20, 576, 8},
    {17, 1031, 65, 1e-3},
    {40, 2100, 2},
    // Rows and features around tiles.
    {9, 64, 65},
    {31, 40, 33},
    {33, 31, 40},
    {63, 40, 65},
    {64, 200, 70},
    {65, 72, 130},
    {70, 330, 65},
    {127, 17, 129},
    {128, 64, 64, 30},
    {129, 17, 127},
    {130, 40, 1},
    {129, 1031, 130},
    {300, 700, 200},
    {768, 130, 515},
    // Activations, of results near 0 and far from it.
    {2, 60, 70, 1, ActivationFunction::gelu_tanh},
    {2, 60, 70, 20, ActivationFunction::gelu_erf},
    {2, 60, 70, 1, ActivationFunction::quick_gelu},
    {2, 60, 70, 20, ActivationFunction::silu},
    {2, 60, 70, 1, ActivationFunction::relu},
    {20, 60, 70, 20, ActivationFunction::gelu_tanh},
    {20, 60, 70, 1, ActivationFunction::gelu_erf},
    {20, 60, 70, 20, ActivationFunction::quick_gelu},
    {20, 60, 70, 1, ActivationFunction::silu},
    {20, 60, 70, 20, ActivationFunction::relu},
};

}  // namespace precast::testing
