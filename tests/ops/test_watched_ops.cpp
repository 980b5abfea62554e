// What ops tell the watch hook: the op table's dtypes, and what f32 would have made of a value that is not
// finite.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/dtype_names.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/training_policies.hpp>
#include <precast/watch/cure.hpp>
#include <precast/watch/observer.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct Recorder : watch::Observer {
  std::vector<watch::OpRecord> ops;
  std::vector<watch::NonFinite> found;
  void on_op(const watch::OpRecord& record) override { ops.push_back(record); }
  bool wants_non_finite() const override { return true; }
  void on_non_finite(const watch::NonFinite& value) override { found.push_back(value); }
};

template <class P, OpClass Op>
void check_row(const watch::OpRecord& record) {
  INFO(record.function);
  CHECK(record.op == Op::name);
  CHECK(record.dtypes == dtype_names<precisions<P, Op>>());
}

using Naive = Policy<Storage<f16>, Downcast<Attention, Norm, Softmax, Reduction, Loss, Pointwise>>;

}  // namespace

TEST_CASE("ops report to the observer of their thread", "[watched_ops]") {
  using P = Policy<Storage<f32>>;
  const auto x = random_tensor<f32>(Shape{4, 4}, 1);
  std::atomic<bool> ended = false;
  std::atomic<int> ops_of_other{0};
  std::thread other([&] {
    for (; !ended; ++ops_of_other) add<P>(x, x);
  });
  constexpr std::size_t rounds = 2000, ops = 10;
  std::size_t wrong = 0;
  for (std::size_t round = 0; round < rounds || ops_of_other < 1000; ++round) {
    Recorder recorder;
    {
      const watch::Watching watching(recorder);
      for (std::size_t i = 0; i < ops; ++i) add<P>(x, x);
    }
    wrong += recorder.ops.size() != ops;
  }
  ended = true;
  other.join();
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("every op reports the op table's dtypes", "[watched_ops]", presets::Quality,
                   presets::Balanced, presets::Fast, presets::Memory, Naive) {
  using P = TestType;
  using A = typename P::activation;
  using S = typename P::storage;
  const auto x = random_tensor<A>(Shape{2, 3, 8}, 1), row = random_tensor<A>(Shape{2, 8}, 2),
             image = random_tensor<A>(Shape{1, 2, 2, 8}, 3);
  const auto weight = random_tensor<S>(Shape{8}, 4), table_values = random_tensor<S>(Shape{5, 8}, 5);
  const RotaryTable table = rotary_table(std::vector<std::int64_t>{4}, 100, std::vector<f32>{0, 1, 2});
  Tensor<A> target(x.shape());
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    layer_norm<P>(x, {.eps = 1e-5});
    layer_norm<P>(x, weight, weight, {.eps = 1e-5});
    layer_norm_modulate<P>(x, row, row, {.eps = 1e-5});
    rms_norm<P>(x, weight, {.eps = 1e-5});
    rms_norm_heads<P>(x, weight, {.eps = 1e-5});
    group_norm<P>(image, weight, weight, {.groups = 2, .eps = 1e-5, .activation = ActivationFunction::silu});
    REQUIRE(recorder.ops.size() == 6);
    activate<P>(x, ActivationFunction::silu);
    add<P>(x, x);
    add<P>(x, row.view().rows_between(0, 1).reshaped(Shape{8}));
    gated_add<P>(x, x, row);
    gated_product<P>(x, x, ActivationFunction::gelu_tanh);
    scale_shift<P>(x, {.factor = 2, .offset = 1});
    clamp<P>(x, {.low = -1, .high = 1});
    copy_into<P>(x, target.view());
    embedding<P>(table_values, std::vector<std::int32_t>{1, 2});
    upsample_nearest<P>(image, 2);
    REQUIRE(recorder.ops.size() == 16);
    rotary<P>(x, table);
    timestep_embedding<P>(Tensor<f32>(Shape{1}, std::vector<f32>{3}), 8);
    softmax<P>(x);
    attention<P>(x, x, x, {.heads = 1});
    sum<P>(x);
    mean<P>(x, Over::last_axis);
    mean_squared_error<P>(x, x);
    cross_entropy<P>(row, std::vector<std::int32_t>{7, 0});
  }
  REQUIRE(recorder.ops.size() == 24);
  for (std::size_t i = 0; i < 6; ++i) check_row<P, Norm>(recorder.ops[i]);
  for (std::size_t i = 6; i < 16; ++i) check_row<P, Pointwise>(recorder.ops[i]);
  for (std::size_t i = 16; i < 18; ++i) check_row<P, Position>(recorder.ops[i]);
  check_row<P, Softmax>(recorder.ops[18]);
  check_row<P, Attention>(recorder.ops[19]);
  for (std::size_t i = 20; i < 22; ++i) check_row<P, Reduction>(recorder.ops[i]);
  for (std::size_t i = 22; i < 24; ++i) check_row<P, Loss>(recorder.ops[i]);
  CHECK(recorder.ops[5].shape == image.shape());
  CHECK(recorder.ops[13].function == "copy_into");
  CHECK(recorder.found.empty());
  double largest = 0;
  for (const double value : wide(target)) largest = std::max(largest, std::abs(value));
  CHECK(recorder.ops[13].max_abs == largest);
}

namespace {

/// A softmax whose author wrote the kernel's types down instead of taking them from the op: what it means is
/// the policy's row, what it runs is another.
template <class P, ScalarArray X>
void softmax_beside_its_row(const X& x) {
  using Other = OpDtypes<typename P::storage, AsGiven, f16, bf16, f32>;
  Tensor<f32> result(x.shape());
  precast::detail::run_op_into<Softmax, precisions<P, Softmax>>(
      "softmax", result, [&](auto, auto out) { backend::softmax<Other>(as_view(x), out); });
}
/// One that calls no kernel of the library at all, after another op did.
template <class P, ScalarArray X>
void softmax_by_hand(const X& x) {
  Tensor<f32> result(x.shape());
  precast::detail::run_op_into<Softmax, precisions<P, Softmax>>("softmax", result, [&](auto, auto out) {
    for (f32& value : out.values()) value = 1;
  });
}

}  // namespace

TEST_CASE("an op that runs a kernel of other types than its row's is told apart by its record",
          "[watched_ops]") {
  using P = presets::Fast;
  const auto x = random_tensor<bf16>(Shape{2, 8}, 1);
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    softmax<P>(x);
    softmax_beside_its_row<P>(x);
    softmax_by_hand<P>(x);
    softmax<P>(x);
  }
  REQUIRE(recorder.ops.size() == 4);
  constexpr DtypeNames row = dtype_names<precisions<P, Softmax>>();
  CHECK(recorder.ops[0].dtypes == row);
  CHECK(recorder.ops[1].dtypes == DtypeNames{"bf16", "as given", "f16", "bf16", "f32"});
  CHECK(recorder.ops[1].dtypes != row);
  CHECK(recorder.ops[2].dtypes == DtypeNames{});
  CHECK(recorder.ops[3].dtypes == row);
}

TEST_CASE("without an observer no kernel says anything", "[watched_ops]") {
  watch::take_ran();
  softmax<presets::Fast>(random_tensor<bf16>(Shape{2, 8}, 1));
  CHECK(watch::take_ran().dtypes == DtypeNames{});
}

TEST_CASE("attention into heads by strides is reported as rows of heads", "[watched_ops]") {
  const auto q = random_tensor<f16>(Shape{2, 4, 3, 8}, 1), k = random_tensor<f16>(Shape{2, 6, 3, 8}, 2),
             v = random_tensor<f16>(Shape{2, 6, 3, 8}, 3);
  HostTensor<f16> rows(Shape{2, 4, 3, 8}), turned(Shape{2, 3, 4, 8});
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    for (const HostHeadsView<f16>& out : {rows_of_heads(rows.view()), heads_of_rows(turned.view())})
      attention_into<F16>(rows_of_heads(q.view()), rows_of_heads(k.view()), rows_of_heads(v.view()), {}, out);
  }
  REQUIRE(recorder.ops.size() == 2);
  for (const auto& op : recorder.ops) {
    CHECK(op.shape == Shape{2, 4, 24});
    CHECK(op.max_abs > 0);
    CHECK(op.max_abs == recorder.ops[0].max_abs);
  }
  CHECK(to_double(turned.data()[(1 * 3 + 2) * 32 + 3 * 8 + 5]) ==
        to_double(rows.data()[(1 * 4 + 3) * 24 + 2 * 8 + 5]));
}

TEST_CASE("a score that overflows f16 is reported with its size and with what f32 makes of it",
          "[watched_ops]") {
  const auto q = random_tensor<f16>(Shape{1, 4, 16}, 1, 0.1, 150),
             k = random_tensor<f16>(Shape{1, 6, 16}, 2, 0.1, 150);
  const auto v = random_tensor<f16>(Shape{1, 6, 16}, 3);
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    attention<F16>(q, k, v, {.heads = 1});
  }
  REQUIRE(recorder.ops.size() == 1);
  CHECK(recorder.ops[0].nans == 64);
  CHECK(recorder.ops[0].max_abs == 0);
  REQUIRE(recorder.found.size() == 1);
  CHECK(recorder.found[0].index == 0);
  CHECK(std::isnan(recorder.found[0].value));
  CHECK(recorder.found[0].value_in_f32 ==
        wide(attention<Policy<Storage<f16>, Upcast<Attention>, Activation<f32>>>(q, k, v, {.heads = 1}))[0]);
  double largest = 0;
  const auto wq = wide(q), wk = wide(k);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double dot = 0;
      for (std::size_t d = 0; d < 16; ++d) dot += wq[i * 16 + d] * wk[j * 16 + d];
      largest = std::max(largest, std::abs(dot) / 4);
    }
  CHECK(largest > 65504);
  CHECK(std::abs(recorder.found[0].largest_inside - largest) <= 40 * unit<f32> * largest);
}

TEST_CASE("attention's largest score is there for an observer that wants it, and for no other",
          "[watched_ops]") {
  struct Wanting : Recorder {
    bool wants_inside(const watch::OpRecord& record) const override { return record.dtypes.inside == "f16"; }
  };
  const auto q = random_tensor<f16>(Shape{2, 5, 16}, 1, 0.1, 60),
             k = random_tensor<f16>(Shape{2, 7, 16}, 2, 0.1, 60), v = random_tensor<f16>(Shape{2, 7, 16}, 3);
  Wanting wanting;
  Recorder other;
  {
    const watch::Watching watching(wanting);
    attention<F16>(q, k, v, {.heads = 2});
    attention<F16UpcastAttention>(q, k, v, {.heads = 2});
    add<F16>(q, q);
  }
  {
    const watch::Watching watching(other);
    attention<F16>(q, k, v, {.heads = 2});
  }
  REQUIRE(wanting.ops.size() == 3);
  REQUIRE(other.ops.size() == 1);
  CHECK(wanting.found.empty());
  double largest = 0;
  const auto wq = wide(q), wk = wide(k);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 7; ++j) {
          double dot = 0;
          for (std::size_t d = 0; d < 8; ++d)
            dot += wq[(b * 5 + i) * 16 + head * 8 + d] * wk[(b * 7 + j) * 16 + head * 8 + d];
          largest = std::max(largest, std::abs(dot) / std::sqrt(8.0));
        }
  CHECK(largest > 2 * wanting.ops[0].max_abs);  // which no result shows
  CHECK(std::abs(wanting.ops[0].largest_inside - largest) <= 40 * unit<f32> * largest);
  CHECK(wanting.ops[1].largest_inside == 0);  // its scores are f32
  CHECK(wanting.ops[2].largest_inside == 0);
  CHECK(other.ops[0].largest_inside == 0);
}

TEST_CASE("an f16 norm that overflows is reported with its value in f32", "[watched_ops]") {
  const auto x = random_tensor<f16>(Shape{4, 16}, 1);
  const Tensor<f16> huge(Shape{16}, std::vector<f16>(16, from_double<f16>(60000)));
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    rms_norm<F16>(x, huge, {.eps = 1e-6});
  }
  REQUIRE(recorder.found.size() == 1);
  CHECK(std::isinf(recorder.found[0].value));
  CHECK(std::abs(recorder.found[0].value_in_f32) > 65504);
  CHECK(std::isfinite(recorder.found[0].value_in_f32));
  CHECK(recorder.ops[0].infinities > 0);
}

TEST_CASE("a loss that overflows in naive f16 is reported with its value in f32", "[watched_ops]") {
  const auto x = filled<f16>({4}, 300), zeros = filled<f16>({4}, 0);
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    mean_squared_error<Naive>(x, zeros);
  }
  REQUIRE(recorder.found.size() == 1);
  CHECK(std::isinf(recorder.found[0].value));
  CHECK(recorder.found[0].value_in_f32 == 90000);
}

// Sums in f16 are inf after two terms; all four, above f16's largest number, are rounded to that.
TEST_CASE("a sum that its dtype can hold once rounded overflowed inside", "[watched_ops]") {
  const auto sum_of = [](std::vector<f32> terms) {
    using P = Policy<Storage<f16>, Downcast<Matmul>>;
    Tensor<f16> row({1, 4});
    std::ranges::transform(terms, row.data(), [](f32 term) { return convert<f16>(term); });
    const LinearWeight<P> weight(row);
    Recorder recorder;
    const watch::Watching watching(recorder);
    linear<P>(filled<f16>({1, 4}, 1), weight);
    REQUIRE(recorder.found.size() == 1);
    return recorder.found[0];
  };
  const watch::NonFinite held = sum_of({60000, 60000, -54496, 8}), above = sum_of({60000, 60000, -54496, 16});
  CHECK(held.value_in_f32 == 65512);
  CHECK(watch::cause_of(held) == watch::Cause::inside);
  CHECK(watch::cure_for(held) == watch::Cure::upcast_matmul);
  CHECK(above.value_in_f32 == 65520);
  CHECK(watch::cause_of(above) == watch::Cause::result);
}

TEST_CASE("the watch hook learns what linear ran in, and what f32 would have made of it", "[watched_ops]") {
  Recorder recorder;
  using P = Policy<Storage<f16>, Compute<bf16>, Activation<f16>>;
  Tensor<f16> x({12, 64});
  for (f16& value : x.values()) value = from_double<f16>(1);
  x.data()[5 * 64] = from_double<f16>(-65504);
  x.data()[5 * 64 + 1] = from_double<f16>(-200);
  const LinearWeight<P> weight(filled<f16>({3, 64}, 1));
  linear<P>(x, weight);
  const watch::Watching watching(recorder);
  linear<P>(x, weight);
  REQUIRE(recorder.ops.size() == 1);
  const watch::OpRecord& record = recorder.ops[0];
  REQUIRE(record.op == "Matmul");
  REQUIRE(record.dtypes == DtypeNames{"f16", "bf16", "f32", "", "f16"});
  REQUIRE(record.shape == Shape{12, 3});
  REQUIRE(record.max_abs == 64);
  REQUIRE(record.infinities == 3);
  REQUIRE(recorder.found.size() == 1);
  REQUIRE(recorder.found[0].index == 15);
  REQUIRE(recorder.found[0].value_in_f32 == -65504.0 - 200 + 62);
}

TEST_CASE("the record of a linear layer in training has the dtype that its result was rounded to",
          "[watched_ops]") {
  using P = training_policy_named<"amp-f16">;
  using ParameterGradient = parameter_gradient_precisions<P, Matmul>;
  const auto x = filled<f32>({1, 2}, 40000), ones = filled<f32>({1, 2}, 1);
  Tensor<f32> out({1, 1}), of_weight({2, 2}), of_bias({2});
  Recorder recorder;
  {
    const watch::Watching watching(recorder);
    linear_into<P>(x, ones, out);
    linear_weight_gradient_into<P>(ones, ones, {}, of_weight);
    bias_gradient_into<P>(ones, {}, of_bias);
    broadcast_gradient_into<P>(ones, {}, of_bias);
  }
  REQUIRE(recorder.ops.size() == 4);
  DtypeNames product = dtype_names<precisions<P, Matmul>>();
  CHECK(product.result == "f32");
  product.result = "f16";
  CHECK(recorder.ops[0].dtypes == product);
  CHECK(recorder.ops[0].infinities == 1);
  CHECK(recorder.ops[1].dtypes.operand == dtype_names<ParameterGradient>().operand);
  CHECK(recorder.ops[1].dtypes.result == "f16");
  CHECK(recorder.ops[2].dtypes.result == "f16");
  CHECK(recorder.ops[3].dtypes.result == "f32");
  // 80000 is no f16, although the result lies in an f32.
  REQUIRE(recorder.found.size() == 1);
  CHECK(recorder.found[0].value_in_f32 == 80000);
  CHECK(recorder.found[0].result_max == 65504);
  CHECK_FALSE(recorder.found[0].rounds_to_finite);
  CHECK(watch::cause_of(recorder.found[0]) == watch::Cause::result);
}
