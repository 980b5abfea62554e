// The benchmark of language models: its sizes, what it says of runs, and its files.
#include <array>
#include <cmath>
#include <fstream>

#include <catch2/catch.hpp>
#include <language_model/parameters.hpp>
#include <plots/cells.hpp>
#include <plots/table_text.hpp>
#include <timing/model_grid.hpp>
#include <timing/model_sizes.hpp>

#include <precast/error.hpp>

using namespace precast;
using language_model::Architecture;

namespace {

std::int64_t parameters_of_size(const char* name, Architecture architecture) {
  return elements_of(timing::model_config(timing::model_size(name), architecture, 256));
}

timing::TimedDevice cpu() { return timing::timed_on(families::choose_device("cpu")); }

timing::Results results_of(const std::string& settings, const std::vector<double>& cases) {
  timing::Results results{"lm", settings, {{timing::case_column, "model", "fwd avg (sec)"}, {}}, 4};
  for (const double number : cases)
    results.table.rows.push_back({number, std::string("S, with a comma"), number / 3});
  return results;
}

}  // namespace

TEST_CASE("The sizes of measured models have the parameters of their widths and layers", "[timing]") {
  // Four matrices of attention and three or two of the feed-forward layer, twice the table of words, norms.
  CHECK(parameters_of_size("S", Architecture::llama) ==
        12 * (4 * 768 * 768 + 3 * 768 * 3072) + 2 * 10'000 * 768 + 25 * 768);
  CHECK(parameters_of_size("M", Architecture::llama) == 423'183'360);
  CHECK(parameters_of_size("2.7B", Architecture::llama) == 3'406'809'600);
  CHECK(parameters_of_size("S", Architecture::gpt2) ==
        12 * (4 * 768 * 768 + 2 * 768 * 3072 + (4 + 4 + 4 + 1) * 768) + (2 * 10'000 + 256) * 768 + 2 * 768);
  CHECK_THROWS_WITH(timing::model_size("XXL"), Catch::Contains("'XXL'") && Catch::Contains("2.7B"));
}

TEST_CASE("Runs are told by their mean and deviation, and a difference by those of both", "[timing]") {
  const timing::Timing runs = timing::timing_of({1, 2, 3, 6});
  CHECK(runs.mean == Approx(3));
  CHECK(runs.deviation == Approx(std::sqrt(14.0 / 4)));
  CHECK(timing::timing_of({5}).deviation == 0);
  // The source's first table on a CPU: 0.983585 (0.0505515) without 0.292967 (0.0101263).
  const timing::Timing back = timing::difference({0.983585, 0.0505515}, {0.292967, 0.0101263});
  CHECK(back.mean == Approx(0.690617).epsilon(2e-6));
  CHECK(back.deviation == Approx(0.0515558).epsilon(2e-6));
  // Of each run: a warning, a wait before the clock is read, the work, and a wait for its end.
  std::string calls;
  timing::measured(
      1, 2, [&] { calls += "b"; }, [&] { calls += "w"; }, [&] { calls += "R"; });
  CHECK(calls == "bwRwbwRwbwRw");
}

TEST_CASE("Shards of a benchmark are merged by the numbers of their cases", "[timing]") {
  const auto whole = results_of("four cases", {0, 1, 2, 3});
  const std::array shards{timing::NamedResults{"b", results_of("four cases", {1, 3})},
                          timing::NamedResults{"a", results_of("four cases", {0, 2})}};
  CHECK(timing::results_json(timing::merge_results(shards)) == timing::results_json(whole));
  CHECK(plots::as_csv(plots::text_rows(whole.table))
            .starts_with("case,model,fwd avg (sec)\n0,\"S, with a comma\",0\n"));
  CHECK(plots::as_markdown(plots::text_rows(whole.table))
            .starts_with("| case | model | fwd avg (sec) |\n|---|--:|--:|\n"));

  CHECK(timing::missing_cases(timing::merge_results(shards)).empty());
  CHECK(timing::missing_cases(timing::merge_results(std::array{shards[0]})) ==
        std::vector<std::int64_t>{0, 2});

  const std::array same{shards[0], shards[0]};
  CHECK_THROWS_WITH(timing::merge_results(same), Catch::Contains("both have case 1"));
  const std::array others{shards[0], timing::NamedResults{"c", results_of("five cases", {0})}};
  CHECK_THROWS_WITH(timing::merge_results(others), Catch::Contains("b and c are of two benchmarks"));
}

TEST_CASE("A count has all its digits in every form of a benchmark's table", "[timing]") {
  timing::Results results{
      "lm", "", {{timing::case_column, "context_length", "fwd avg (sec)"}, {}}, 1'000'000};
  results.table.rows.push_back({999'999.0, 1'048'576.0, 1.0 / 3});
  CHECK(plots::as_csv(plots::text_rows(results.table)) ==
        "case,context_length,fwd avg (sec)\n999999,1048576,0.333333\n");
  CHECK_THAT(plots::as_markdown(plots::text_rows(results.table)),
             Catch::Contains("| 999999 | 1048576 | 0.333333 |"));
  CHECK_THAT(timing::results_json(results), Catch::Contains("\"context_length\": 1048576"));
}

TEST_CASE("A file of a benchmark is read as it was written, and a broken one refused", "[timing]") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "precast_timing_test.json";
  const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
  const std::string text = timing::results_json(results_of("two cases", {0, 1}));
  write(text);
  CHECK(timing::results_json(timing::read_results(file)) == text);
  write("{\"benchmark\": \"lm\"}");
  CHECK_THROWS_WITH(timing::read_results(file), Catch::Contains("settings") && Catch::Contains("missing"));
  write(
      "{\"benchmark\": \"lm\", \"settings\": \"\", \"columns\": [\"case\", \"model\"], "
      "\"rows\": [{\"case\": 0}]}");
  CHECK_THROWS_WITH(timing::read_results(file), Catch::Contains("key 'rows[0].model'"));
  write(timing::results_json(results_of("of four cases", {4})));
  CHECK_THROWS_WITH(timing::read_results(file), Catch::Contains("key 'rows[0].case'"));
  write("{\"benchmark\": \"lm\", \"settings\": \"\", \"columns\": [\"model\"], \"rows\": []}");
  CHECK_THROWS_WITH(timing::read_results(file), Catch::Contains("columns"));
  std::filesystem::remove(file);
}

TEST_CASE("What is not measured takes no memory: gradients of a forward pass, moments of a backward pass",
          "[timing]") {
  timing::ModelCase of{.size = "2.7B", .policy = "f32", .context = 16, .batch = 1};
  const auto copies = [&](timing::Parts parts) {
    of.parts = parts;
    return static_cast<double>(timing::needed_memory(of, cpu())) / (3'406'809'600.0 * 4);
  };
  CHECK(copies({.forward = true, .forward_backward = false, .optimizer = false}) == Approx(1).epsilon(0.05));
  CHECK(copies({.forward = true, .forward_backward = true, .optimizer = false}) == Approx(2).epsilon(0.05));
  CHECK(copies({.forward = false, .forward_backward = false, .optimizer = true}) == Approx(4).epsilon(0.05));
  of.policy = "bf16";  // whose masters are rounded to bf16 after a step
  CHECK(copies({.forward = false, .forward_backward = false, .optimizer = true}) ==
        Approx(4.5).epsilon(0.05));
}

TEST_CASE("A size that fits nowhere says what it needs without taking it", "[timing]") {
  timing::ModelCase of{.size = "2.7B", .policy = "f32", .context = 1024, .batch = 64};
  const std::int64_t most = timing::needed_memory(of, cpu());
  CHECK(most > std::int64_t{3'406'809'600} * 4 * 4);  // parameters, gradients and both moments
  of.parts = {.forward = true, .forward_backward = false, .optimizer = false};
  CHECK(timing::needed_memory(of, cpu()) < most);
}
