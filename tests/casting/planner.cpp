// The planner: exact against brute force, bounded by the relaxation, and never worse than greedy.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <casting/knapsack.hpp>
#include <casting/planner.hpp>
#include <casting/relaxation.hpp>
#include <catch2/catch.hpp>
#include <families/request_error.hpp>

namespace plans {
namespace {

using namespace precast;
using namespace precast::casting;

/// The least value of all choices within a limit, by trying each of them.
double least_value_by_trying(const Groups& groups, double limit) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> places(groups.size(), 0);
  for (;;) {
    double weight = 0, value = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      weight += groups[i][places[i]].weight;
      value += groups[i][places[i]].value;
    }
    if (weight <= limit) least = std::min(least, value);
    std::size_t i = 0;
    while (i < groups.size() && ++places[i] == groups[i].size()) places[i++] = 0;
    if (i == groups.size()) return least;
  }
}

void check_sums(const Groups& groups, const KnapsackChoice& choice, double limit) {
  REQUIRE(choice.chosen.size() == groups.size());
  double weight = 0, value = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    REQUIRE(choice.chosen[i] < groups[i].size());
    weight += groups[i][choice.chosen[i]].weight;
    value += groups[i][choice.chosen[i]].value;
  }
  CHECK(weight == choice.weight);
  CHECK(value == choice.value);
  CHECK(weight <= limit);
}

/// Groups without any order: heavier alternatives may be worse, and equal ones stand beside each other.
Groups any_groups(std::mt19937& random, std::size_t count, std::size_t most, int largest) {
  Groups groups(count);
  for (auto& group : groups) {
    group.resize(1 + random() % most);
    for (Alternative& one : group)
      one = {static_cast<double>(random() % static_cast<unsigned>(largest)),
             static_cast<double>(random() % static_cast<unsigned>(largest)) / 7};
  }
  return groups;
}

/// Layers and formats as they are: errors fall by about two a bit, sizes are bytes, and nothing is round.
Groups layer_groups(std::mt19937& random, std::size_t layers, std::size_t types) {
  Groups groups(layers);
  std::lognormal_distribution<double> spread(0, 1.5), luck(0, 0.3);
  for (auto& group : groups) {
    const double parameters = std::floor(1e6 * spread(random)) + 4096, scale = spread(random);
    for (std::size_t type = 0; type < types; ++type) {
      const double bits = 2 + 14.0 * static_cast<double>(type) / static_cast<double>(types);
      group.push_back({std::ceil(parameters * bits / 8), scale * std::pow(4, -bits) * luck(random)});
    }
  }
  return groups;
}

double heaviest(const Groups& groups) {
  double weight = 0;
  for (const auto& group : groups) weight += std::ranges::max(group, {}, &Alternative::weight).weight;
  return weight;
}

/// The value of the best mixture of alternatives: no choice within the limit has a smaller one.
double relaxed_value(const Groups& groups, double limit) {
  std::vector<std::vector<Undominated>> fronts;
  for (const auto& group : groups) fronts.push_back(undominated(group));
  std::vector<std::size_t> all(groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Relaxation relaxation(fronts, all);
  return relaxation.bound(limit, relaxation.whole_steps(limit));
}

CostFile two_layers() {
  CostFile file;
  const std::optional<double> none;
  file.layers = {
      {"blocks.0",
       8000,
       {{"q8_0", {8.5, 1.0, 0.5, none, none}},
        {"q4_0", {4.5, 10.0, 0.6, none, none}},
        {"of_others", {2.0, 10.5, 0.7, none, none}}}},
      {"blocks.1", 1000, {{"q8_0", {8.5, 2.0, 0.5, none, none}}, {"q4_0", {4.5, 3.0, 0.9, none, none}}}}};
  return file;
}

std::string message_of(const CostFile& file, const PlanRequest& request) {
  try {
    make_plan(file, "c.json", request);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

PlanRequest of_bits(double bits) {
  PlanRequest request;
  request.bits = bits;
  return request;
}

}  // namespace

TEST_CASE("the knapsack is solved exactly, as trying every choice says") {
  std::mt19937 random(7);
  int solved = 0, impossible = 0;
  for (int instance = 0; instance < 3000; ++instance) {
    const int largest = instance % 3 == 0 ? 5 : instance % 3 == 1 ? 60 : 1'000'000;
    const Groups groups = any_groups(random, 1 + random() % 6, 5, largest);
    const double least = least_weight(groups), most = heaviest(groups);
    const double limit =
        std::floor(least - 1 + (most - least + 2) * static_cast<double>(random() % 1000) / 999);
    INFO("instance " << instance << ", limit " << limit);
    const double expected = least_value_by_trying(groups, limit);
    const auto choice = solve_knapsack(groups, limit);
    REQUIRE(choice.has_value() == std::isfinite(expected));
    if (!choice) {
      CHECK(limit < least);
      CHECK(greedy_choice(groups, limit) == std::nullopt);
      ++impossible;
      continue;
    }
    ++solved;
    check_sums(groups, *choice, limit);
    CHECK(choice->value == Approx(expected).epsilon(1e-12).margin(0));
    CHECK(choice->bound == choice->value);
    CHECK(relaxed_value(groups, limit) <= choice->value * (1 + 1e-12) + 1e-12);
    const auto greedy = greedy_choice(groups, limit);
    REQUIRE(greedy);
    check_sums(groups, *greedy, limit);
    CHECK(greedy->value >= choice->value * (1 - 1e-12));
  }
  CHECK(solved > 2000);
  CHECK(impossible > 10);
}

TEST_CASE("errors of any size are planned exactly: from the least double there is to nearly the largest") {
  std::mt19937 random(23);
  for (int instance = 0; instance < 6000; ++instance) {
    const int least_power = instance % 4 == 0 ? -323 : -20, most_power = instance % 4 == 1 ? 306 : 20;
    std::uniform_real_distribution<double> power(least_power,
                                                 instance % 4 == 2 ? least_power + 3 : most_power);
    Groups groups = any_groups(random, 1 + random() % 6, 5, 1'000'000'000);
    for (auto& group : groups)
      for (Alternative& one : group) {
        one.weight += 1;
        one.value = random() % 8 ? std::pow(10.0, power(random)) : 0;
      }
    const double least = least_weight(groups);
    const double limit =
        std::floor(least + (heaviest(groups) - least) * static_cast<double>(random() % 1000) / 999);
    INFO("instance " << instance << ", limit " << limit);
    const double expected = least_value_by_trying(groups, limit);
    const auto choice = solve_knapsack(groups, limit);
    REQUIRE(choice);
    check_sums(groups, *choice, limit);
    CHECK(choice->value <= expected * (1 + 1e-12));
    CHECK(choice->bound == choice->value);
    CHECK(relaxed_value(groups, limit) <= choice->value * (1 + 1e-12));
    const auto greedy = greedy_choice(groups, limit);
    REQUIRE(greedy);
    check_sums(groups, *greedy, limit);

    for (auto& group : groups)
      for (Alternative& one : group) std::swap(one.weight, one.value);
    const double most_error = expected * (1 + 1e-12);
    const auto smallest = solve_knapsack(groups, most_error);
    REQUIRE(smallest);
    CHECK(smallest->weight <= most_error);
    CHECK(smallest->value == least_value_by_trying(groups, most_error));
  }
}

TEST_CASE("sums of errors may be the limit as well as sums of bytes") {
  std::mt19937 random(11);
  for (int instance = 0; instance < 500; ++instance) {
    Groups groups = layer_groups(random, 1 + random() % 6, 5);
    for (auto& group : groups)
      for (Alternative& one : group) std::swap(one.weight, one.value);
    const double limit = least_weight(groups) * (1 + 5 * static_cast<double>(random() % 1000) / 1000);
    const auto choice = solve_knapsack(groups, limit);
    REQUIRE(choice);
    check_sums(groups, *choice, limit);
    CHECK(choice->value == least_value_by_trying(groups, limit));
  }
}

TEST_CASE("300 layers of 16 formats are planned exactly, and no worse than the relaxation allows") {
  std::mt19937 random(3);
  for (int instance = 0; instance < 6; ++instance) {
    const Groups groups = layer_groups(random, 300, 16);
    const double least = least_weight(groups), most = heaviest(groups);
    const double limit = std::floor(least + (most - least) * (0.08 + 0.16 * instance));
    const auto begin = std::chrono::steady_clock::now();
    const auto choice = solve_knapsack(groups, limit);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO("instance " << instance << " took " << seconds << " s");
    REQUIRE(choice);
    check_sums(groups, *choice, limit);
    CHECK(choice->bound == choice->value);  // it ended, and did not stop
    const double relaxed = relaxed_value(groups, limit);
    CHECK(relaxed <= choice->value * (1 + 1e-12));
    // The relaxation splits one layer between two formats: rounding that one down costs its step at most.
    double largest_step = 0;
    for (const auto& group : groups)
      largest_step = std::max(largest_step, std::ranges::max(group, {}, &Alternative::value).value -
                                                std::ranges::min(group, {}, &Alternative::value).value);
    CHECK(choice->value <= relaxed + largest_step);
    CHECK(greedy_choice(groups, limit)->value >= choice->value * (1 - 1e-12));
  }
}

TEST_CASE("a search that ends early says how far it may be from the best") {
  std::mt19937 random(5);
  const Groups groups = layer_groups(random, 120, 16);
  const double least = least_weight(groups), limit = std::floor(least + 0.3 * (heaviest(groups) - least));
  const auto exact = solve_knapsack(groups, limit);
  const auto narrow = solve_knapsack(groups, limit, SearchLimits{60, 1, {}});
  const auto hurried = solve_knapsack(groups, limit, SearchLimits{0, 200'000, {}});
  REQUIRE((exact && narrow && hurried));
  for (const auto* early : {&*narrow, &*hurried}) {
    check_sums(groups, *early, limit);
    CHECK(early->value >= exact->value * (1 - 1e-12));
    CHECK(early->bound <= exact->value * (1 + 1e-12));
    CHECK(early->bound >= relaxed_value(groups, limit) * (1 - 1e-12));
  }
  CHECK(narrow->bound < narrow->value);
}

TEST_CASE("a relaxation that leaves groups out is the one of the others, to the bit") {
  std::mt19937 random(6);
  std::vector<std::vector<Undominated>> fronts;
  for (const auto& group : any_groups(random, 30, 8, 40)) fronts.push_back(undominated(group));
  std::vector<std::size_t> order(fronts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  Relaxation left(fronts, order);
  for (std::size_t taken = 0; taken < order.size(); ++taken) {
    const auto rest = std::span(order).subspan(taken + 1);
    left.leave_out(order[taken], fronts, rest);
    const Relaxation made(fronts, rest);
    CHECK(left.least_weight() == made.least_weight());
    REQUIRE(left.steps().size() == made.steps().size());
    for (std::size_t step = 0; step <= made.steps().size(); ++step) {
      CHECK(left.value_after(step) == made.value_after(step));
      CHECK(left.weight_after(step) == made.weight_after(step));
      if (step == made.steps().size()) continue;
      CHECK(left.steps()[step].group == made.steps()[step].group);
      CHECK(left.steps()[step].to == made.steps()[step].to);
    }
  }
}

TEST_CASE("a plan is what it says, beside greedy and every uniform format") {
  const PlanResult result = make_plan(two_layers(), "c.json", of_bits(8.1));
  CHECK(result.plan.types.at("blocks.0") == "q8_0");
  CHECK(result.plan.types.at("blocks.1") == "q4_0");
  CHECK(result.plan.bytes == 8500 + 563);
  CHECK(result.plan.error == 4.0);
  CHECK(result.plan.gap == 0.0);
  CHECK(*result.plan.bits == Approx(8 * 9063.0 / 9000));
  CHECK(result.left_out == std::vector<std::string>{"of_others"});
  REQUIRE(result.sizes.size() == 4);
  CHECK(result.sizes[1].method == "greedy");
  CHECK(result.sizes[2].method == "q8_0");
  CHECK(result.sizes[2].error == 3.0);
  CHECK_FALSE(result.sizes[2].keeps);
  CHECK(result.sizes[3].method == "q4_0");
  CHECK(result.sizes[3].bytes == 4500 + 563);
  CHECK(result.sizes[3].keeps);
}

TEST_CASE("a plan is of the formats that models of this build can be cast to, unless others are named") {
  PlanRequest request = of_bits(8.5);
  request.holds = [](std::string_view format) { return format == "q4_0"; };
  const PlanResult result = make_plan(two_layers(), "c.json", request);
  CHECK(result.left_out == std::vector<std::string>{"q8_0", "of_others"});
  for (const std::string& type : result.plan.formats()) CHECK(type == "q4_0");
  request.holds = [](std::string_view) { return false; };
  CHECK_THAT(message_of(two_layers(), request),
             Catch::Contains("no layer has a type that this build has") && Catch::Contains("q8_0,q4_0"));
  CostFile file = two_layers();  // a format that the build has, without such numbers
  for (LayerCost& layer : file.layers) layer.types["fp8_e4m3"].bits = 8;
  CHECK_THAT(message_of(file, request),
             Catch::Contains("in --types, of q8_0,q4_0, which this build does not have"));
  request.types = {"q8_0", "q4_0"};
  CHECK(make_plan(two_layers(), "c.json", request).plan.types.at("blocks.0") == "q8_0");
}

TEST_CASE("a plan of an error is the smallest one, and the same error gives it again") {
  PlanRequest request;
  request.error = 5;
  const PlanResult result = make_plan(two_layers(), "c.json", request);
  CHECK(result.plan.bytes == 8500 + 563);
  CHECK(result.plan.error == 4.0);
  request.error = *result.plan.error;
  CHECK(make_plan(two_layers(), "c.json", request).plan == result.plan);
  request.error = 100;
  CHECK(make_plan(two_layers(), "c.json", request).plan.bytes == 4500 + 563);
  PlanRequest by_loss = of_bits(8.1);
  by_loss.measure = Measure::loss;  // the cheap layer by cost is the dear one by loss
  CHECK(make_plan(two_layers(), "c.json", by_loss).plan.error == 0.6 + 0.5);
}

TEST_CASE("a layer that a format breaks gets another one") {
  CostFile file = two_layers();
  file.layers[0].types["q4_0"].cost = INFINITY;
  const PlanResult result = make_plan(file, "c.json", of_bits(8.5));
  CHECK(result.plan.types.at("blocks.0") == "q8_0");
  CHECK(result.sizes.size() == 3);  // q4_0 is no uniform format any more
  file.layers[0].types["q8_0"].cost = NAN;
  CHECK_THAT(message_of(file, of_bits(8.5)),
             Catch::Contains("layer 'blocks.0'") && Catch::Contains("'cost'"));
}

TEST_CASE("formats are named in either case, as for cost and convert") {
  PlanRequest request = of_bits(16);
  request.types = {"Q8_0", "Q4_0"};
  CHECK(make_plan(two_layers(), "c.json", request).plan.types.at("blocks.0") == "q8_0");
  CostFile capitals = two_layers();  // a name of the file's own goes first
  for (LayerCost& layer : capitals.layers) layer.types["Q8_0"].bits = 8, layer.types["Q8_0"].cost = 0;
  CHECK(make_plan(capitals, "c.json", request).plan.types.at("blocks.0") == "Q8_0");
}

TEST_CASE("bits that are told are bits that can be asked for") {
  CHECK(bits_to_show(4.5) == 4.5);
  CHECK(bits_to_show(2.625) == 2.625);
  CHECK(bits_to_show(4.0833) == 4.0833);
  CHECK(bits_to_show(8 * 5063 / 9000.0) == 4.5005);
  CHECK(make_plan(two_layers(), "c.json", of_bits(4.5005)).plan.bytes == 5063);
}

TEST_CASE(
    "a layer of several formats takes the bytes that they take, and none for a rounding of their mean") {
  constexpr std::int64_t first = 5 * 128 * 128, second = 37 * 128 * 512;  // in q8_0 and q6_k: 2,076,160 bytes
  const double bits = (8.5 * first + 6.5625 * second) / (first + second);
  REQUIRE((first + second) * bits / 8 > 2'076'160);
  CHECK(bytes_at(first + second, bits) == 2'076'160);
  CHECK(bytes_at(9, 4.5) == 6);
  CHECK(bytes_at(8, 4.5) == 5);
  CHECK(bytes_at(1, 0.01) == 1);
}

TEST_CASE("what cannot be planned is refused with what is possible") {
  CHECK_THAT(message_of(two_layers(), of_bits(4)),
             Catch::Contains("4,500 bytes") && Catch::Contains("least possible is 5,063 bytes"));
  PlanRequest request;
  request.budget = 5062;
  CHECK_THAT(message_of(two_layers(), request),
             Catch::Contains("5,062 bytes") && Catch::Contains("(4.5005 bits)"));
  request.budget = 5063;
  CHECK(make_plan(two_layers(), "c.json", request).plan.bytes == 5063);
  PlanRequest strict;
  strict.error = 2.5;
  CHECK_THAT(message_of(two_layers(), strict),
             Catch::Contains("2.5") && Catch::Contains("least possible is 3"));
  PlanRequest of_type = of_bits(8);
  of_type.types = {"q8_0", "q5_0"};
  CHECK_THAT(message_of(two_layers(), of_type),
             Catch::Contains("'q5_0'") && Catch::Contains("q8_0, q4_0, of_others"));
  CHECK_THROWS_AS(make_plan(two_layers(), "c.json", of_type), families::RequestError);
  CostFile file = two_layers();
  file.layers[1].parameters = std::nullopt;
  CHECK_THAT(message_of(file, of_bits(8)),
             Catch::Contains("layer 'blocks.1'") && Catch::Contains("'parameters'"));
  file = two_layers();
  file.layers[1].types.clear();
  CHECK_THAT(message_of(file, of_bits(8)), Catch::Contains("layer 'blocks.1'"));
  file = two_layers();
  PlanRequest unknown_bits = of_bits(8);
  unknown_bits.types = {"q8_0", "of_others"};
  file.layers[0].types["of_others"].bits = std::nullopt;
  CHECK_THAT(message_of(file, unknown_bits), Catch::Contains("'of_others'") && Catch::Contains("'bits'"));
  file = two_layers();
  for (LayerCost& layer : file.layers) layer.types = {{"of_others", {2.0, 1.0, 1.0, 1.0, 1.0}}};
  CHECK_THAT(message_of(file, of_bits(8)), Catch::Contains("no layer has a type that this build has"));
  // A plan whose error is infinite could not be read again.
  file = two_layers();
  for (LayerCost& layer : file.layers)
    for (auto& [type, numbers] : layer.types) numbers.cost = 1.5e308;
  CHECK_THAT(message_of(file, of_bits(8)),
             Catch::Contains("c.json") && Catch::Contains("more than a double"));
}

}  // namespace plans
