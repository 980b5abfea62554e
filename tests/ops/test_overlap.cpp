// Results that lie where an op reads, or where it writes another: refused. Those that may are in
// op_cases/in_place.cpp.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/ops/cast.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/ops/matmul_gradient.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/ops/training_linear.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// One array, of which inputs and results are parts.
class SharedMemory {
 public:
  SharedMemory() : values_(random_tensor<f32>(Shape{2000}, 1)) {}
  View<f32> at(std::int64_t first, const Shape& shape) {
    return {values_.data() + first, shape, shape.back()};
  }

 private:
  Tensor<f32> values_;
};

const auto refused_overlap = Catch::Contains("overlaps the memory of the operand");

}  // namespace

TEST_CASE("rows at any distance overlap where a value is both's", "[ops]") {
  std::vector<f32> memory(400);
  std::mt19937 random(1);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  const auto rows_anywhere = [&] {
    return View<const f32>(memory.data() + pick(150, 210), Shape{pick(0, 6), pick(0, 6)}, pick(-9, 9));
  };
  int overlaps = 0;
  for (int i = 0; i < 20000; ++i) {
    const View<const f32> a = rows_anywhere(), b = rows_anywhere();
    std::vector<bool> in_a(memory.size());
    for (std::int64_t r = 0; r < a.rows(); ++r)
      for (const f32& value : a.row(r)) in_a[static_cast<std::size_t>(&value - memory.data())] = true;
    bool overlap = false;
    for (std::int64_t r = 0; r < b.rows(); ++r)
      for (const f32& value : b.row(r))
        overlap = overlap || in_a[static_cast<std::size_t>(&value - memory.data())];
    CAPTURE(to_string(a.shape()), to_string(b.shape()), a.data() - memory.data(), a.row_stride(),
            b.data() - memory.data(), b.row_stride());
    REQUIRE(detail::RowBytes(a).overlaps(detail::RowBytes(b)) == overlap);
    overlaps += overlap;
  }
  CHECK(overlaps > 1000);
}

TEST_CASE("heads by any strides overlap where a value is both's", "[ops]") {
  std::vector<f32> memory(4000);
  std::mt19937 random(2);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  // Often those of one layout, side by side or with room between, whose parts lie between each other's.
  std::int64_t shared_head = 3, shared_row = 20, shared_batch = 120;
  const auto heads_anywhere = [&] {
    const bool same = pick(0, 2) > 0;
    const Shape shape{pick(0, 3), pick(1, 6), pick(1, 5), pick(1, 4)};
    const HeadsStrides strides{same ? shared_batch : pick(0, 200), same ? shared_row : pick(0, 40),
                               same ? shared_head : pick(0, 40)};
    return HeadsView<const f32>(memory.data() + pick(900, 1200), shape, strides);
  };
  const auto mark = [&](const HeadsView<const f32>& heads, auto&& each) {
    for (std::int64_t b = 0; b < heads.batch(); ++b)
      for (std::int64_t h = 0; h < heads.heads(); ++h)
        for (std::int64_t r = 0; r < heads.rows(); ++r)
          for (const f32& value : heads.row(b, h, r)) each(static_cast<std::size_t>(&value - memory.data()));
  };
  int overlaps = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i % 50 == 0) shared_head = pick(1, 9), shared_row = pick(1, 60), shared_batch = pick(1, 300);
    const auto a = heads_anywhere(), b = heads_anywhere();
    std::vector<bool> in_a(memory.size());
    mark(a, [&](std::size_t place) { in_a[place] = true; });
    bool overlap = false;
    mark(b, [&](std::size_t place) { overlap = overlap || in_a[place]; });
    CAPTURE(to_string(a.shape()), a.strides().batch, a.strides().row, a.strides().head,
            a.data() - memory.data(), to_string(b.shape()), b.strides().batch, b.strides().row,
            b.strides().head, b.data() - memory.data());
    REQUIRE(detail::HeadsBytes(a).overlaps(detail::HeadsBytes(b)) == overlap);
    overlaps += overlap;
  }
  CHECK(overlaps > 1000);
  CHECK(overlaps < 19000);
}

TEST_CASE("results in the place of another dtype's values or of another order of rows are refused",
          "[ops][cast]") {
  SharedMemory memory;
  const View<f32> x = memory.at(0, {4, 8});
  const View<f16> narrow(reinterpret_cast<f16*>(x.data()), {4, 8}, 8);
  CHECK_THROWS_WITH(cast_into<f16>(x, narrow), refused_overlap);
  CHECK_THROWS_WITH(add_into<F32>(x, x, View<f32>(x.data() + 24, {4, 8}, -8)), refused_overlap);
  CHECK_THROWS_WITH(copy_into<F32>(View<const f32>(x.data(), {4, 4}, 8), View<f32>(x.data(), {4, 4}, 4)),
                    refused_overlap);
  CHECK_NOTHROW(copy_into<F32>(View<const f32>(x.data(), {4, 4}, 8), View<f32>(x.data() + 4, {4, 4}, 8)));
}

TEST_CASE("results in the numbers of rows and classes are refused", "[ops]") {
  SharedMemory memory;
  const View<f32> table = memory.at(0, {6, 8}), rows = memory.at(100, {4, 8}), loss = memory.at(120, Shape{});
  const auto numbers = [](View<f32> in, std::int64_t count) {
    auto* const place = reinterpret_cast<std::int32_t*>(in.data());
    for (std::int64_t i = 0; i < count; ++i) place[i] = 1;
    return Indices<std::int32_t>{place, count};
  };
  CHECK_THROWS_WITH(embedding_into<F32>(table, numbers(memory.at(131, {1, 4}), 4), rows), refused_overlap);
  CHECK_NOTHROW(embedding_into<F32>(table, numbers(memory.at(132, {1, 4}), 4), rows));
  CHECK_THROWS_WITH(embedding_gradient_into<F32>(rows, numbers(memory.at(44, {1, 4}), 4), {}, table),
                    refused_overlap);
  CHECK_NOTHROW(embedding_gradient_into<F32>(rows, numbers(memory.at(48, {1, 4}), 4), {}, table));
  CHECK_THROWS_WITH(cross_entropy_into<F32>(table, numbers(memory.at(115, {1, 6}), 6), {}, loss),
                    refused_overlap);
  CHECK_NOTHROW(cross_entropy_into<F32>(table, numbers(memory.at(114, {1, 6}), 6), {}, loss));
  CHECK_THROWS_WITH(cross_entropy_gradient_into<F32>(1, table, numbers(memory.at(247, {1, 6}), 6), {},
                                                     memory.at(200, {6, 8})),
                    refused_overlap);
}

TEST_CASE("results in parameters, in shared rows or in what is summed are refused", "[ops]") {
  using P = F32;
  SharedMemory memory;
  const Tensor<f32> x = random_tensor<f32>({2, 3, 8}, 8), image = random_tensor<f32>({1, 2, 3, 8}, 9);
  const Tensor<f32> weight = random_tensor<f32>({8}, 10), rows = random_tensor<f32>({6, 8}, 11);
  const View<f32> out = memory.at(100, {2, 3, 8}), image_out = out.reshaped({1, 2, 3, 8}),
                  rows_out = out.reshaped({6, 8});
  const View<f32> in_weight = memory.at(140, {8}), in_rows = memory.at(140, {2, 8});
  CHECK_THROWS_WITH(layer_norm_into<P>(x, in_weight, weight, {}, out), refused_overlap);
  CHECK_THROWS_WITH(layer_norm_into<P>(x, weight, in_weight, {}, out), refused_overlap);
  CHECK_THROWS_WITH(layer_norm_modulate_into<P>(x, in_rows, in_rows, {}, out), refused_overlap);
  CHECK_THROWS_WITH(rms_norm_into<P>(x, in_weight, {}, out), refused_overlap);
  CHECK_THROWS_WITH(rms_norm_heads_into<P>(x, in_weight, {}, out), refused_overlap);
  CHECK_THROWS_WITH(group_norm_into<P>(image, in_weight, weight, {.groups = 2}, image_out), refused_overlap);
  CHECK_THROWS_WITH(group_norm_into<P>(image, weight, in_weight, {.groups = 2}, image_out), refused_overlap);
  CHECK_THROWS_WITH(
      group_norm_with_into<P>(image, memory.at(140, {2, 4}), weight, weight, {.groups = 2}, image_out),
      refused_overlap);
  CHECK_THROWS_WITH(group_moments_into(image_out, {.groups = 2}, memory.at(147, {2, 4})), refused_overlap);
  CHECK_THROWS_WITH(add_into<P>(x, memory.at(140, {3, 8}), out), refused_overlap);
  CHECK_THROWS_WITH(add_per_sample_into<P>(x, in_rows, out), refused_overlap);
  CHECK_THROWS_WITH(gated_add_into<P>(x, x, in_rows, out), refused_overlap);
  CHECK_THROWS_WITH(sum_into<P>(out, Over::last_axis, memory.at(140, {2, 3})), refused_overlap);
  CHECK_THROWS_WITH(mean_into<P>(out, Over::all, memory.at(140, {})), refused_overlap);
  CHECK_THROWS_WITH(mean_squared_error_into<P>(x, out, memory.at(140, {})), refused_overlap);
  CHECK_THROWS_WITH(upsample_nearest_into<P>(image_out, 2, memory.at(100, {1, 4, 6, 8})), refused_overlap);
  CHECK_THROWS_WITH(timestep_embedding_into<P>(memory.at(140, {6}), {}, rows_out), refused_overlap);
  const std::vector<std::int32_t> ids{1, 0, 1, 1, 0, 1};
  CHECK_THROWS_WITH(embedding_into<P>(in_rows, ids, rows_out), refused_overlap);
  // Gradients.
  CHECK_THROWS_WITH(linear_input_gradient_into<P>(rows, memory.at(140, {8, 8}), rows_out), refused_overlap);
  CHECK_THROWS_WITH(linear_input_gradient_into<P>(rows_out, memory.at(600, {8, 8}), rows_out),
                    refused_overlap);
  CHECK_THROWS_WITH(linear_weight_gradient_into<P>(rows, rows_out, {}, memory.at(140, {8, 8})),
                    refused_overlap);
  CHECK_THROWS_WITH(bias_gradient_into<P>(rows_out, {}, in_weight), refused_overlap);
  CHECK_THROWS_WITH(linear_into<P>(rows, memory.at(140, {8, 8}), rows_out), refused_overlap);
  CHECK_THROWS_WITH(linear_into<P>(rows, memory.at(600, {8, 8}), in_weight, rows_out), refused_overlap);
  CHECK_THROWS_WITH(matmul_left_gradient_into<P>(rows, memory.at(140, {8, 8}), rows_out), refused_overlap);
  CHECK_THROWS_WITH(matmul_right_gradient_into<P>(rows_out, rows, memory.at(140, {8, 8})), refused_overlap);
  CHECK_THROWS_WITH(embedding_gradient_into<P>(rows_out, ids, {}, memory.at(140, {2, 8})), refused_overlap);
  CHECK_THROWS_WITH(layer_norm_gradient_into<P>(x, out, {}, out), refused_overlap);
  CHECK_THROWS_WITH(layer_norm_gradient_into<P>(x, x, weight, {}, out, in_weight, memory.at(600, {8})),
                    Catch::Contains("layer_norm_gradient: result 1 and result 2 overlap in memory"));
  CHECK_THROWS_WITH(layer_norm_gradient_into<P>(x, x, in_weight, {}, memory.at(300, {2, 3, 8}), in_weight,
                                                memory.at(600, {8})),
                    refused_overlap);
  CHECK_THROWS_WITH(rms_norm_gradient_into<P>(out, x, weight, {}, out, memory.at(600, {8})), refused_overlap);
  const auto q = memory.at(700, {1, 6, 8}), k = memory.at(750, {1, 6, 8}), v = memory.at(800, {1, 6, 8}),
             result = memory.at(850, {1, 6, 8}), dq = memory.at(900, {1, 6, 8}),
             dk = memory.at(950, {1, 6, 8}), dv = memory.at(1000, {1, 6, 8});
  const auto log_sums = memory.at(1050, {1, 2, 6});
  const AttentionOptions two{.heads = 2};
  CHECK_THROWS_WITH(attention_with_log_sums_into<P>(q, k, v, two, v, log_sums), refused_overlap);
  CHECK_THROWS_WITH(attention_with_log_sums_into<P>(q, k, v, two, result, memory.at(740, {1, 2, 6})),
                    refused_overlap);
  CHECK_THROWS_WITH(attention_with_log_sums_into<P>(q, k, v, two, result, memory.at(850, {1, 2, 6})),
                    refused_overlap);
  // A cache with room behind each batch's rows, of which queries and results are the two halves.
  const HeadsStrides of_cache{200, 32, 16};
  const auto half = [&](std::int64_t first) {
    return HeadsView<f32>(memory.at(first, {1, 1}).data(), Shape{2, 5, 2, 8}, of_cache);
  };
  CHECK_THROWS_WITH(attention_into<P>(half(1200), half(1600), half(1600), {}, half(1200 + 200)),
                    refused_overlap);
  CHECK_THROWS_WITH(attention_into<P>(half(1200), half(1600), half(1600), {}, half(1200 + 64)),
                    refused_overlap);
  attention_into<P>(half(1200), half(1600), half(1600), {}, half(1208));
  attention_with_log_sums_into<P>(q, k, v, two, result, log_sums);
  CHECK_THROWS_WITH(attention_gradient_into<P>(result, q, k, v, result, log_sums, two, q, dk, dv),
                    refused_overlap);
  CHECK_THROWS_WITH(attention_gradient_into<P>(result, q, k, v, result, log_sums, two, dq, result, dv),
                    refused_overlap);
  CHECK_THROWS_WITH(attention_gradient_into<P>(result, q, k, v, result, log_sums, two, dq, dk, dk),
                    Catch::Contains("result 2 and result 3"));
  CHECK_NOTHROW(attention_gradient_into<P>(result, q, k, v, result, log_sums, two, dq, dk, dv));
  AttentionOptions biased = two;
  biased.bias = View<const f32>(memory.at(1200, {2, 6, 6}));
  CHECK_THROWS_WITH(attention_into<P>(q, k, v, biased, memory.at(1240, {1, 6, 8})), refused_overlap);
}
