// Stable Diffusion's residual block under a policy that the pipeline has no path for: a group norm that sums
// 163,840 values in f16, as XL's at 1024x1024 does, with what cures it; and with convolutions cast up.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <stable_diffusion/unet_blocks.hpp>
#include <support/arrays.hpp>
#include <support/generated_weights.hpp>

#include <precast/memory/memory.hpp>
#include <precast/policy/policy.hpp>
#include <precast/watch/trace.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using Reference = Policy<Storage<f32>>;
using Plain = Policy<Storage<f16>>;
using Naive = Policy<Storage<f16>, Downcast<Norm>>;
using ConvUp = Policy<Storage<bf16>, Upcast<Conv>>;
using Bf16 = Policy<Storage<bf16>>;

struct Size {
  std::int64_t channels, groups, side;
};
// A group of XL's first level: 320 channels in 32 groups, 128 x 128 latents.
constexpr Size of_xl{10, 1, 128};
static_assert(of_xl.channels * of_xl.side * of_xl.side == 163840);
/// The first level of 1.5's UNet for 512 x 512 pixels, all of it.
constexpr Size of_v1{320, 32, 64};
constexpr std::int64_t time_width = 4;

/// The block's input: values around 3, as deviations of a trained model's are of that size, so that a group's
/// sum is half a million.
template <class T>
Tensor<T> picture(const Size& size) {
  Tensor<T> x(Shape{1, size.side, size.side, size.channels});
  const std::vector<f32> noise = generated_values("picture", x.elements());
  for (std::size_t i = 0; i < noise.size(); ++i) x.values()[i] = convert<T>(noise[i] + 3);
  return x;
}

struct Outcome {
  std::vector<double> values;
  watch::Trace trace;
  double seconds = 0;
  std::int64_t peak_bytes = 0;  ///< of tensors, the input and the weights among them
};

template <PolicyType P>
Outcome run(const Size& size = of_xl) {
  using T = typename P::activation;
  const std::int64_t channels = size.channels;
  const GeneratedSource source("block", {{"norm1.weight", Shape{channels}},
                                         {"norm1.bias", Shape{channels}},
                                         {"conv1.weight", Shape{channels, channels, 3, 3}},
                                         {"conv1.bias", Shape{channels}},
                                         {"time_emb_proj.weight", Shape{channels, time_width}},
                                         {"time_emb_proj.bias", Shape{channels}},
                                         {"norm2.weight", Shape{channels}},
                                         {"norm2.bias", Shape{channels}},
                                         {"conv2.weight", Shape{channels, channels, 3, 3}},
                                         {"conv2.bias", Shape{channels}}});
  stable_diffusion::UNetConfig config;
  config.norm_groups = size.groups;
  config.time_width = time_width;
  const stable_diffusion::ResidualBlock<P> block(nn::ParameterPath(source), channels, channels, config);
  const Tensor<T> x = picture<T>(size);
  Tensor<T> time(Shape{1, time_width});
  for (T& value : time.values()) value = convert<T>(0.5f);
  Outcome outcome;
  {
    const watch::Watching watching(outcome.trace);
    const Tensor<T> result = block(x, time);
    outcome.values = wide(result);
  }
  reset_peak_memory();
  const auto start = std::chrono::steady_clock::now();
  block(x, time);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.peak_bytes = memory_use().peak;
  return outcome;
}

/// Length of the difference over length of the reference.
double error(const std::vector<double>& values, const std::vector<double>& reference) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference += (values[i] - reference[i]) * (values[i] - reference[i]);
    length += reference[i] * reference[i];
  }
  return std::sqrt(difference / length);
}

}  // namespace

TEST_CASE("a group norm that sums 163,840 values in f16 breaks a block of Stable Diffusion", "[watch]") {
  const Outcome reference = run<Reference>(), naive = run<Naive>(), plain = run<Plain>();
  REQUIRE(reference.trace.non_finite_values() == 0);

  // The cause is located: the first norm, whose result f16 could hold, and whose sum it cannot.
  REQUIRE(naive.trace.first_non_finite().has_value());
  const watch::NonFinite& found = *naive.trace.first_non_finite();
  CHECK(found.record.path == "norm1");
  CHECK(found.record.op == "Norm");
  CHECK(found.record.dtypes.accumulate == "f16");
  CHECK(watch::cause_of(found) == watch::Cause::inside);
  CHECK(std::abs(found.value_in_f32) < 10);
  CHECK(watch::cure_for(found) == watch::Cure::no_downcast);
  CHECK_THAT(watch::diagnosis(found),
             Catch::EndsWith("a policy that does not downcast this op class cures it"));
  CHECK(std::isnan(naive.values.front()));

  // What it names cures it: the same f16 with the norm's sums in f32. Eight results on the way are rounded.
  CHECK(plain.trace.non_finite_values() == 0);
  CHECK(error(plain.values, reference.values) < 8 * unit<f16>);
}

TEST_CASE("convolutions cast up take f32 operands in a block of Stable Diffusion, and nothing else does",
          "[watch]") {
  const Outcome reference = run<Reference>(), plain = run<Bf16>(), up = run<ConvUp>();
  const auto operands = [](const Outcome& outcome, std::string_view op) {
    std::vector<std::string> dtypes;
    for (const watch::OpRecord& record : outcome.trace.records())
      if (record.op == op) dtypes.emplace_back(record.dtypes.operand);
    return dtypes;
  };
  CHECK(operands(plain, "Conv") == std::vector<std::string>{"bf16", "bf16"});
  CHECK(operands(up, "Conv") == std::vector<std::string>{"f32", "f32"});
  CHECK(operands(up, "Matmul") == std::vector<std::string>{"bf16"});
  CHECK(operands(up, "Norm") == operands(plain, "Norm"));
  for (const watch::OpRecord& record : up.trace.records()) CHECK(record.dtypes.result == "bf16");
  // bf16's products are exact in f32 and their sums are f32 either way: the cast changes where they are
  // computed, and what is stored between the ops, which makes the error, not at all.
  CHECK(error(up.values, reference.values) < 8 * unit<bf16>);
  CHECK(error(up.values, plain.values) < unit<bf16>);
}

TEST_CASE("what the sums of norms cost, in milliseconds and MiB", "[.cost]") {
  for (const Size& size : {of_xl, of_v1})
    for (int i = 0; i < 3; ++i) {
      const Outcome naive = run<Naive>(size), plain = run<Plain>(size);
      WARN(size.side << " x " << size.side << " x " << size.channels << ": in f16 " << 1000 * naive.seconds
                     << " and " << static_cast<double>(naive.peak_bytes) / (1 << 20) << ", in f32 "
                     << 1000 * plain.seconds << " and " << static_cast<double>(plain.peak_bytes) / (1 << 20));
    }
}
