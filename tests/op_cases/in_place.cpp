// Ops that have read a value, or its row, before they write what is made of it: they may write it in the
// place of their operand, and nowhere else where they read.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/cast.hpp>
#include <precast/ops/dropout.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/pointwise_gradient.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/rotary_gradient.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/watch/observer.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// What the ops of x [2, 3, 8] read besides.
struct Operands {
  Tensor<f32> other = sent(random_tensor<f32>({2, 3, 8}, 2));
  Tensor<f32> weight = sent(random_tensor<f32>({8}, 3)), bias = sent(random_tensor<f32>({8}, 4));
  Tensor<f32> per_sample = sent(random_tensor<f32>({2, 8}, 5));
  RotaryTable table{sent(random_tensor<f32>({3, 4}, 6)), sent(random_tensor<f32>({3, 4}, 7))};
  RotaryTableOfHalves halves{sent(random_tensor<f32>({3, 4}, 6)), sent(random_tensor<f32>({3, 4}, 7))};
  std::vector<std::int32_t> classes{5, 0, 1, 7, -100, 2};
};

/// An op of x [2, 3, 8] whose result is of the same size.
struct NamedOp {
  const char* name;
  std::function<void(View<const f32> x, View<f32> out)> run;
};

/// Those that have read a value, or its row, before they write what is made of it.
std::vector<NamedOp> ops_of_rows(const Operands& in) {
  using P = F32;
  const auto as_image = [](auto view) { return view.reshaped(Shape{1, 2, 3, 8}); };
  const auto as_rows = [](auto view) { return view.reshaped(Shape{6, 8}); };
  return {
      {"activate", [](auto x, auto out) { activate_into<P>(x, ActivationFunction::silu, out); }},
      {"add", [&in](auto x, auto out) { add_into<P>(x, in.other, out); }},
      {"add, second", [&in](auto x, auto out) { add_into<P>(in.other, x, out); }},
      {"gated_add", [&in](auto x, auto out) { gated_add_into<P>(x, in.other, in.per_sample, out); }},
      {"gated_product",
       [&in](auto x, auto out) { gated_product_into<P, elementwise::Silu>(in.other, x, out); }},
      {"add_per_sample", [&in](auto x, auto out) { add_per_sample_into<P>(x, in.per_sample, out); }},
      {"scale_shift", [](auto x, auto out) { scale_shift_into<P>(x, {.factor = 2, .offset = 1}, out); }},
      {"clamp", [](auto x, auto out) { clamp_into<P>(x, {.low = 0}, out); }},
      {"copy", [](auto x, auto out) { copy_into<P>(x, out); }},
      {"cast", [](auto x, auto out) { cast_into<f32>(x, out); }},
      {"dropout", [](auto x, auto out) { dropout_into<P>(x, {.probability = 0.5f}, out); }},
      {"softmax", [](auto x, auto out) { softmax_into<P>(x, out); }},
      {"layer_norm", [&in](auto x, auto out) { layer_norm_into<P>(x, in.weight, in.bias, {}, out); }},
      {"layer_norm_modulate",
       [&in](auto x, auto out) { layer_norm_modulate_into<P>(x, in.per_sample, in.per_sample, {}, out); }},
      {"rms_norm", [&in](auto x, auto out) { rms_norm_into<P>(x, in.weight, {}, out); }},
      {"group_norm",
       [&in, as_image](auto x, auto out) {
         group_norm_into<P>(as_image(x), in.weight, in.bias, {.groups = 2}, as_image(out));
       }},
      {"rotary", [&in](auto x, auto out) { rotary_into<P>(x, in.table, out); }},
      {"rotary of halves", [&in](auto x, auto out) { rotary_into<P>(x, in.halves, out); }},
      {"rotary_gradient", [&in](auto x, auto out) { rotary_gradient_into<P>(x, in.table, out); }},
      {"activate_gradient",
       [&in](auto x, auto out) { activate_gradient_into<P, elementwise::Silu>(x, in.other, out); }},
      {"cross_entropy_gradient",
       [&in, as_rows](auto x, auto out) {
         cross_entropy_gradient_into<P>(1, as_rows(x), in.classes, {}, as_rows(out));
       }},
      {"combine",
       [&in](auto x, auto out) {
         combine_into(x, in.other, {{1, 2}}, out);
       }},
  };
}

}  // namespace

TEST_CASE("ops that read a row before they write it may write it in its place, and nowhere else in it",
          "[in_place]") {
  const Shape shape{2, 3, 8};
  const HostTensor<f32> values = random_tensor<f32>({600}, 1);
  const auto at = [&](Tensor<f32>& memory, std::int64_t first) {
    return View<f32>(memory.data() + first, shape);
  };
  const Operands operands;
  for (const NamedOp& op : ops_of_rows(operands)) {
    INFO(op.name);
    Tensor<f32> apart = sent(values), same = sent(values);
    op.run(at(apart, 200), at(apart, 400));
    op.run(at(same, 200), at(same, 200));
    const HostTensor<f32> expected = to_host(apart), found = to_host(same);
    CHECK(std::equal(expected.data() + 400, expected.data() + 448, found.data() + 200));
    for (const std::int64_t first : {153, 192, 199, 201, 208, 247})
      CHECK_THROWS_WITH(op.run(at(apart, 200), at(apart, first)),
                        Catch::Contains("overlaps the memory of the operand"));
    for (const std::int64_t first : {152, 248}) CHECK_NOTHROW(op.run(at(apart, 200), at(apart, first)));
  }
}

TEST_CASE("rows that are read twice are written in their place", "[in_place]") {
  using P = F32;
  constexpr std::int64_t columns = 20000;  // more than a tile of a row holds
  const Tensor<f32> weight = sent(random_tensor<f32>({columns}, 1)),
                    bias = sent(random_tensor<f32>({columns}, 2));
  const std::vector<std::int32_t> classes{columns - 1, 0};
  const auto as_image = [](auto view) { return view.reshaped(Shape{2, 1, 1, columns}); };
  const std::vector<NamedOp> ops{
      {"softmax", [](auto x, auto out) { softmax_into<P>(x, out); }},
      {"layer_norm", [&](auto x, auto out) { layer_norm_into<P>(x, weight, bias, {}, out); }},
      {"rms_norm", [&](auto x, auto out) { rms_norm_into<P>(x, weight, {}, out); }},
      {"group_norm",
       [&](auto x, auto out) {
         group_norm_into<P>(as_image(x), weight, bias, {.groups = 2}, as_image(out));
       }},
      {"cross_entropy_gradient",
       [&](auto x, auto out) { cross_entropy_gradient_into<P>(1, x, classes, {}, out); }},
  };
  const HostTensor<f32> values = random_tensor<f32>({2, columns}, 3);
  for (const NamedOp& op : ops) {
    INFO(op.name);
    Tensor<f32> x = sent(values), apart(x.shape());
    op.run(x.view(), apart.view());
    op.run(x.view(), x.view());
    CHECK(same_bits(to_host(apart), to_host(x)));
  }
}

#if PRECAST_HAS_WATCH
namespace {

using Half = Policy<Storage<f16>>;

struct Recorder : watch::Observer {
  std::vector<watch::NonFinite> found;
  void on_op(const watch::OpRecord&) override {}
  bool wants_non_finite() const override { return true; }
  void on_non_finite(const watch::NonFinite& value) override { found.push_back(value); }
};

/// An op of x [2, 3, 8] whose result is of the same size, and holds what is above f16's range.
struct OverflowingOp {
  const char* name;
  std::function<void(View<const f16> x, View<f16> out)> run;
};

}  // namespace

TEST_CASE("what the watch hook tells of an op in its operand's place is what it tells of one apart",
          "[in_place]") {
  using P = Half;
  const Shape shape{2, 3, 8};
  const auto large = [](const Shape& of, std::uint32_t seed) {
    return random_tensor<f16>(of, seed, 3000, 55000);
  };
  const Tensor<f16> other = sent(large(shape, 1)), weight = sent(random_tensor<f16>({8}, 2, 1000, 62000)),
                    per_sample = sent(large({2, 8}, 3));
  const RotaryTable table{sent(random_tensor<f32>({3, 4}, 4, 2)), sent(random_tensor<f32>({3, 4}, 5, 2))};
  const auto as_image = [](auto view) { return view.reshaped(Shape{1, 2, 3, 8}); };
  Tensor<f16> second(shape);
  const std::vector<OverflowingOp> ops{
      {"add", [&](auto x, auto out) { add_into<P>(other, x, out); }},
      {"gated_add", [&](auto x, auto out) { gated_add_into<P>(x, other, per_sample, out); }},
      {"gated_product", [&](auto x, auto out) { gated_product_into<P, elementwise::Silu>(other, x, out); }},
      {"scale_shift", [](auto x, auto out) { scale_shift_into<P>(x, {.factor = 3}, out); }},
      {"layer_norm", [&](auto x, auto out) { layer_norm_into<P>(x, weight, weight, {}, out); }},
      {"rms_norm", [&](auto x, auto out) { rms_norm_into<P>(x, weight, {}, out); }},
      {"group_norm",
       [&](auto x, auto out) {
         group_norm_into<P>(as_image(x), weight, weight, {.groups = 2}, as_image(out));
       }},
      {"rotary", [&](auto x, auto out) { rotary_into<P>(x, table, out); }},
      {"dropout", [](auto x, auto out) { dropout_into<P>(x, {.probability = 0.75f}, out); }},
      {"rotary_gradient", [&](auto x, auto out) { rotary_gradient_into<P>(x, table, out); }},
      {"gated_product_gradient",
       [&](auto x, auto out) {
         gated_product_gradient_into<P, elementwise::Silu>(other, x, other, out, second.view());
       }},
  };
  for (const OverflowingOp& op : ops) {
    INFO(op.name);
    Tensor<f16> x = sent(large(shape, 6)), apart(shape);
    Recorder of_apart, in_place;
    {
      const watch::Watching watching(of_apart);
      op.run(x.view(), apart.view());
    }
    {
      const watch::Watching watching(in_place);
      op.run(x.view(), x.view());
    }
    CHECK(same_bits(to_host(apart), to_host(x)));
    REQUIRE(!of_apart.found.empty());
    REQUIRE(in_place.found.size() == of_apart.found.size());
    for (std::size_t i = 0; i < in_place.found.size(); ++i) {
      CHECK(in_place.found[i].value_in_f32 == of_apart.found[i].value_in_f32);
      CHECK(std::isfinite(in_place.found[i].value_in_f32));
    }
  }
}
#endif
