// A policy that stores a block format: its rows of the op table, for every format of the list.
#include <type_traits>

#include <catch2/catch.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;

namespace {

template <class Format, class Op>
constexpr bool row_is_of_blocks() {
  using Default = precisions<Policy<Storage<Format>>, Op>;
  using InF32 = precisions<Policy<Storage<Format>, Compute<f32>>, Op>;
  return std::is_same_v<typename Default::storage, Format> &&
         std::is_same_v<typename Default::vector_storage, f32> &&
         std::is_same_v<typename Default::operand, bf16> &&
         std::is_same_v<typename Default::accumulate, f32> &&
         std::is_same_v<typename Default::result, bf16> && std::is_same_v<typename InF32::storage, Format> &&
         std::is_same_v<typename InF32::operand, f32> && std::is_same_v<typename InF32::result, f32>;
}

template <class... Entries>
constexpr bool all_rows_are(BlockFormatList<Entries...>) {
  return ((row_is_of_blocks<typename Entries::format, Matmul>() &&
           row_is_of_blocks<typename Entries::format, Conv>()) &&
          ...);
}
static_assert(all_rows_are(BlockFormats{}));
static_assert(std::is_same_v<Policy<Storage<q4_k>, Flash>, Policy<Flash, Storage<q4_k>>>);

}  // namespace

TEST_CASE("a block format is a storage of the op table") {
  using Row = precisions<Policy<Storage<q4_k>>, Matmul>;
  CHECK(dtype_name<typename Row::storage>() == "q4_k");
  CHECK(dtype_name<typename Row::operand>() == "bf16");
}
