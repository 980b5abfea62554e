// The gradient of an embedding's table.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/embedding_gradient.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/ops/table_rows.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/embedding_without_gradient.hpp>
#include <precast/tensor/indices.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements embedding_gradient_into on a view and `count` ids.
template <PolicyType P, class DY, class Ids>
void embedding_gradient_of_view_into(DY dy, const Ids& given, std::int64_t count,
                                     const GradientOptions& options,
                                     View<typename training<P>::parameter_gradient> out) {
  // Rows of no columns cannot be counted.
  if (out.shape().rank() != 2 || dy.columns() != out.columns() || (dy.columns() > 0 && dy.rows() != count))
    shapes_do_not_fit("embedding_gradient", dy.shape(), out.shape(),
                      "are not [" + std::to_string(count) + ", C] and a table [V, C]");
  const auto ids = rows_of_table("embedding_gradient", given, out.shape()[0], embedding_without_gradient);
  if (out.elements() == 0) return;
  require_apart("embedding_gradient", out, dy);
  if constexpr (UncheckedIndices<Ids>) require_apart("embedding_gradient", out, ids);
  run_gradients_into<Reduction, parameter_gradient_precisions<P, Reduction>>(
      "embedding_gradient",
      [&]<class Types>(Types, auto to) { backend::embedding_gradient<Types>(dy, ids, options, to); }, out);
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// The gradient of the table of embedding(): row v of out [V, C] is the sum of the rows i of dy [n, C] with
/// ids[i] = v, in the order of i, so that its bits are always the same; zeros where no id is v. May be
/// added to what `out` holds. A row of dy whose id is `embedding_without_gradient` is left out. `out` must
/// not overlap dy. Throws ShapeError where shapes do not fit, and InputError for any other id outside of
/// [0, V).
template <PolicyType P, ScalarArray DY, HostIndices Ids>
void embedding_gradient_into(const DY& dy, const Ids& ids, const GradientOptions& options,
                             ParameterGradientOf<P> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::embedding_gradient_of_view_into<P>(as_view(dy), ids, std::ssize(std::span(ids)), options,
                                             out.view());
}

/// The same for ids in this backend's memory, which are not checked beforehand: a row of dy whose id is
/// outside of [0, V), or is `embedding_without_gradient`, is left out.
template <PolicyType P, ScalarArray DY, IndexInteger Number>
void embedding_gradient_into(const DY& dy, Indices<Number> ids, const GradientOptions& options,
                             ParameterGradientOf<P> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::embedding_gradient_of_view_into<P>(as_view(dy), ids, ids.count, options, out.view());
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
