// A CUDA kernel of one's own: rows divided by their length, in a policy's dtypes, on the library's tiles.
//   nvcc -std=c++20 -arch=sm_80 -I include examples/cuda/own_kernel.cu -o own_kernel
// The same file runs in the emulator, where the tests build it with a host compiler.
#include <cmath>
#include <cstdio>
#include <vector>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using namespace precast::gpu;

/// y = x / |x|. The tile says how many threads share a row, and whether it stays in their registers.
template <int Tile, int Count, class Types, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    unit_rows_kernel(GlobalPointer<const From> x, GlobalPointer<typename Types::result> y, std::int64_t rows,
                     std::int64_t columns, bool aligned) {
  const RowPlace place = row_place<row_tiles[Tile]>();
  const std::int64_t offset = place.row * columns;
  const Row<row_tiles[Tile], Count, From> row(x + offset, place.row < rows ? columns : 0, place.lane,
                                              aligned);
  const f32 squares = row.template sum<struct Squares>([](f32 value) { return value * value; });
  const f32 inverse = 1.0f / square_root(squares);
  row.for_each_run([&](std::int64_t first, int present, Run<f32, Count> values) {
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) values[i] *= inverse;
    store_rounded<Types::saturate>(y + offset + first, values, present, aligned);
  });
}

/// Rows of length 1, in the dtypes that the policy gives to norms. A row of zeros becomes NaN.
template <PolicyType P, ScalarDtype From>
Tensor<typename P::activation> unit_rows(const Tensor<From>& x) {
  constexpr int count = values_at_once<From, typename P::activation>;  // what a thread takes at a time
  Tensor<typename P::activation> y(x.shape());
  const bool aligned = rows_are_aligned<count>(x.view()) && rows_are_aligned<count>(y.view());
  visit_row_tile(x.columns(), count, [&](auto tile) {
    launch("unit_rows", unit_rows_kernel<tile, count, precisions<P, Norm>, From>,
           {blocks_of_rows(row_tiles[tile], x.rows()), row_tiles[tile].threads}, current_stream(),
           pointer_to(x.view()), pointer_to(y.view()), x.rows(), x.columns(), aligned);
  });
  return y;
}

/// The largest relative error, in units of one rounding's.
template <PolicyType P, class T = typename P::activation>
double largest_error(std::int64_t rows, std::int64_t columns) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    values.push_back(convert<T>(static_cast<f32>(std::sin(0.7 * static_cast<double>(i)) + 1.5)));
  const auto unit = to_host(unit_rows<P>(Tensor<T>(Shape{rows, columns}, values)));
  double largest = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    const T* x = values.data() + r * columns;
    for (std::int64_t c = 0; c < columns; ++c) squares += to_double(x[c]) * to_double(x[c]);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double exact = to_double(x[c]) / std::sqrt(squares);
      largest = std::fmax(largest, std::fabs(to_double(unit.data()[r * columns + c]) / exact - 1));
    }
  }
  return largest / (dtype_traits<T>::format.eps() / 2);
}

int main() try {
  const double in_bf16 = largest_error<Policy<Storage<bf16>>>(21, 100);  // lanes of a warp share a row
  const double in_f32 = largest_error<Policy<Storage<f32>>>(3, 3001);    // a block does
  std::printf("largest error in roundings: bf16 %.2f, f32 %.2f\n", in_bf16, in_f32);
  // f32: 64 additions in a row and 20 across a block, and the root halves their error; bf16: one rounding.
  return in_bf16 <= 1.001 && in_f32 <= 64 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
