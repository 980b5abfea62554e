// The model of a step's time on more ranks: its formulas, what is hidden, and links that give times back.
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <cluster/measure_link.hpp>

#include <precast/cluster/step_probe.hpp>
#include <precast/cluster/step_time.hpp>

#include "cli/given.hpp"
#include "ranks.hpp"

using namespace precast;
using namespace precast::cluster;
using program::Scratch;

namespace {

/// What a function says to each of three ranks of this machine.
std::vector<std::int64_t> of_three_ranks(std::int64_t (*function)(Communicator&)) {
  std::vector<std::int64_t> said(3);
  ranks::run_ranks(
      3, [&](ranks::ThreadRank& job) { said[static_cast<std::size_t>(job.rank())] = function(job); });
  return said;
}

/// Predicts steps of a tiny model.
program::Outcome predict(const program::Words& more, const std::string& started_by = "") {
  const program::Words words =
      program::train_tiny({"--batch", "2", "--context", "8", "--threads", "1", "--predict-ranks"});
  return program::run(program::with(words, more), started_by);
}

}  // namespace

TEST_CASE("a sum takes the ring's time or the tree's, whichever is less") {
  const Link link{1e-6, 1e9};
  CHECK(sum_seconds(1e9, 1, link) == 0);
  CHECK(sum_seconds(1e9, 2, link) == Approx(2e-6 + 1));
  CHECK(sum_seconds(1e9, 4, link) == Approx(6e-6 + 1.5));
  CHECK(sum_seconds(4, 1024, link) == Approx(2 * (10 * 1e-6 + 4e-9)));  // a ring has 2046 messages
  CHECK(sum_seconds(4, 1000, link) == Approx(2 * (10 * 1e-6 + 4e-9)));
  CHECK(sum_seconds(1e10, 1024, link) == Approx(2046 * (1e-6 + 1e10 / 1024 / 1e9)));
  for (std::int64_t ranks = 2; ranks < 2000; ranks *= 2)
    CHECK(sum_seconds(1e6, 2 * ranks, link) > sum_seconds(1e6, ranks, link));
}

TEST_CASE("what a backward pass hides is not waited for") {
  const Link link{0, 1e9};
  // Two sums of 0.1 s over two ranks, asked for 0.3 s and 0.1 s before the backward pass ends.
  const StepParts parts{.seconds = 1.2, .end_of_backward = 1, .sums = {{0.7, 1e8}, {0.9, 1e8}}};
  CHECK(predicted_step(parts, 1, link).seconds() == Approx(1.2));
  const PredictedStep hidden = predicted_step(parts, 2, link, {.cores = 2});
  CHECK(hidden.all_reduce == Approx(0.2));
  CHECK(hidden.waiting == Approx(0).margin(1e-12));
  CHECK(hidden.seconds() == Approx(1.2));
  // Ten times slower: the first sum ends at 1.7, the second at 2.7.
  const PredictedStep exposed = predicted_step(parts, 2, {0, 1e8}, {.cores = 2});
  CHECK(exposed.waiting == Approx(1.7));
  CHECK(exposed.seconds() == Approx(2.9));
}

TEST_CASE("ranks that share cores compute more slowly, and hide nothing where none is free") {
  const Link link{0, 1e9};
  const StepParts parts{.seconds = 1.2, .end_of_backward = 1, .sums = {{0.7, 1e8}}};
  const Machine two{.ranks = 4, .threads = 1, .cores = 2};
  CHECK(predicted_step(parts, 1, link, two).seconds() == Approx(1.2));
  CHECK(predicted_step(parts, 2, link, two).seconds() == Approx(1.2 + 0.1));
  CHECK(predicted_step(parts, 4, link, two).compute == Approx(2.4));
  CHECK(predicted_step(parts, 4, link, two).waiting == Approx(0.15));
  CHECK(predicted_step(parts, 8, link, two).compute == Approx(2.4));  // on two machines
  CHECK(predicted_step(parts, 2, link, {.ranks = 2, .threads = 1, .cores = 3}).waiting == Approx(0.05));
  CHECK_THROWS_AS(predicted_step(parts, 0, link), InputError);
  CHECK_THROWS_AS(predicted_step(parts, 2, Link{}), InputError);
}

TEST_CASE("ranks that compute at once share memory, and a measured slowdown gives its time back") {
  const Link link{0, 1e9};
  const StepParts parts{.seconds = 1, .end_of_backward = 1, .sums = {}};
  Machine machine{.ranks = 8, .threads = 1, .cores = 4, .slowdown = 0.1};
  CHECK(predicted_step(parts, 1, link, machine).compute == Approx(1));
  CHECK(predicted_step(parts, 2, link, machine).compute == Approx(1.1));
  CHECK(predicted_step(parts, 4, link, machine).compute == Approx(1.3));
  CHECK(predicted_step(parts, 8, link, machine).compute == Approx(2.6));   // in turns, four at once
  CHECK(predicted_step(parts, 64, link, machine).compute == Approx(2.6));  // on eight machines
  CHECK(machine.threads_per_core(2) == 0.5);
  CHECK(machine.threads_per_core(64) == 2);
  for (const std::int64_t measured : {2, 4, 8}) {
    const double together = machine.slower(measured);
    CHECK(measured_slowdown(1, together, measured, machine) == Approx(0.1));
    CHECK(measured_slowdown(1, 0.9, measured, machine) == 0);
  }
  CHECK(measured_slowdown(1, 5, 1, machine) == 0);
  // One rank has all cores: nobody computes beside it.
  CHECK(measured_slowdown(1, 2, 2, {.threads = 2, .cores = 2}) == 0);
  // Bound to the cores on which it computes, a rank has none for its sums.
  const StepParts summing{.seconds = 1, .end_of_backward = 1, .sums = {{0.1, 1e8}}};
  CHECK(predicted_step(summing, 2, link, {.ranks = 2, .cores = 8}).waiting == 0);
  CHECK(predicted_step(summing, 2, link, {.ranks = 2, .cores = 8, .cores_of_rank = 1}).waiting ==
        Approx(0.1));
}

TEST_CASE("ranks know how many of them share their machine") {
  Alone alone;
  CHECK(ranks_of_this_machine(alone) == 1);
  CHECK(of_three_ranks(ranks_of_this_machine) == std::vector<std::int64_t>{3, 3, 3});
}

TEST_CASE("ranks of one machine take its devices in turn") {
  Alone alone;
  CHECK(place_on_this_machine(alone) == 0);
  CHECK(of_three_ranks(place_on_this_machine) == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("a link is what its sums took") {
  const Link link{3e-6, 2e9};
  for (const std::int64_t ranks : {2, 3, 8}) {
    const std::array sums{TimedSum{4, sum_seconds(4, ranks, link)},
                          TimedSum{1e9, sum_seconds(1e9, ranks, link)}};
    const Link found = link_of(sums, ranks);
    CHECK(found.latency == Approx(link.latency).epsilon(0.01));
    CHECK(found.bandwidth == Approx(link.bandwidth).epsilon(0.01));
  }
  CHECK_THROWS_AS(link_of(std::array{TimedSum{4, 1}}, 2), InputError);
  CHECK_THROWS_AS(link_of(std::array{TimedSum{4, 1}, TimedSum{8, 1}}, 1), InputError);
}

TEST_CASE("a probe writes down when a step asks for its sums") {
  StepProbe probe;
  const auto work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  probe.begin_step();
  work();
  probe.start_sum(nullptr, 3, SumDtype::f32);
  work();
  probe.start_sum(nullptr, 5, SumDtype::bf16);
  work();
  probe.wait(0);
  probe.wait(0);
  work();
  const StepParts parts = probe.end_step();
  REQUIRE(parts.sums.size() == 2);
  CHECK(parts.sums[0].bytes == 12);
  CHECK(parts.sums[1].bytes == 10);
  CHECK(parts.sums[0].asked >= 0.005);
  CHECK(parts.sums[1].asked >= parts.sums[0].asked + 0.005);
  CHECK(parts.end_of_backward >= parts.sums[1].asked + 0.005);
  CHECK(parts.seconds >= parts.end_of_backward + 0.005);
  CHECK_THROWS_AS(median_step({}), Error);
  std::vector<StepParts> steps(3);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].seconds = static_cast<double>((i + 2) % 3);
  CHECK(median_step(steps).seconds == 1);
}

TEST_CASE("train --predict-ranks says what a step takes on more ranks") {
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  const auto predicted =
      predict({"1,2,1024", "--link-latency", "5", "--link-bandwidth", "1GB", "--json", "--report", page});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  const auto json = predicted.json();
  CHECK(json["link"]["latency"] == Approx(5e-6));
  CHECK(json["link"]["bandwidth"] == Approx(1e9));
  REQUIRE(json["ranks"].size() == 3);
  const auto step = [&](std::size_t i, const char* key) { return json["ranks"][i][key].get<double>(); };
  CHECK(step(0, "seconds") == Approx(json["step"]["seconds"].get<double>()));
  CHECK(step(0, "waiting") == 0);
  CHECK(step(1, "all_reduce") > 2 * 5e-6);
  CHECK(step(2, "all_reduce") > step(1, "all_reduce"));
  CHECK(json["machine"]["ranks"] == 1);  // started alone
  CHECK(json["machine"]["ranks_measured"] == 1);
  CHECK(step(2, "tokens_per_second") == Approx(1024 * 16 / step(2, "seconds")));
  double bytes = 0;
  for (const auto& sum : json["step"]["sums"]) bytes += sum["bytes"].get<double>();
  CHECK(bytes > 4 * 16 * 16);
  CHECK_THAT(program::content(page), Catch::Contains("<svg") && Catch::Contains("if sums took no time"));

  const auto crowded =
      predict({"1,4096", "--link-latency", "5", "--link-bandwidth", "1GB", "--ranks-per-machine", "4096"});
  INFO(crowded.err);
  REQUIRE(crowded.code == 0);
  CHECK_THAT(crowded.out, Catch::Contains("cores, and take turns") && Catch::Contains("is not counted"));

  const auto full = predict({"1,4096", "--link-latency", "5", "--link-bandwidth", "1GB",
                             "--ranks-per-machine", std::to_string(json["machine"]["cores"].get<int>())});
  INFO(full.err);
  REQUIRE(full.code == 0);
  CHECK_THAT(full.out, Catch::Contains("Not every rank has a spare core for sums"));

  const auto without = predict({"1,2"});
  CHECK(without.code == 2);
  CHECK(without.one_line_error());
  CHECK_THAT(without.err, Catch::Contains("--link-latency"));
}

TEST_CASE("train --predict-ranks measures the link between ranks that mpirun started", "[mpi]") {
  const auto measured = predict({"1,2", "--json"}, ranks::mpirun(2));
  INFO(measured.err);
  REQUIRE(measured.code == 0);
  const auto machine = measured.json()["machine"];
  CHECK(machine["ranks"] == 2);
  CHECK(machine["ranks_measured"] == 2);
  CHECK(machine["slowdown"].get<double>() >= 0);
  const auto link = measured.json()["link"];
  CHECK(link["latency"].get<double>() > 1e-8);
  CHECK(link["latency"].get<double>() < 1);
  CHECK(link["bandwidth"].get<double>() > 1e6);
  CHECK(link["bandwidth"].get<double>() < 1e12);
}
