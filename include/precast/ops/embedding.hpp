// Embedding: looks up rows of a table by index.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>

#include <precast/backend.hpp>
#include <precast/backend/embedding.hpp>
#include <precast/error.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/ops/table_rows.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/stored_matrix.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements embedding_into on a view of the table and `count` ids.
template <class Row, class T, class Ids>
void embedding_of_view_into(T table, const Ids& given, std::int64_t count, View<typename Row::result> out) {
  if (table.shape().rank() != 2)
    throw ShapeError("embedding: the table " + to_string(table.shape()) + " is not [V, C]");
  const auto ids = rows_of_table("embedding", given, table.shape()[0]);
  require_same_shape("embedding", Shape{count, table.shape()[1]}, out.shape());
  require_apart("embedding", out, table);
  if constexpr (UncheckedIndices<Ids>) require_apart("embedding", out, ids);
  run_op_into<Pointwise, Row>(
      "embedding", out, [&](auto types, auto to) { backend::embedding<decltype(types)>(table, ids, to); });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Gathers rows of a table: table [V, C] of scalars or blocks, n ids -> [n, C] in Activation. `out` must
/// not overlap the table. These ids are a host array of std::int32_t or std::int64_t, whatever the
/// backend. Throws ShapeError where the table is not a matrix, and InputError for an id that is not in
/// [0, V).
template <PolicyType P, StoredArray T, HostIndices Ids>
void embedding_into(const T& table, const Ids& ids, ResultOf<P, Pointwise> out,
                    const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::embedding_of_view_into<precisions<P, Pointwise>>(as_stored_view(table), ids,
                                                           std::ssize(std::span(ids)), out.view());
}

/// The same for ids in this backend's memory, such as tokens that a kernel has chosen, or that a captured
/// graph reads anew at each replay. They are not checked beforehand: an id outside of [0, V) makes its row
/// NaN. `out` must not overlap the ids either. Throws ShapeError as above, and InputError for ids at
/// nullptr.
template <PolicyType P, StoredArray T, IndexInteger Number>
void embedding_into(const T& table, Indices<Number> ids, ResultOf<P, Pointwise> out,
                    const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::embedding_of_view_into<precisions<P, Pointwise>>(as_stored_view(table), ids, ids.count, out.view());
}

/// Both into a new tensor.
template <PolicyType P, StoredArray T, HostIndices Ids>
auto embedding(const T& table, const Ids& ids, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(Shape{std::ssize(std::span(ids)), table.shape().back()}, context,
                                        [&](auto out) { embedding_into<P>(table, ids, out); });
}

template <PolicyType P, StoredArray T, IndexInteger Number>
auto embedding(const T& table, Indices<Number> ids, const Context& context = current_context()) {
  return detail::into_new<P, Pointwise>(Shape{ids.count, table.shape().back()}, context,
                                        [&](auto out) { embedding_into<P>(table, ids, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
