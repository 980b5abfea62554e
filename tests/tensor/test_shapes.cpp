// What shapes, views and tensors refuse, and in which words.
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/block_dtype.hpp>

#include <precast/error.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/stored_matrix.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

using namespace precast;
using precast::testing::Blocks32;

namespace {

/// The words of the ShapeError that `act` throws; "nothing" where it throws none.
template <class F>
std::string refusal(F&& act) {
  try {
    act();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "nothing";
}

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("a shape has six dimensions at most, none below 0, and at most 2^57 elements", "[shapes]") {
  const std::array<std::int64_t, 7> seven{1, 1, 1, 1, 1, 1, 1};
  CHECK(refusal([&] { (void)Shape(std::span(seven)); }) == "a tensor has at most 6 dimensions");
  CHECK(refusal([&] { (void)Shape(std::span(seven).first(6)); }) == "nothing");
  CHECK(refusal([] { (void)Shape{2, -1}; }) == "a tensor's size cannot be negative: [2, -1]");
  CHECK(refusal([] { (void)Shape{huge, 2}; }) == "a tensor's size overflows: [9223372036854775807, 2]");
  CHECK(refusal([] {
          (void)Shape{std::int64_t{1} << 27, std::int64_t{1} << 30, 2};
        }) == "a tensor's size overflows: [134217728, 1073741824, 2]");
  const Shape most{std::int64_t{1} << 27, std::int64_t{1} << 30};
  CHECK(most.elements() == Shape::max_elements);
  CHECK(bytes_for<f32>(most.elements()) == std::int64_t{1} << 59);
  CHECK(refusal([] { (void)Shape{2, 3}.with_back(-1); }) == "a tensor's size cannot be negative: [2, -1]");
  // A size of 0 makes nothing of what is beside it.
  CHECK(Shape{0, 5}.elements() == 0);
}

TEST_CASE("rows of blocks are uploaded where they fit", "[shapes]") {
  BlockMatrix<Blocks32, HostMemory> matrix(Shape{4, 64});
  const BlockMatrix<Blocks32, HostMemory> two(Shape{2, 64}), narrow(Shape{2, 32});
  CHECK(refusal([&] { matrix.upload(2, two.view()); }) == "nothing");
  CHECK(refusal([&] { matrix.upload(3, two.view()); }) ==
        "upload: [2, 64] does not fit into [4, 64] from row 3 on");
  CHECK(refusal([&] { matrix.upload(-1, two.view()); }) ==
        "upload: [2, 64] does not fit into [4, 64] from row -1 on");
  CHECK(refusal([&] { matrix.upload(0, narrow.view()); }) ==
        "upload: [2, 32] does not fit into [4, 64] from row 0 on");
}

TEST_CASE("a view stays within its rows and columns", "[shapes]") {
  std::vector<f32> values(12);
  const HostView<f32> view(values.data(), Shape{3, 4});
  CHECK(refusal([&] { (void)view.rows_between(1, 3); }) == "rows 1 + 3 leave [3, 4]");
  CHECK(refusal([&] { (void)view.rows_between(-1, 1); }) == "rows -1 + 1 leave [3, 4]");
  CHECK(refusal([&] { (void)view.rows_between(0, -1); }) == "rows 0 + -1 leave [3, 4]");
  CHECK(refusal([&] { (void)view.columns_between(3, 2); }) == "columns 3 + 2 leave [3, 4]");
  CHECK(refusal([&] { (void)view.columns_between(-1, 1); }) == "columns -1 + 1 leave [3, 4]");
  CHECK(refusal([&] { (void)view.columns_between(0, -2); }) == "columns 0 + -2 leave [3, 4]");
  CHECK(refusal([&] { (void)view.rows_between(1, huge); }) == "rows 1 + 9223372036854775807 leave [3, 4]");
  CHECK(refusal([&] { (void)view.columns_between(huge, huge); }) ==
        "columns 9223372036854775807 + 9223372036854775807 leave [3, 4]");
  CHECK(view.rows_between(3, 0).elements() == 0);
  CHECK(view.columns_between(1, 3).row(2).data() == values.data() + 9);

  const HostView<f32> slice = view.columns_between(1, 2);
  CHECK(refusal([&] { (void)slice.values(); }) == "a strided view of shape [3, 2] is not one run of values");
  CHECK(refusal([&] { (void)slice.reshaped(Shape{2, 3}); }) == "cannot view [3, 2] as [2, 3]");
  CHECK(refusal([&] { (void)view.reshaped(Shape{5}); }) == "cannot view [3, 4] as [5]");
  CHECK(slice.reshaped(Shape{3, 1, 2}).row(1).data() == values.data() + 5);
  CHECK(view.reshaped(Shape{2, 6}).row(1).data() == values.data() + 6);
}

TEST_CASE("a tensor takes as many values as it has", "[shapes]") {
  const std::vector<f32> five(5);
  CHECK(refusal([&] { (void)HostTensor<f32>(Shape{2, 3}, five); }) == "5 values do not fill [2, 3]");
  HostTensor<f32> tensor(Shape{2, 3});
  CHECK(refusal([&] { tensor.upload(2, five); }) == "5 values from 2 on leave [2, 3]");
  CHECK(refusal([&] { tensor.upload(-1, five); }) == "5 values from -1 on leave [2, 3]");
  CHECK(refusal([&] { tensor.upload(huge, five); }) == "5 values from 9223372036854775807 on leave [2, 3]");
  CHECK(refusal([&] { tensor.upload(1, five); }) == "nothing");
  CHECK(refusal([&] { (void)std::move(tensor).reshaped(Shape{7}); }) == "cannot reshape [2, 3] to [7]");
}

TEST_CASE("what was moved from has no elements", "[shapes]") {
  const std::vector<f32> values{1, 2, 3, 4, 5, 6};
  HostTensor<f32> from(Shape{2, 3}, values);
  HostTensor<f32> to(std::move(from));
  CHECK(from.shape() == Shape{0});  // NOLINT(bugprone-use-after-move): what it is then
  CHECK(from.values().empty());
  CHECK(to.shape() == Shape{2, 3});
  from = std::move(to);
  CHECK(to.values().empty());  // NOLINT(bugprone-use-after-move)
  CHECK(from.view().row(1).data()[2] == 6);
  const HostTensor<f32> reshaped = std::move(from).reshaped(Shape{6});
  CHECK(from.values().empty());  // NOLINT(bugprone-use-after-move)
  CHECK(reshaped.values()[5] == 6);

  HostTensor<f32> large(Shape{1 << 20}), small(Shape{6}, values);
  const std::int64_t in_use = memory_use().in_use;
  large = std::move(small);
  CHECK(small.values().empty());  // NOLINT(bugprone-use-after-move)
  CHECK(small.data() == nullptr);
  CHECK(large.values()[5] == 6);
  CHECK(memory_use().in_use == in_use - (std::int64_t{4} << 20));
  auto& itself = large;
  large = std::move(itself);
  CHECK(large.values()[5] == 6);

  BlockMatrix<Blocks32, HostMemory> blocks(Shape{2, 64});
  BlockMatrix<Blocks32, HostMemory> taken(std::move(blocks));
  CHECK(blocks.shape() == Shape{0, 0});  // NOLINT(bugprone-use-after-move)
  CHECK(taken.bytes() > 0);
  blocks = std::move(taken);
  CHECK(taken.bytes() == 0);  // NOLINT(bugprone-use-after-move)
  CHECK(blocks.rows() == 2);
  BlockMatrix<Blocks32, HostMemory> other(Shape{3, 64});
  other = std::move(blocks);
  CHECK(blocks.bytes() == 0);  // NOLINT(bugprone-use-after-move)
  CHECK(other.rows() == 2);
}

TEST_CASE("a matrix of blocks has rows and columns", "[shapes]") {
  CHECK(refusal([] { (void)BlockMatrix<Blocks32, HostMemory>(Shape{32}); }) ==
        "a matrix of blocks has two dimensions, not [32]");
  const BlockMatrix<Blocks32, HostMemory> matrix(Shape{3, 40});
  CHECK(refusal([&] { (void)matrix.view().rows_between(2, 2); }) == "rows 2 + 2 leave [3, 40]");
  CHECK(refusal([&] { (void)matrix.view().rows_between(-1, 2); }) == "rows -1 + 2 leave [3, 40]");
  CHECK(refusal([&] { (void)matrix.view().rows_between(0, -1); }) == "rows 0 + -1 leave [3, 40]");
  CHECK(refusal([&] { (void)matrix.view().rows_between(1, huge); }) ==
        "rows 1 + 9223372036854775807 leave [3, 40]");
  CHECK(matrix.view().rows_between(3, 0).elements() == 0);
}
