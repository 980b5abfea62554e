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
#include <precast/tensor/tensor.hpp>
#include <precast/train/adamw.hpp>
#include <precast/train/clip.hpp>
#include <precast/train/grad_scaler.hpp>
#include <precast/train/optimiser.hpp>
#include <precast/train/schedule.hpp>

namespace precast::train {

using testing::Golden;

namespace {

template <ScalarDtype T>
std::vector<T> in(const HostTensor<f32>& values) {
  std::vector<T> result;
  for (const f32 value : values.values()) result.push_back(convert<T>(value));
  return result;
}

/// The parameter after each of the golden file's steps, one after the other.
template <ScalarDtype T>
std::vector<T> stepped(const Golden& golden, const std::string& name, bool decays = true) {
  std::vector<T> parameter = in<T>(golden.tensor(name + ".start"));
  const std::vector<T> gradients = in<T>(golden.tensor(name + ".gradients"));
  std::vector<T> mean(parameter.size(), convert<T>(0.0f)), square = mean, all;
  const AdamWOptions options{.lr = 3e-3, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1};
  for (std::size_t step = 0; step * parameter.size() < gradients.size(); ++step) {
    const auto gradient = std::span(gradients).subspan(step * parameter.size(), parameter.size());
    adamw_step<T>(parameter, gradient, mean, square, options, static_cast<std::int64_t>(step) + 1, decays);
    all.insert(all.end(), parameter.begin(), parameter.end());
  }
  return all;
}

template <ScalarDtype T>
std::vector<f32> widened(const std::vector<T>& values) {
  std::vector<f32> result;
  for (const T value : values) result.push_back(convert<f32>(value));
  return result;
}

}  // namespace

TEST_CASE("AdamW has the bits of PyTorch's steps in f32, and rounds an f16 model where PyTorch does",
          "[adamw]") {
  const Golden golden("adamw");
  const HostTensor<f32> in_f32 = golden.tensor("f32.values"), in_f16 = golden.tensor("f16.values");
  CHECK(in_f32.elements() == 6 * 37);
  CHECK(stepped<f32>(golden, "f32") == std::vector<f32>(in_f32.values().begin(), in_f32.values().end()));
  CHECK(widened(stepped<f16>(golden, "f16")) ==
        std::vector<f32>(in_f16.values().begin(), in_f16.values().end()));
}

TEST_CASE("the weight decay applies to what is told to decay", "[adamw]") {
  const Golden golden("adamw");
  CHECK(stepped<f32>(golden, "f32") != stepped<f32>(golden, "f32", false));
}

TEST_CASE("AdamW in f16 with a small eps divides by zero as PyTorch's does", "[adamw]") {
  std::vector<f16> parameter{convert<f16>(1.0f)}, mean{convert<f16>(0.0f)}, square = mean;
  const std::vector<f16> gradient{convert<f16>(1e-3f)};  // its square times 0.001 is 0 in f16, and so is eps
  adamw_step<f16>(parameter, gradient, mean, square, {}, 1, false);
  CHECK(!std::isfinite(convert<f32>(parameter[0])));
}

TEST_CASE("AdamW in f16 adds an eps that is rounded to f16, as PyTorch's does", "[adamw]") {
  std::vector<f16> parameter{convert<f16>(0.0f)}, mean = parameter, square = parameter;
  const std::vector<f16> gradient{convert<f16>(1206.0f / 32768)};
  adamw_step<f16>(parameter, gradient, mean, square, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.1}, 1,
                  false);
  // torch.optim.AdamW's; with the eps of f32 it is the f16 after it.
  CHECK(convert<f32>(parameter[0]) == -0.269287109375f);
}

TEST_CASE("AdamW refuses arrays of a parameter that it cannot step, and changes none", "[adamw]") {
  const auto all_of = [](double value) {
    HostTensor<f32> tensor(Shape{4, 6});
    std::ranges::fill(tensor.values(), static_cast<f32>(value));
    return tensor;
  };
  HostTensor<f32> master = all_of(1), gradient = all_of(1), mean = all_of(0), square = all_of(0);
  HostTensor<bf16> stored(Shape{4, 6});
  const auto step = [&]<class Stored>(View<const f32> of_gradient, View<Stored> read) {
    // The second is as it should be, and so is its turn.
    const AdamWArrays<f32, Stored> wrong{master.view(), of_gradient, mean.view(), square.view(), read};
    AdamWArrays<f32, Stored> right = wrong;
    right.gradient = std::as_const(gradient).view();
    if constexpr (std::is_same_v<Stored, bf16>)
      right.stored = stored.view();
    else
      right.stored = {};
    const std::vector<AdamWArrays<f32, Stored>> both{right, wrong};
    adamw_step<f32, Stored>(std::span<const AdamWArrays<f32, Stored>>(both), {}, 1);
  };
  const HostView<const f32> given = std::as_const(gradient).view();
  const HostTensor<f32> wide(Shape{4, 7});
  CHECK_THROWS_WITH(step(given.rows_between(0, 3), stored.view()), Catch::Contains("of another size"));
  CHECK_THROWS_WITH(step(wide.view().columns_between(0, 6), stored.view()), Catch::Contains("gaps"));
  CHECK_THROWS_WITH(step(given, View<bf16>()), Catch::Contains("stored values, which ops read"));
  HostTensor<f32> copy = all_of(1);
  CHECK_THROWS_WITH(step(given, copy.view()), Catch::Contains("leave them out"));
  CHECK(std::ranges::count(master.values(), 1.0f) == master.elements());
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

TEST_CASE("AdamW's bits do not depend on the number of threads", "[adamw]") {
  const auto run = [](int threads) {
    host::set_threads(threads);
    std::vector<f32> parameter(100'000), mean(parameter.size()), square(parameter.size()),
        gradient(parameter.size());
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      parameter[i] = std::sin(static_cast<f32>(i));
      gradient[i] = std::cos(static_cast<f32>(i) * 0.7f);
    }
    adamw_step<f32>(parameter, gradient, mean, square, {}, 1, true);
    parameter.push_back(static_cast<f32>(sum_of_squares<f32>(parameter)));
    return parameter;
  };
  const auto one = run(1);
  CHECK(one == run(2));
}

TEST_CASE("options out of range are refused", "[adamw]") {
  CHECK_THROWS_AS(check({.lr = -1}), InputError);
  CHECK_THROWS_AS(check({.lr = NAN}), InputError);
  CHECK_THROWS_AS(check({.beta1 = 1}), InputError);
  CHECK_THROWS_AS(check({.eps = -1e-8}), InputError);
  CHECK_THROWS_AS(GradScaler({.init_scale = 0}), InputError);
  CHECK_THROWS_AS(GradScaler({.growth_factor = 1}), InputError);
  CHECK_THROWS_AS(GradScaler({.backoff_factor = 1}), InputError);
  CHECK_THROWS_AS(GradScaler({.growth_interval = 0}), InputError);
  std::vector<f32> two(2), three(3);
  CHECK_THROWS_AS(adamw_step<f32>(two, three, two, two, {}, 1, true), ShapeError);
  CHECK_THROWS_AS(adamw_step<f32>(two, two, two, two, {}, 0, true), InputError);
}

TEST_CASE("the scale grows and backs off as PyTorch's", "[grad_scaler]") {
  const Golden golden("training");
  const std::vector<double> history = golden.doubles("scaler");
  GradScaler scaler({.init_scale = 1024, .growth_factor = 3, .backoff_factor = 0.3, .growth_interval = 3});
  for (std::size_t i = 0; i < history.size(); i += 3) {
    std::vector<f32> gradients{1.0f, history[i] != 0 ? std::numeric_limits<f32>::infinity() : 2.0f};
    const std::int64_t found = scaler.unscale<f32>(gradients);
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
  std::vector<f32> gradients{3.0f, std::nanf("")};
  CHECK(off.unscale<f32>(gradients) == 1);
  CHECK(gradients[0] == 3.0f);
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
    const HostTensor<f32> given = golden.tensor("clip.gradients");
    std::vector<f32> gradients(given.values().begin(), given.values().end());
    const double norm = std::sqrt(sum_of_squares<f32>(gradients));
    // PyTorch's norms are f32: of at most 15 squares, of which the root halves the roundings, and of two
    // norms.
    constexpr double roundings = 12 * 0x1p-24;
    CHECK(norm == Approx(golden.tensor(std::string(name) + ".norm").values()[0]).epsilon(roundings));
    scale_gradients<f32>(gradients, clip_factor(norm, most));
    const HostTensor<f32> expected = golden.tensor(std::string(name) + ".gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      CHECK(gradients[i] == Approx(expected.values()[i]).epsilon(roundings + 4 * 0x1p-24));
  }
}

}  // namespace precast::train
