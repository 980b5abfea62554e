// Memory-bound work: copies, casts, activations, sums with gates, rotary positions.
//
// Floor: the time of cudaMemcpyAsync for as many bytes, half read and half written. A gated sum reads two
// arrays and writes one. Gates have one row and count for nothing; cosines and sines of 4608 positions, 4.7
// MB in f32, are a twelfth of what a rotation in bf16 moves and count.
#include <string>

#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/ops/pointwise.hpp>
#include <precast/ops/rotary.hpp>

namespace precast::bench {

namespace {

/// How many bytes there are of `arrays` arrays.
template <ScalarDtype T>
double bytes_of(std::int64_t rows, std::int64_t columns, double arrays) {
  return arrays * static_cast<double>(rows * columns) * sizeof(T);
}

template <ScalarDtype From, ScalarDtype To>
void add_conversion(const Suite& suite, const std::string& kind, const std::string& dtypes,
                    std::int64_t rows) {
  const std::int64_t columns = suite.sizes.columns;
  const double moved = bytes_of<From>(rows, columns, 1) + bytes_of<To>(rows, columns, 1);
  add(suite, kind + "/" + dtypes + "/" + size_text(rows, columns), 50, 2 * moved,
      [=, &suite](benchmark::State& state) {
        const Tensor<From> x = random_tensor<From>({rows, columns});
        compare_with_copy(state, suite, moved, [&] {
          Tensor<To> out(x.shape());
          backend::convert_values(x, out.view());
          return out;
        });
      });
}

template <ScalarDtype T>
void add_copies_of(const Suite& suite) {
  for (const std::int64_t rows : {suite.sizes.copied_rows, suite.sizes.rows})
    add_conversion<T, T>(suite, "copy", std::string(dtype_traits<T>::name), rows);
}

template <ScalarDtype From, ScalarDtype To>
void add_cast(const Suite& suite) {
  add_conversion<From, To>(
      suite, "cast", std::string(dtype_traits<From>::name) + "_to_" + std::string(dtype_traits<To>::name),
      suite.sizes.rows);
}

template <PolicyType P>
void add_ops(const Suite& suite) {
  using Activation = typename P::activation;
  const std::int64_t rows = suite.sizes.rows, columns = suite.sizes.columns, width = suite.sizes.head_width;
  const std::string size = std::string("/") + name_of<P> + "/" + size_text(rows, columns);
  const double array = bytes_of<Activation>(rows, columns, 1);
  add(suite, "gelu" + size, 50, 4 * array, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({rows, columns});
    compare_with_copy(state, suite, 2 * array, [&] { return activate<P>(x, ActivationFunction::gelu_tanh); });
  });
  add(suite, "gated_add" + size, 50, 6 * array, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({rows, columns}),
               residual = random_tensor<Activation>({rows, columns}),
               gate = random_tensor<Activation>({1, columns});
    compare_with_copy(state, suite, 3 * array, [&] { return gated_add<P>(residual, x, gate); });
  });
  const double angles = bytes_of<f32>(rows, width, 2);
  add(suite, "rotary" + size, 50, 4 * array + 2 * angles, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({1, rows, columns});
    const RotaryTable table{random_tensor<f32>({rows, width}), random_tensor<f32>({rows, width})};
    compare_with_copy(state, suite, 2 * array + angles, [&] { return rotary<P>(x, table); });
  });
}

}  // namespace

void add_copies(const Suite& suite) {
  add_copies_of<f32>(suite);
  add_copies_of<bf16>(suite);
}

void add_pointwise(const Suite& suite) {
  add_cast<f32, bf16>(suite);
  add_cast<bf16, f32>(suite);
  add_cast<f32, f16>(suite);
  add_cast<f16, f32>(suite);
  add_cast<f32, fp8_e4m3>(suite);
  add_cast<fp8_e4m3, f32>(suite);
  add_ops<F32>(suite);
  add_ops<Bf16>(suite);
  add_ops<F16>(suite);
}

}  // namespace precast::bench
