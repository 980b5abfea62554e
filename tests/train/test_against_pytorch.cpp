// The optimiser, loss scaling, schedules and clipping against PyTorch's numbers (tests/golden/make_adamw.py,
// make_training.py).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/cast.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/train/clip.hpp>
#include <precast/train/grad_scaler.hpp>
#include <precast/train/optimiser.hpp>
#include <precast/train/schedule.hpp>

namespace precast::train {

using testing::Golden;

namespace {

HostTensor<f32> filled(const Shape& shape, f32 value) {
  HostTensor<f32> tensor(shape);
  std::ranges::fill(tensor.values(), value);
  return tensor;
}

/// A parameter in T, and what AdamW keeps of it.
template <ScalarDtype T>
struct Stepped {
  HostTensor<T> master;
  HostTensor<T> mean = cast<T>(filled(master.shape(), 0)), square = mean.clone();

  void step(const HostTensor<T>& gradient, const AdamWOptions& options, std::int64_t step, bool decays) {
    const AdamWArrays<T, T> arrays{.master = master.view(),
                                   .gradient = gradient.view(),
                                   .mean = mean.view(),
                                   .square = square.view(),
                                   .stored = {},
                                   .decays = decays};
    adamw_step<T, T>(std::span(&arrays, 1), options, step);
  }
};

/// One value in T, which was `start`, after AdamW's first step.
template <ScalarDtype T>
f32 first_step(f32 start, f32 gradient, const AdamWOptions& options) {
  Stepped<T> one{cast<T>(filled(Shape{1}, start))};
  one.step(cast<T>(filled(Shape{1}, gradient)), options, 1, false);
  return convert<f32>(one.master.values()[0]);
}

/// The parameter after each of the golden file's steps, one after the other.
template <ScalarDtype T>
std::vector<f32> stepped(const Golden& golden, const std::string& name, bool decays = true) {
  Stepped<T> parameter{cast<T>(golden.tensor(name + ".start"))};
  const HostTensor<f32> gradients = golden.tensor(name + ".gradients");
  const AdamWOptions options{.lr = 3e-3, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1};
  std::vector<f32> all;
  for (std::int64_t step = 0; step < gradients.rows(); ++step) {
    const HostTensor<T> gradient = cast<T>(gradients.view().rows_between(step, 1));
    parameter.step(gradient, options, step + 1, decays);
    for (const T value : parameter.master.values()) all.push_back(convert<f32>(value));
  }
  return all;
}

/// Of one array of gradients, which it changes.
GradientSums unscaled(HostTensor<f32>& gradients, const GradScaler& scaler) {
  const View<f32> all = gradients.view();
  return unscale<f32>(std::span(&all, 1), scaler);
}

}  // namespace

TEST_CASE("AdamW has the bits of PyTorch's steps in f32, and rounds an f16 model where PyTorch does",
          "[adamw]") {
  const Golden golden("adamw");
  const HostTensor<f32> in_f32 = golden.tensor("f32.values"), in_f16 = golden.tensor("f16.values");
  CHECK(in_f32.elements() == 6 * 37);
  CHECK(stepped<f32>(golden, "f32") == std::vector<f32>(in_f32.values().begin(), in_f32.values().end()));
  CHECK(stepped<f16>(golden, "f16") == std::vector<f32>(in_f16.values().begin(), in_f16.values().end()));
}

TEST_CASE("the weight decay applies to what is told to decay", "[adamw]") {
  const Golden golden("adamw");
  CHECK(stepped<f32>(golden, "f32") != stepped<f32>(golden, "f32", false));
}

TEST_CASE("AdamW in f16 with a small eps divides by zero as PyTorch's does", "[adamw]") {
  // The square of the gradient times 0.001 is 0 in f16, and so is eps.
  CHECK(!std::isfinite(first_step<f16>(1, 1e-3f, {})));
}

TEST_CASE("AdamW in f16 adds an eps that is rounded to f16, as PyTorch's does", "[adamw]") {
  // torch.optim.AdamW's; with the eps of f32 it is the f16 after it.
  CHECK(first_step<f16>(0, 1206.0f / 32768, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.1}) ==
        -0.269287109375f);
}

TEST_CASE("AdamW refuses arrays of a parameter that it cannot step, and changes none", "[adamw]") {
  const auto all_of = [](f32 value) { return filled(Shape{4, 6}, value); };
  HostTensor<f32> master = all_of(1), gradient = all_of(1), mean = all_of(0), square = all_of(0);
  HostTensor<f32> other_master = all_of(1), other_mean = all_of(0), other_square = all_of(0);
  HostTensor<bf16> stored(Shape{4, 6}), other_stored(Shape{4, 6});
  const HostTensor<f32> other_gradient = all_of(1);
  const auto step = [&]<class Stored>(View<const f32> of_gradient, View<Stored> read) {
    // The first is as it should be, and is stepped first.
    AdamWArrays<f32, Stored> right{
        other_master.view(), other_gradient.view(), other_mean.view(), other_square.view(), {}};
    if constexpr (std::is_same_v<Stored, bf16>) right.stored = other_stored.view();
    const std::vector<AdamWArrays<f32, Stored>> both{
        right, {master.view(), of_gradient, mean.view(), square.view(), read}};
    adamw_step<f32, Stored>(std::span<const AdamWArrays<f32, Stored>>(both), {}, 1);
  };
  const HostView<const f32> given = std::as_const(gradient).view();
  const HostTensor<f32> wide(Shape{4, 7});
  CHECK_THROWS_WITH(step(given.rows_between(0, 3), stored.view()), Catch::Contains("of another size"));
  CHECK_THROWS_WITH(step(wide.view().columns_between(0, 6), stored.view()), Catch::Contains("gaps"));
  CHECK_THROWS_WITH(step(given, View<bf16>()), Catch::Contains("stored values, which ops read"));
  HostTensor<f32> copy = all_of(1);
  CHECK_THROWS_WITH(step(given, copy.view()), Catch::Contains("leave them out"));
  CHECK_THROWS_WITH(step(given, other_stored.view()),
                    Catch::Contains("the stored copy [4, 6] and the stored copy [4, 6] overlap"));
  CHECK_THROWS_WITH(step(std::as_const(mean).view(), stored.view()), Catch::Contains("overlap"));
  CHECK(std::ranges::count(master.values(), 1.0f) == master.elements());
  CHECK(std::ranges::count(other_master.values(), 1.0f) == master.elements());
  CHECK_NOTHROW(step(given, stored.view()));
  CHECK(std::ranges::count(master.values(), 1.0f) == 0);
}

TEST_CASE("gradients of which one has gaps are refused, and none is changed", "[optimiser]") {
  HostTensor<f32> whole(Shape{4, 6}), wide(Shape{4, 7});
  std::ranges::fill(whole.values(), 1.0f);
  const std::vector<View<f32>> gradients{whole.view(), wide.view().columns_between(0, 6)};
  CHECK_THROWS_AS(unscale<f32>(std::span<const View<f32>>(gradients), GradScaler({.init_scale = 1024})),
                  ShapeError);
  CHECK_THROWS_AS(scale_gradients<f32>(std::span<const View<f32>>(gradients), 0.5f), ShapeError);
  CHECK(std::ranges::count(whole.values(), 1.0f) == whole.elements());
}

TEST_CASE("a gradient that is listed twice is refused, and not scaled twice", "[optimiser]") {
  HostTensor<f32> whole(Shape{4, 6});
  std::ranges::fill(whole.values(), 1.0f);
  const std::vector<View<f32>> gradients{whole.view().rows_between(2, 2), View<f32>(), whole.view()};
  const std::string sentence = "the gradient [4, 6] and the gradient [2, 6] overlap";
  CHECK_THROWS_WITH(unscale<f32>(std::span<const View<f32>>(gradients), GradScaler({.init_scale = 1024})),
                    Catch::Contains("unscale: " + sentence));
  CHECK_THROWS_WITH(scale_gradients<f32>(std::span<const View<f32>>(gradients), 0.5f),
                    Catch::Contains("scale_gradients: " + sentence));
  CHECK(std::ranges::count(whole.values(), 1.0f) == whole.elements());
}

TEST_CASE("AdamW's bits do not depend on the number of threads", "[adamw]") {
  const auto run = [](int threads) {
    host::set_threads(threads);
    Stepped<f32> parameter{HostTensor<f32>(Shape{100'000})};
    HostTensor<f32> gradient(parameter.master.shape());
    for (std::size_t i = 0; i < 100'000; ++i) {
      parameter.master.values()[i] = std::sin(static_cast<f32>(i));
      gradient.values()[i] = std::cos(static_cast<f32>(i) * 0.7f);
    }
    const double squares = unscaled(gradient, GradScaler({.init_scale = 1024})).squares;
    parameter.step(gradient, {}, 1, true);
    const auto values = parameter.master.values();
    return std::pair(std::vector<f32>(values.begin(), values.end()), squares);
  };
  const auto one = run(1);
  CHECK(one == run(2));
}

TEST_CASE("AdamW refuses options out of range, and changes nothing", "[adamw]") {
  Stepped<f32> parameter{filled(Shape{3}, 1)};
  const HostTensor<f32> gradient = filled(Shape{3}, 1);
  const auto step = [&](const AdamWOptions& options, std::int64_t number = 1) {
    parameter.step(gradient, options, number, true);
  };
  CHECK_THROWS_WITH(step({.lr = -1}), "AdamW: the learning rate must be 0 or more");
  CHECK_THROWS_AS(step({.lr = NAN}), InputError);
  CHECK_THROWS_WITH(step({.beta1 = 1}), "AdamW: the first beta must be from 0 to below 1");
  CHECK_THROWS_AS(step({.beta2 = -0.1}), InputError);
  CHECK_THROWS_AS(step({.eps = -1e-8}), InputError);
  CHECK_THROWS_AS(step({.weight_decay = -1}), InputError);
  CHECK_THROWS_WITH(step({}, 0), "AdamW: steps are counted from 1, not from 0");
  CHECK(std::ranges::count(parameter.master.values(), 1.0f) == 3);
}

TEST_CASE("options of loss scaling out of range are refused", "[grad_scaler]") {
  CHECK_THROWS_AS(GradScaler({.init_scale = 0}), InputError);
  CHECK_THROWS_AS(GradScaler({.growth_factor = 1}), InputError);
  CHECK_THROWS_AS(GradScaler({.backoff_factor = 1}), InputError);
  CHECK_THROWS_AS(GradScaler({.growth_interval = 0}), InputError);
}

TEST_CASE("the scale grows and backs off as PyTorch's", "[grad_scaler]") {
  const Golden golden("training");
  const std::vector<double> history = golden.doubles("scaler");
  GradScaler scaler({.init_scale = 1024, .growth_factor = 3, .backoff_factor = 0.3, .growth_interval = 3});
  for (std::size_t i = 0; i < history.size(); i += 3) {
    HostTensor<f32> gradients = filled(Shape{2}, 1);
    if (history[i] != 0) gradients.values()[1] = std::numeric_limits<f32>::infinity();
    const std::int64_t found = unscaled(gradients, scaler).non_finite;
    CHECK(found == static_cast<std::int64_t>(history[i]));
    scaler.update(found > 0);
    CHECK(static_cast<double>(scaler.scale()) == history[i + 1]);
    CHECK(static_cast<double>(scaler.growth_tracker()) == history[i + 2]);
  }
}

TEST_CASE("a scale stays where growing would make it inf, and a scaler that is off changes nothing",
          "[grad_scaler]") {
  GradScaler scaler({.init_scale = 0x1p127, .growth_interval = 1});
  scaler.update(false);
  CHECK(scaler.scale() == 0x1p127f);
  GradScaler off({.enabled = false});
  HostTensor<f32> gradients = filled(Shape{2}, 3);
  gradients.values()[1] = std::nanf("");
  CHECK(unscaled(gradients, off).non_finite == 1);
  CHECK(gradients.values()[0] == 3.0f);
  off.update(true);
  CHECK(off.scale() == 1.0f);
}

TEST_CASE("schedules are transformers'", "[schedule]") {
  const Golden golden("training");
  for (const auto& [name, schedule] :
       {std::pair("schedule.cosine", Schedule::cosine), std::pair("schedule.constant", Schedule::constant)}) {
    const std::vector<double> expected = golden.doubles(name);
    for (std::size_t step = 0; step < expected.size(); ++step)
      CHECK(schedule_factor(schedule, static_cast<std::int64_t>(step), 7, 31) ==
            Approx(expected[step]).margin(1e-15));
  }
}

TEST_CASE("the factor of clipping is 1 at the most, has PyTorch's 1e-6, and NaN for a norm of NaN",
          "[clip]") {
  CHECK(clip_factor(0.5, 1) == 1.0f);
  CHECK(clip_factor(1e-6, 1e-6) == Approx(0.5));
  CHECK(clip_factor(41, 0.3) == 0x1.df881ep-8f);  // 0.3 / (torch.tensor(41.0) + 1e-6), to the bit
  CHECK(clip_factor(std::numeric_limits<double>::infinity(), 1) == 0.0f);
  CHECK(std::isnan(clip_factor(std::nan(""), 1)));
}

TEST_CASE("clipping by the global norm is PyTorch's", "[clip]") {
  const Golden golden("training");
  for (const auto& [name, most] : {std::pair("clip.above", 0.5), std::pair("clip.below", 1000.0)}) {
    HostTensor<f32> gradients = golden.tensor("clip.gradients");
    const View<f32> all = gradients.view();
    const double norm = std::sqrt(unscaled(gradients, GradScaler()).squares);
    // PyTorch's norms are f32: of at most 15 squares, of which the root halves the roundings, and of two
    // norms.
    constexpr double roundings = 12 * 0x1p-24;
    CHECK(norm == Approx(golden.tensor(std::string(name) + ".norm").values()[0]).epsilon(roundings));
    scale_gradients<f32>(std::span(&all, 1), clip_factor(norm, most));
    const HostTensor<f32> expected = golden.tensor(std::string(name) + ".gradients");
    for (std::size_t i = 0; i < gradients.values().size(); ++i)
      CHECK(gradients.values()[i] == Approx(expected.values()[i]).epsilon(roundings + 4 * 0x1p-24));
  }
}

}  // namespace precast::train
