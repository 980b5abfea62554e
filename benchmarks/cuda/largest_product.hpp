// The product that the device multiplies fastest: the ceiling of all others.
#pragma once

#include <utility>

#include <benchmark/benchmark.h>
#include <common/random_tensor.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/multiply_by_library.hpp>
#include <precast/cuda/matmul/product_request.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/dtype/exact_operand.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

namespace precast::bench {

/// What tensor cores multiply under a policy whose weights lie as its values do.
template <PolicyType P, OpClass Op>
using Multiplied =
    ExactOperand<typename precisions<P, Op>::operand, typename P::activation, typename P::activation>;

/// A large square product of cuBLASLt's in an operand dtype, without bias or activation. Throws Error where
/// cuBLASLt was not found or has no code for it.
template <ScalarDtype Operand>
class LargestProduct {
  using Value = gpu::LibraryOperand<Operand>;

 public:
  explicit LargestProduct(const LinearShape& shape)
      : flops_(shape.flops()),
        x_(random_tensor<Value>({shape.rows, shape.in})),
        weight_(random_tensor<Value>({shape.out, shape.in})),
        out_(Shape{shape.rows, shape.out}),
        product_{.operand = gpu::library_dtype<Operand>(),
                 .result = gpu::library_dtype<Value>(),
                 .rows = shape.rows,
                 .features = shape.out,
                 .columns = shape.in,
                 .x = gpu::product_matrix(std::as_const(x_).view()),
                 .weight = gpu::product_matrix(std::as_const(weight_).view()),
                 .out = gpu::product_matrix(out_.view())} {
    if (!library_.takes(product_))
      throw Error("cuBLASLt, whose largest product is the mark, was not found or does not multiply " +
                  std::string(dtype_traits<Operand>::name) + ": name its folder in LD_LIBRARY_PATH");
  }

  void operator()() {
    if (!gpu::start_product(library_, product_, gpu::current_stream()))
      throw Error("cuBLASLt has no code for its largest product after all");
  }
  double flops() const { return flops_; }
  static double bytes(const LinearShape& shape) {
    return static_cast<double>(sizeof(Value)) *
           static_cast<double>(shape.rows * shape.in + shape.out * shape.in + shape.rows * shape.out);
  }

 private:
  double flops_;
  gpu::ProductLibrary library_ =
      gpu::library_in_use<gpu::ProductLibrary>();  // ours stay where another takes its place
  Tensor<Value> x_, weight_, out_;
  gpu::ProductRequest product_;
};

/// Measures `start()`, which must multiply as much, in turn with the largest product. Counters:
///   share         the share of that product's rate
///   ceiling_rate  its operations a second
///   flops         those of the work
template <ScalarDtype Operand, class Start>
void compare_with_largest_product(benchmark::State& state, const Suite& suite, double flops, Start&& start) {
  LargestProduct<Operand> largest(suite.sizes.largest_product);
  const InTurn times = measure_cold(state, suite, start, largest);
  state.counters["share"] = times.reference_over_work * flops / largest.flops();
  state.counters["ceiling_rate"] = largest.flops() / times.reference_seconds;
  state.counters["flops"] = flops / times.seconds;
}

}  // namespace precast::bench
