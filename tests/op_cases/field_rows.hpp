// Rows of the op table that differ in one field, and the check that each has results of its own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/narrow_reference.hpp>
#include <support/norm_reference.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/problem/narrow_steps.hpp>

namespace precast::testing {

using Values = std::vector<double>;

// Rows that differ from Wide in one field alone, and Both, which differs in all.
using Wide = OpDtypes<f32, AsGiven, f32, f32, f32>;
using Sums = OpDtypes<f32, AsGiven, f16, f32, f32>;
using Inside = OpDtypes<f32, AsGiven, f32, f16, f32>;
using Both = OpDtypes<f32, AsGiven, bf16, f16, bf16>;
using Rounded = OpDtypes<f32, AsGiven, f32, f32, bf16>;

/// What these rows are tried on: so many rows of so many columns.
inline constexpr std::int64_t field_rows = 3, field_columns = 700;

/// Whether values are the expected ones, but for so many roundings of f32 of the value and of `size`.
inline bool are(const Values& got, const Values& expected, double roundings, double size = 0) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(got[i] - expected[i]) <= roundings * unit<f32> * (std::abs(expected[i]) + size)))
      return false;
  return got.size() == expected.size();
}

/// That each of the rows has its own results of run(row, Inputs{}), and none passes for that of another.
/// Narrow rows may be `roundings` from what is expected; those in f32 throughout, where the order of sums is
/// the kernel's, as far as a norm. Values may be wrong by roundings of `size` beside their own.
template <class Inputs, class... Types, class Run, class Expected>
void each_its_own(double roundings, double size, Run&& run, Expected&& expected) {
  const Inputs in;
  const std::vector<Values> got{run(Types{}, in)...}, wanted{expected(Types{}, in)...};
  const Values allowed{(is_narrow<Types> ? roundings : norm_roundings)...};
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::size_t j = 0; j < got.size(); ++j) {
      CAPTURE(i, j);
      CHECK(are(got[i], wanted[j], allowed[j], size) == (i == j));
    }
}

}  // namespace precast::testing
