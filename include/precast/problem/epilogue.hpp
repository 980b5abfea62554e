// Epilogue: what a product does to its sums before it stores them.
#pragma once

#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>

namespace precast {

/// What happens to a sum of products before it is stored: a bias in f32, exactly as the weight's storage has
/// it (empty: none), then an activation.
struct Epilogue {
  std::span<const f32> bias;
  Activate activate = Activate::none;
};

}  // namespace precast
