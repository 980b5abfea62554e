// Estimates of a loss from weights and inputs: what they are, and how well they put the layers of `shapes` in
// order; and the layers of a measurement in several jobs.
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <casting/estimate.hpp>
#include <casting/measure.hpp>
#include <casting/rank_correlation.hpp>
#include <catch2/catch.hpp>
#include <flux/pipeline.hpp>
#include <support/golden_requests.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/watch/input_squares.hpp>

namespace estimates {
namespace {

using namespace precast;
using namespace precast::casting;
using namespace precast::testing;

const std::string shapes = std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model";

const flux::FluxPipeline& pipeline() {
  static const flux::FluxPipeline opened(shapes, flux::ComponentChoices::all(f32_choices().front()));
  return opened;
}

/// Samples of two prompts, and the mean squares of what met each matrix meanwhile.
struct Recorded {
  std::vector<families::RecordedState> samples;
  std::map<std::string, std::vector<f32>> squares;
};

const Recorded& recorded() {
  static const Recorded all = [] {
    Recorded made;
    flux::Request request;
    request.prompts = {"a large red circle on a blue background, at the left", "a small green star"};
    request.seed = 3;
    watch::InputSquares counted;
    {
      const watch::CountingInputSquares counting(counted);
      pipeline().record(
          request, {4, [&](families::RecordedState state) { made.samples.push_back(std::move(state)); }});
    }
    for (const auto& [path, sums] : counted.by_path()) {
      constexpr std::string_view beginning = "transformer.";
      if (!path.starts_with(beginning)) continue;
      std::vector<f32>& squares = made.squares[path.substr(beginning.size()) + ".weight"];
      for (const double sum : sums.squares)
        squares.push_back(static_cast<f32>(sum / static_cast<double>(sums.rows)));
    }
    return made;
  }();
  return all;
}

CostSettings settings_of(std::vector<std::string> types, std::vector<std::int64_t> layers) {
  CostSettings settings;
  settings.types = std::move(types);
  settings.layers = std::move(layers);
  settings.importance = [](const std::string& name, std::int64_t columns) -> std::span<const f32> {
    const auto found = recorded().squares.find(name);
    // On any thread: an exception, which ends the test, and no assertion.
    if (found == recorded().squares.end() || std::ssize(found->second) != columns)
      throw InputError(name + " was not recorded");
    return found->second;
  };
  return settings;
}

CostFile measured(std::span<families::Blocks* const> jobs, const CostSettings& settings,
                  CostFile so_far = {}) {
  return measure_cost(jobs, recorded().samples, settings, std::move(so_far), {}, [](const CostFile&) {});
}

}  // namespace

TEST_CASE("an estimate weighs squared errors by the columns' inputs") {
  const std::array<f32, 6> weights{1, 2, 3, -4, 5, -6}, cast{1, 2.5, 3, -4, 6, -8};
  const std::array<f32, 3> squares{0.5, 2, 10};
  LossEstimate estimate;
  estimate.add(weights, cast, squares);
  CHECK(estimate.value() == 2 * 0.25 + 2 * 1 + 10 * 4.0);
  LossEstimate exact;
  exact.add(weights, weights, squares);
  CHECK(exact.value() == 0);
  exact.add(weights, cast, squares);
  exact.add(weights, cast, squares);
  CHECK(exact.value() == 2 * *estimate.value());
  exact.add(weights, cast, {});
  CHECK_FALSE(exact.value());

  // Many rows are summed by several tasks, in one order.
  std::vector<f32> many, changed;
  for (int i = 0; i < 3000 * 100; ++i) {
    many.push_back(std::sin(static_cast<f32>(i)));
    changed.push_back(many.back() + 0.001f * std::cos(static_cast<f32>(i)));
  }
  const std::vector<f32> hundred(100, 0.3f);
  const auto by_threads = [&](int threads) {
    host::set_threads(threads);
    LossEstimate sum;
    sum.add(many, changed, hundred);
    return *sum.value();
  };
  CHECK(by_threads(1) == by_threads(2));
}

TEST_CASE("a rank correlation is Spearman's, equal numbers in the middle of their ranks") {
  const std::array<double, 4> rising{1, 2, 30, 400}, falling{4, 3, 2, -1}, tied{1, 2, 2, 3},
      other{1, 3, 2, 4}, same{5, 5, 5, 5};
  CHECK(rank_correlation(rising, rising) == Approx(1));
  CHECK(rank_correlation(rising, falling) == Approx(-1));
  CHECK(rank_correlation(tied, other) == Approx(0.9486832980505138));  // scipy.stats.spearmanr
  CHECK_FALSE(rank_correlation(rising, same));
  CHECK_FALSE(rank_correlation(std::span(rising).first(2), std::span(falling).first(2)));
}

TEST_CASE("several jobs measure the numbers of one, begun anew or gone on with") {
  std::vector<std::unique_ptr<families::Blocks>> loaded;
  std::vector<families::Blocks*> jobs;
  for (int job = 0; job < 3; ++job) {
    loaded.push_back(pipeline().load_blocks());
    jobs.push_back(loaded.back().get());
  }
  const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5};
  const CostFile alone = measured(std::span(jobs).first(1), settings_of({"q8_0", "q4_0"}, all));
  host::set_threads(2);
  CHECK(measured(jobs, settings_of({"q8_0", "q4_0"}, all)) == alone);
  const CostFile begun = measured(std::span(jobs).first(2), settings_of({"q4_0"}, {1, 4}));
  CHECK(measured(jobs, settings_of({"q8_0", "q4_0"}, all), begun) == alone);
  for (const LayerCost& layer : alone.layers) CHECK(layer.types.at("q4_0").estimate > 0);

  // What one job throws ends the others, and is what comes out.
  std::int64_t calls = 0;
  const auto stop = [&](std::int64_t done, std::int64_t total) {
    CHECK(done <= total);
    if (++calls == 30) throw InputError("stopped");
  };
  CHECK_THROWS_WITH(measure_cost(jobs, recorded().samples, settings_of({"q8_0", "q4_0"}, all), {}, stop,
                                 [](const CostFile&) {}),
                    "stopped");
  CHECK(calls == 30);
}

TEST_CASE("estimates need no run, and put the layers of `shapes` into the order of their losses") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5};
  const std::vector<std::string> types{"q8_0", "fp8_e4m3", "q5_0", "q4_0"};
  families::Blocks* const job = blocks.get();
  const CostFile file = measured(std::span(&job, 1), settings_of(types, all));
  CostSettings unrun = settings_of(types, all);
  unrun.only_estimates = true;
  std::vector<std::int64_t> told;
  const CostFile estimated = measure_cost(
      *blocks, {}, unrun, {},
      [&](std::int64_t done, std::int64_t total) {
        told.push_back(done);
        CHECK(total == 6);
      },
      [](const CostFile&) {});
  CHECK(told == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  for (std::size_t layer = 0; layer < 6; ++layer)
    for (const std::string& type : types) {
      const TypeCost& known = file.layers[layer].types.at(type);
      const TypeCost& alone = estimated.layers[layer].types.at(type);
      CHECK(alone == TypeCost{known.bits, {}, {}, {}, {}, known.estimate});
      CHECK(*alone.estimate > 0);
    }
  // Of the 720 orders of six layers 21 have a rank correlation above 0.8: by chance it is less than one in
  // twenty.
  for (const std::string& type : types)
    for (const auto member : {&TypeCost::relative_cost, &TypeCost::relative_loss}) {
      std::vector<double> estimates, numbers;
      for (const LayerCost& layer : file.layers) {
        estimates.push_back(*layer.types.at(type).estimate);
        numbers.push_back(*(layer.types.at(type).*member));
      }
      INFO(type << ": " << *rank_correlation(estimates, numbers));
      CHECK(*rank_correlation(estimates, numbers) > 0.8);
    }
  // Estimates are added to what was measured, and change nothing else.
  CostSettings unestimated = settings_of(types, all);
  unestimated.importance = nullptr;
  CostFile plain = measured(std::span(&job, 1), unestimated);
  CHECK_FALSE(plain.layers[0].types.at("q4_0").estimate);
  CHECK(measure_cost(*blocks, {}, unrun, plain, {}, [](const CostFile&) {}) == file);
}

}  // namespace estimates
