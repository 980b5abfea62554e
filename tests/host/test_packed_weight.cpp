// PackedWeight: every value where products look for it, zeros around, and no more memory than that takes.
#include <cstdint>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/skinny_gemm.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Values that are told apart by their codes, as far as the dtype has so many.
template <class T>
Tensor<T> numbered(std::int64_t rows, std::int64_t columns) {
  Tensor<T> tensor({rows, columns});
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t code = i * 2654435761 + 1;
    std::memcpy(static_cast<void*>(&tensor.data()[i]), &code, sizeof(T));
  }
  return tensor;
}

template <class T>
bool same_code(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void check(std::int64_t features, std::int64_t columns, std::int64_t at_once) {
  CAPTURE(features, columns, at_once);
  const auto wide = numbered<T>(features, columns + 3);
  const View<const T> weight = wide.view().columns_between(2, columns);
  const auto packed = host::PackedWeight<T>::copy_of(weight, at_once);
  const std::int64_t width = packed.panel_width();
  REQUIRE(packed.bytes() <= static_cast<std::int64_t>(sizeof(T)) * (features + (features < 64 ? 15 : 63)) *
                                (columns + 16 * at_once - 1));
  for (std::int64_t f = 0; f < features; ++f)
    for (std::int64_t k = 0; k < columns; ++k)
      if (!same_code(packed.at(f, k), weight.row(f)[static_cast<std::size_t>(k)])) FAIL(f << ", " << k);
  // What is beyond adds nothing to a sum.
  for (std::int64_t panel = 0; panel < packed.panels(); ++panel)
    for (std::int64_t k = 0; k < packed.padded_columns(); ++k)
      for (std::int64_t f = 0; f < width; ++f)
        if (panel * host::widest_panel + f >= features || k >= columns)
          if (!same_code(packed.panel(panel)[(k / at_once * width + f) * at_once + k % at_once], T{}))
            FAIL("not zero: panel " << panel << ", column " << k << ", feature " << f);
}

/// Rows to columns, one value after another.
template <class T>
Tensor<T> turned(View<const T> matrix) {
  Tensor<T> to({matrix.columns(), matrix.rows()});
  for (std::int64_t r = 0; r < matrix.rows(); ++r)
    for (std::int64_t c = 0; c < matrix.columns(); ++c)
      to.data()[c * matrix.rows() + r] = matrix.row(r)[static_cast<std::size_t>(c)];
  return to;
}

template <class T>
void check_columns(std::int64_t features, std::int64_t columns, std::int64_t at_once) {
  CAPTURE(features, columns, at_once);
  const auto wide = numbered<T>(columns, features + 3);
  const View<const T> matrix = wide.view().columns_between(2, features);
  const auto of_columns = host::PackedWeight<T>::of_columns(matrix, at_once),
             of_rows = host::PackedWeight<T>::copy_of(turned(matrix).view(), at_once);
  REQUIRE(of_columns.features() == features);
  REQUIRE(of_columns.columns() == columns);
  REQUIRE(of_columns.bytes() == of_rows.bytes());
  REQUIRE(std::memcmp(of_columns.panel(0), of_rows.panel(0), static_cast<std::size_t>(of_rows.bytes())) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("the columns of a matrix are packed as the rows of its transpose", "[packed]", f32, bf16,
                   f16, fp8_e4m3) {
  for (const std::int64_t features : {1, 16, 17, 63, 64, 65, 1100})
    for (const std::int64_t columns : {1, 16, 31, 32, 33, 65, 200}) {
      check_columns<TestType>(features, columns, 1);
      if constexpr (std::is_same_v<TestType, bf16>) check_columns<TestType>(features, columns, 2);
    }
}

TEMPLATE_TEST_CASE("a packed weight holds every value in its place", "[packed]", f32, bf16, f16, fp8_e4m3) {
  for (const std::int64_t features : {1, 15, 16, 17, 48, 63, 64, 65, 150})
    for (const std::int64_t columns : {1, 15, 16, 17, 31, 32, 33, 600, 1031}) {
      check<TestType>(features, columns, 1);
      if constexpr (std::is_same_v<TestType, bf16>) check<TestType>(features, columns, 2);
    }
}

TEST_CASE("panels become operands in columns and in pairs, whichever way they are stored", "[packed]") {
  for (const std::int64_t features : {5, 70})
    for (const std::int64_t columns : {1, 17, 37}) {
      const auto weight = random_tensor<bf16>({features, columns}, 1);
      const auto single = host::PackedWeight<bf16>::copy_of(weight.view(), 1),
                 pairs = host::PackedWeight<bf16>::copy_of(weight.view(), 2);
      const std::int64_t width = pairs.panel_width(), padded = pairs.padded_columns();
      for (std::int64_t panel = 0; panel < pairs.panels(); ++panel) {
        CAPTURE(features, columns, panel);
        std::vector<f32> wide(static_cast<std::size_t>(single.panel_values())), other(wide.size());
        host::operand_columns<bf16, false>(single, panel, 0, single.padded_columns(), wide.data());
        host::operand_columns<bf16, false>(pairs, panel, 0, single.padded_columns(), other.data());
        REQUIRE(wide == other);
        for (std::int64_t k = 0; k < columns; ++k)
          for (std::int64_t f = 0; f < std::min(width, features - panel * 64); ++f)
            REQUIRE(wide[static_cast<std::size_t>(k * width + f)] ==
                    to_double(weight.data()[(panel * 64 + f) * columns + k]));
        std::vector<bf16> paired(static_cast<std::size_t>(padded * width));
        host::operand_pairs<bf16, false>(single, panel, padded, paired.data());
        REQUIRE(std::memcmp(paired.data(), pairs.panel(panel), paired.size() * sizeof(bf16)) == 0);
      }
    }
}
