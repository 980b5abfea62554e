// The row indices of an embedding and its gradient.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/error.hpp>
#include <precast/tensor/indices.hpp>

namespace precast::detail {

/// Checks ids and converts them for kernels. Throws InputError that names the first one that is neither in
/// [0, rows) nor `ignored`.
template <HostIndices Given>
std::vector<std::int32_t> rows_of_table(std::string_view op, const Given& given, std::int64_t rows,
                                        std::optional<std::int32_t> ignored = {}) {
  const std::span ids(given);
  const std::int64_t named = std::min<std::int64_t>(rows, std::int64_t{1} << 31);  // by a std::int32_t
  std::vector<std::int32_t> checked(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != ignored && (ids[i] < 0 || ids[i] >= named))
      throw InputError(std::string(op) + ": id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                       " is not one of the table's " + std::to_string(named) + " rows, which count from 0");
    checked[i] = static_cast<std::int32_t>(ids[i]);
  }
  return checked;
}

/// The same for ids that the kernel checks. Throws InputError for ids at nullptr or a negative count.
template <IndexInteger Number, class Space>
IndicesIn<Number, Space> rows_of_table(std::string_view op, IndicesIn<Number, Space> ids, std::int64_t,
                                       std::optional<std::int32_t> = {}) {
  if (ids.count < 0 || (ids.count > 0 && !ids.data))
    throw InputError(std::string(op) + ": " + std::to_string(ids.count) + " ids" +
                     (ids.data ? "" : " at nullptr") + ": give their number and address");
  return ids;
}

}  // namespace precast::detail
