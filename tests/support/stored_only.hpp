// StoredOnly: a block dtype for tests of types alone: it says how it is stored, and nobody can decode it.
#pragma once

#include <string_view>

#include <precast/dtype/dtype.hpp>

namespace precast::testing {
struct StoredOnly {};
}  // namespace precast::testing

template <>
struct precast::dtype_traits<precast::testing::StoredOnly> {
  static constexpr std::string_view name = "stored_only";
  static constexpr int values_per_block = 32;
  static constexpr int bytes_per_block = 18;
};
