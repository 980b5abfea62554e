// Dropout whose mask is a function of seed, offset and index: nothing is stored for the backward pass.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/dropout.hpp>
#include <precast/error.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

struct DropoutOptions {
  f32 probability = 0.1f;    ///< of a 0, in [0, 1); other values are multiplied by 1 / (1 - probability)
  std::uint64_t seed = 0;    ///< of the run
  std::uint64_t offset = 0;  ///< of this call: a different one for each layer and step
};

inline namespace PRECAST_BACKEND {

/// Drops values of x at random: value i, in row-major order, by word i mod 4 of Philox 4x32-10 (Salmon et
/// al. 2011) with counter i / 4 and `offset` under the key `seed`. The mask is the same on every backend,
/// for any strides and number of threads. The gradient of its input is dropout of dy with the same options.
/// x [...] -> [...]; `out` is x itself or apart from it. Throws ShapeError where shapes differ, and
/// InputError for a probability outside of [0, 1).
template <PolicyType P, ScalarArray X>
void dropout_into(const X& x, const DropoutOptions& options, ResultOf<P, Pointwise> out,
                  const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  detail::require_same_shape("dropout", x.shape(), result.shape());
  if (!(options.probability >= 0 && options.probability < 1))
    throw InputError("dropout: a probability of " + std::to_string(options.probability) +
                     " is not at least 0 and below 1");
  const bool in_place = detail::require_apart_or_same("dropout", result, as_view(x));
  detail::run_op_in_place<Pointwise, precisions<P, Pointwise>>(
      in_place, "dropout", result, [&]<class Types>(Types, auto to) {
        backend::dropout<Types>(as_view(x), options.probability, options.seed, options.offset, to);
      });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto dropout(const X& x, const DropoutOptions& options, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(x.shape(), context,
                                        [&](auto out) { dropout_into<P>(x, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
