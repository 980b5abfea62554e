// Epilogue: what a product does to its sums before it stores them.
#pragma once

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// What happens to a sum of products before it is stored: a bias in f32, exactly as the weight's storage has
/// it (empty: none), then an activation.
struct Epilogue {
  View<const f32> bias;
  Activate activate = Activate::none;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast
