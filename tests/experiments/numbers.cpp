// The experiments give what their sources state, and what PyTorch makes of the sources' code
// (golden/make_experiments.py).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <experiments/experiment.hpp>
#include <nlohmann/json.hpp>
#include <support/skip.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/policy/paths.hpp>

using namespace precast;
using namespace precast::experiments;

namespace {

constexpr bool compiled = path_compiled(PolicyChoice{.precision = precision_of<f32>}) &&
                          path_compiled(PolicyChoice{.precision = precision_of<bf16>}) &&
                          path_compiled(PolicyChoice{.precision = precision_of<f16>});

const nlohmann::json& golden() {
  static const nlohmann::json numbers = [] {
    std::ifstream file(PRECAST_SOURCE_DIR "/tests/golden/expected/experiments.json");
    return nlohmann::json::parse(file);
  }();
  return numbers;
}

/// A cell of the row whose first cells are these words.
const Cell& cell(const Experiment& experiment, const std::vector<std::string>& words,
                 const std::string& column) {
  const auto& columns = experiment.table.columns;
  const auto at = static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin());
  REQUIRE(at < columns.size());
  for (const auto& row : experiment.table.rows) {
    bool same = true;
    for (std::size_t i = 0; i < words.size(); ++i) same = same && row[i] == Cell(words[i]);
    if (same) return row[at];
  }
  FAIL("no row " << words.front());
  return experiment.table.rows.front().front();
}
double number(const Experiment& experiment, const std::vector<std::string>& words,
              const std::string& column) {
  return std::get<double>(cell(experiment, words, column));
}

/// The distance between a number and the next of f32.
double ulp(double value) { return dtype_traits<f32>::format.ulp(value); }

}  // namespace

TEST_CASE("every experiment explains itself in two sentences, with a table and a plot") {
  if (!compiled) {
    CHECK_THROWS_AS(run("underflow"), PathNotCompiled);
    return;
  }
  CHECK(names().size() == 7);
  for (const std::string_view name : names()) {
    INFO(name);
    const Experiment experiment = run(name);
    CHECK(experiment.name == name);
    const std::string& words = experiment.explanation;
    std::size_t ends = 0;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) ends += words[i] == '.' && words[i + 1] == ' ';
    CHECK(ends == 1);
    CHECK(words.ends_with('.'));
    CHECK_FALSE(experiment.table.rows.empty());
    for (const auto& row : experiment.table.rows) CHECK(row.size() == experiment.table.columns.size());
    CHECK(experiment.plot.lines.size() >= 3);
    for (const Line& line : experiment.plot.lines) {
      CHECK(line.x.size() == line.y.size());
      CHECK(line.x.size() > 10);
    }
    for (const Stated& stated : experiment.stated) {
      INFO(stated.what << ": " << stated.number << ", computed " << stated.computed);
      CHECK(stated.agrees());
    }
  }
  CHECK_THROWS_AS(run("none"), InputError);
}

TEST_CASE("a stated number agrees to half a unit of its last digit") {
  CHECK(Stated{"", "10.0001", 10.00014}.agrees());
  CHECK_FALSE(Stated{"", "10.0001", 10.00016}.agrees());
  CHECK(Stated{"", "6e-5", 6.103515625e-5}.agrees());
  CHECK_FALSE(Stated{"", "6e-5", 6.6e-5}.agrees());
  CHECK(Stated{"", "1.19e-07", 1.1920928955078125e-07}.agrees());
  CHECK(Stated{"", "65504", 65504}.agrees());
  CHECK_FALSE(Stated{"", "65504", 65505}.agrees());
}

TEST_CASE("accumulation gives PyTorch's sums, bit for bit") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("accumulation");
  const nlohmann::json& expected = golden()["accumulation"];
  CHECK(number(experiment, {"f32"}, "total") == expected[0].get<double>());
  CHECK(number(experiment, {"f16"}, "total") == expected[1].get<double>());
  CHECK(number(experiment, {"f32 adding f16"}, "total") == expected[2].get<double>());
  CHECK(number(experiment, {"f32 adding f16 widened first"}, "total") == expected[3].get<double>());
}

TEST_CASE("stagnation gives PyTorch's weights, bit for bit") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("stagnation");
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    INFO(dtype);
    CHECK(number(experiment, {dtype}, "num_steps_where_w_changed") ==
          golden()["stagnation"][dtype]["changed"]);
    CHECK(number(experiment, {dtype}, "final_w") == golden()["stagnation"][dtype]["final"].get<double>());
  }
  // A copy of a master weight moves in steps of its own spacing, and ends where the master does.
  const double master = number(experiment, {"f32"}, "final_w");
  CHECK(std::fabs(number(experiment, {"f16 copy of an f32 master"}, "final_w") - master) <= 0x1p-12);
  CHECK(std::fabs(number(experiment, {"bf16 copy of an f32 master"}, "final_w") - master) <= 0x1p-9);
  for (const std::string dtype : {"f16", "bf16"})
    CHECK(number(experiment, {dtype + " copy of an f32 master"}, "ulp_at_one") ==
          number(experiment, {dtype}, "ulp_at_one"));
}

TEST_CASE("softmax overflows in the formats in which PyTorch's does") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("softmax");
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    INFO(dtype);
    const nlohmann::json& expected = golden()["softmax"][dtype];
    CHECK(std::get<bool>(cell(experiment, {dtype}, "naive_finite")) == expected["naive_finite"]);
    CHECK(std::get<bool>(cell(experiment, {dtype}, "stable_finite")) == expected["stable_finite"]);
    // The largest term that is not 1 is e^-40, of which our exponential may be off by 3 units.
    CHECK(number(experiment, {dtype}, "max_abs_err(stable vs ref)") <=
          expected["error"].get<double>() + 4 * ulp(std::exp(-40.0)));
  }
}

TEST_CASE("softplus overflows where PyTorch's does") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("softplus");
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    INFO(dtype);
    const nlohmann::json& expected = golden()["softplus"][dtype];
    CHECK(number(experiment, {dtype}, "naive_not_finite") == expected["naive_not_finite"]);
    CHECK(number(experiment, {dtype}, "naive_finite_up_to") == expected["naive_finite_up_to"].get<double>());
    CHECK(number(experiment, {dtype}, "naive_largest_error") <=
          expected["naive_error"].get<double>() + 4 * ulp(80));
    CHECK(number(experiment, {dtype}, "stable_largest_error") <=
          expected["stable_error"].get<double>() + 4 * ulp(80));
  }
}

TEST_CASE("overflow begins where PyTorch's does") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("overflow");
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    INFO(dtype);
    const nlohmann::json& expected = golden()["overflow"][dtype];
    const std::string last =
        std::get<std::string>(cell(experiment, {"e^x for x from -20 to 20", dtype}, "how"));
    CHECK(std::stod(last.substr(last.find("= ") + 2)) ==
          Approx(expected["exp_finite_up_to"].get<double>()).epsilon(5e-6));  // six digits, rounded
    const double total = number(experiment, {"the sum of 163,840 values of 3", dtype}, "result");
    if (expected["sum"] == "inf")
      CHECK(std::isinf(total));
    else
      CHECK(total == 491520);
  }
  const auto attended = [&](const char* scores, const char* policy) {
    return number(experiment, {"attention whose score is 65,536", scores, policy}, "result");
  };
  CHECK(std::isnan(attended("f16", "Policy<Storage<f16>>")));
  CHECK(attended("f32", "Policy<Storage<f16>, Upcast<Attention>>") == 1);
  CHECK(attended("f32", "Policy<Storage<f16>, Flash>") == 1);
  CHECK(attended("bf16", "Policy<Storage<bf16>>") == 1);
  CHECK(attended("f32", "Policy<Storage<f32>>") == 1);
}

TEST_CASE("underflow flushes the gradients that PyTorch flushes") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("underflow");
  constexpr double count = 200'000;
  for (const char* setting : {"unscaled", "scaled by 8192"})
    for (const char* dtype : {"f16", "bf16"}) {
      INFO(setting << " " << dtype);
      const nlohmann::json& expected = golden()["underflow"][std::string(setting) + " " + dtype];
      CHECK(number(experiment, {setting, dtype}, "zero_frac") == expected["zeros"].get<double>() / count);
      CHECK(number(experiment, {setting, dtype}, "finite_frac") == expected["finite"].get<double>() / count);
    }
}

TEST_CASE("loss scaling loses the gradients that PyTorch loses, and f32 brings them back") {
  if (!compiled) return testing::skip("the experiments need a build with f32, bf16 and f16");
  const Experiment experiment = run("loss-scaling");
  // PyTorch may round a product of a layer and its bias apart: results differ in f16's last digit, and with
  // it the few gradients that lie that near to the least f16.
  constexpr double near = 0x1p-10;
  for (const char* setting : {"fp16 no scaling", "fp16 scaled+unscaled", "f32"}) {
    INFO(setting);
    const nlohmann::json& expected = golden()["loss-scaling"][setting];
    CHECK(number(experiment, {setting}, "zero_grad_frac") ==
          Approx(expected["zero"].get<double>() / expected["count"].get<double>()).margin(near));
    CHECK(number(experiment, {setting}, "loss") == Approx(expected["loss"].get<double>()).epsilon(2 * near));
  }
  const double unused = number(experiment, {"f32"}, "zero_grad_frac");  // behind a relu that was off
  const auto lost = [&](const char* setting) {
    return number(experiment, {setting}, "zero_grad_frac") - unused;
  };
  CHECK(lost("fp16 no scaling") > 0.05);
  CHECK(lost("fp16 scaled+unscaled") > 0.05);
  CHECK(std::fabs(lost("fp16 scaled, unscaled in f32")) < 0.1 * lost("fp16 no scaling"));
  // Too large a scale overflows.
  const Line& infinite = experiment.plot.lines.back();
  CHECK(infinite.y.front() == 0);
  CHECK(infinite.y.back() > 0.5);
}
