// The rows of a table that an embedding and its gradient are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/tensor/indices.hpp>

namespace precast::detail {

/// Throws InputError that names the first id which is no row of a table of `rows`, and is not `ignored`.
inline void require_rows(std::string_view op, std::span<const std::int32_t> ids, std::int64_t rows,
                         std::optional<std::int32_t> ignored = {}) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != ignored && (ids[i] < 0 || ids[i] >= rows))
      throw InputError(std::string(op) + ": id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                       " is not one of the table's " + std::to_string(rows) + " rows, which count from 0");
}

/// Throws InputError for ids that are nowhere; what they are, the kernel sees.
template <IndexInteger Number, class Space>
void require_rows(std::string_view op, IndicesIn<Number, Space> ids, std::int64_t,
                  std::optional<std::int32_t> = {}) {
  if (ids.count < 0 || (ids.count > 0 && !ids.data))
    throw InputError(std::string(op) + ": " + std::to_string(ids.count) + " ids" +
                     (ids.data ? "" : " at nullptr") + ": give their number and where they lie");
}

}  // namespace precast::detail
