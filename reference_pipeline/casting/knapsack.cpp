// Extends partial choices group by group. Drops those that another one dominates in weight and value, and
// those whose relaxation is no better than the best whole choice so far. The groups whose alternatives are
// closest to the relaxation come first, so that good choices are found early and others are dropped soon.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>

#include <casting/knapsack.hpp>
#include <casting/relaxation.hpp>
#include <process/seconds_since.hpp>

namespace precast::casting {

namespace {

/// Sums of the same doubles in different orders differ by less than this fraction.
constexpr double rounding = 1e-12;
constexpr std::size_t states_after_time = 1000;
constexpr double infinity = std::numeric_limits<double>::infinity();

using Fronts = std::vector<std::vector<Undominated>>;

Fronts fronts_of(const Groups& groups) {
  Fronts fronts;
  for (const auto& group : groups) fronts.push_back(undominated(group));
  return fronts;
}

/// The choice of the alternative at `places[group]` of each front.
KnapsackChoice choice_of(const Fronts& fronts, const std::vector<std::size_t>& places) {
  KnapsackChoice choice;
  for (std::size_t group = 0; group < fronts.size(); ++group) {
    const Undominated& one = fronts[group][places[group]];
    choice.chosen.push_back(one.place);
    choice.weight += one.weight;
    choice.value += one.value;
  }
  return choice;
}

class Search {
 public:
  Search(const Groups& groups, double limit, const SearchLimits& limits)
      : fronts_(fronts_of(groups)), limit_(limit), limits_(limits), best_places_(fronts_.size(), 0) {
    std::vector<std::size_t> all(fronts_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const Relaxation whole(fronts_, all);
    const std::size_t steps = whole.whole_steps(limit_);
    bound_ = whole.bound(limit_, steps);
    take({}, whole, steps, whole.value_after(steps));
    improve();
    order_by_distance(whole.slope(steps));
  }

  KnapsackChoice run() {
    std::vector<State> states{{0, 0, 0, 0}};
    Relaxation rest(fronts_, order_);
    double dropped = infinity;  // the least bound of the states dropped for lack of time or memory
    for (std::size_t stage = 0; stage < order_.size() && !states.empty(); ++stage) {
      if (limits_.poll) limits_.poll();
      rest.leave_out(order_[stage], fronts_, std::span(order_).subspan(stage + 1));
      states = next_states(states, stage, rest);
      const std::size_t most = out_of_time() ? states_after_time : limits_.states;
      if (states.size() > most) dropped = std::min(dropped, keep_most_promising(states, rest, most));
      history_.emplace_back().reserve(states.size());
      for (State& state : states) {
        history_.back().push_back({state.parent, state.place});
        state.parent = static_cast<std::uint32_t>(history_.back().size() - 1);
      }
    }
    KnapsackChoice choice = choice_of(fronts_, best_places_);
    choice.bound = std::min(choice.value, std::max(bound_, dropped));
    return choice;
  }

 private:
  struct State {
    double weight, value;
    std::uint32_t parent, place;
  };
  struct Origin {
    std::uint32_t parent, place;
  };

  bool no_better(double bound) const { return bound >= best_value_ * (1 - rounding); }

  bool out_of_time() const { return process::seconds_since(start_) > limits_.seconds; }

  /// Groups by how far their second-best alternative is from the relaxation.
  void order_by_distance(WideRange slope) {
    std::vector<std::pair<WideRange, std::size_t>> distances;
    for (std::size_t group = 0; group < fronts_.size(); ++group) {
      WideRange best = infinity, second = infinity;
      for (const Undominated& one : fronts_[group]) {
        const WideRange reduced = one.value + slope * one.weight;
        if (reduced < best)
          second = best, best = reduced;
        else
          second = std::min(second, reduced);
      }
      distances.emplace_back(second - best, group);
    }
    std::ranges::sort(distances);
    for (const auto& [distance, group] : distances) order_.push_back(group);
  }

  /// Makes single changes that fit and lower the best choice's value, the largest first, until none does.
  void improve() {
    for (bool changed = true; changed;) {
      changed = false;
      const KnapsackChoice now = choice_of(fronts_, best_places_);
      double most = 0;
      std::size_t best_group = 0, best_place = 0;
      for (std::size_t group = 0; group < fronts_.size(); ++group) {
        const Undominated& from = fronts_[group][best_places_[group]];
        for (std::size_t place = 0; place < fronts_[group].size(); ++place) {
          const Undominated& to = fronts_[group][place];
          if (now.weight - from.weight + to.weight > limit_ || from.value - to.value <= most) continue;
          most = from.value - to.value, best_group = group, best_place = place;
        }
      }
      if (most > 0) best_places_[best_group] = best_place, changed = true;
    }
    best_value_ = choice_of(fronts_, best_places_).value;
  }

  /// Takes a partial choice, completed by the first `steps` of the relaxation of the rest, as the best one.
  void take(std::span<const std::size_t> partial, const Relaxation& rest, std::size_t steps, double value) {
    std::vector<std::size_t> places(fronts_.size(), 0);
    for (std::size_t stage = 0; stage < partial.size(); ++stage) places[order_[stage]] = partial[stage];
    for (const HullStep& step : rest.steps().first(steps)) places[step.group] = step.to;
    // The sum in the groups' order decides: rounding must not make a choice cross the limit.
    if (choice_of(fronts_, places).weight > limit_) return;
    best_places_ = std::move(places);
    best_value_ = value;
  }

  std::vector<std::size_t> partial_choice(std::uint32_t parent, std::uint32_t place) const {
    std::vector<std::size_t> places{place};
    for (std::size_t stage = history_.size(); stage-- > 0;) {
      places.push_back(history_[stage][parent].place);
      parent = history_[stage][parent].parent;
    }
    std::ranges::reverse(places);
    return places;
  }

  std::vector<State> next_states(const std::vector<State>& states, std::size_t stage,
                                 const Relaxation& rest) {
    std::vector<State> next;
    const std::vector<Undominated>& front = fronts_[order_[stage]];
    for (const State& state : states)
      for (std::size_t place = 0; place < front.size(); ++place) {
        const State to{state.weight + front[place].weight, state.value + front[place].value, state.parent,
                       static_cast<std::uint32_t>(place)};
        const double room = limit_ - to.weight;
        if (room < rest.least_weight()) break;  // the others are heavier
        const std::size_t steps = rest.whole_steps(room);
        if (no_better(to.value + rest.bound(room, steps))) continue;
        const double whole = to.value + rest.value_after(steps);
        if (!no_better(whole)) take(partial_choice(to.parent, to.place), rest, steps, whole);
        next.push_back(to);
      }
    std::ranges::sort(next, [](const State& a, const State& b) {
      return a.weight != b.weight ? a.weight < b.weight : a.value < b.value;
    });
    std::vector<State> kept;
    for (const State& state : next)
      if (kept.empty() || state.value < kept.back().value) kept.push_back(state);
    return kept;
  }

  /// Keeps the `most` states of the least bounds, and returns the least bound of the others.
  double keep_most_promising(std::vector<State>& states, const Relaxation& rest, std::size_t most) const {
    const auto bound = [&](const State& state) {
      const double room = limit_ - state.weight;
      return state.value + rest.bound(room, rest.whole_steps(room));
    };
    std::vector<std::pair<double, std::size_t>> bounds;
    bounds.reserve(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) bounds.emplace_back(bound(states[i]), i);
    std::ranges::nth_element(bounds, bounds.begin() + static_cast<std::ptrdiff_t>(most));
    const double least_dropped = bounds[most].first;
    bounds.resize(most);
    std::ranges::sort(bounds, {}, [](const auto& pair) { return pair.second; });
    std::vector<State> kept;
    kept.reserve(most);
    for (const auto& [ignored, i] : bounds) kept.push_back(states[i]);
    states = std::move(kept);
    return least_dropped;
  }

  Fronts fronts_;
  double limit_;
  SearchLimits limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double bound_ = 0;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> best_places_;
  double best_value_ = infinity;
  std::vector<std::vector<Origin>> history_;
};

/// The greedy method's successive choices, beginning with the least value.
class GreedySteps {
 public:
  explicit GreedySteps(const Groups& groups) : fronts_(fronts_of(groups)) {
    for (const auto& front : fronts_) places_.push_back(front.size() - 1);
  }

  KnapsackChoice now() const { return choice_of(fronts_, places_); }

  /// Takes the step that adds the least value for the weight that it saves; false where there is none.
  bool advance() {
    WideRange least = infinity;
    std::size_t group_of_step = 0, place_of_step = 0;
    for (std::size_t group = 0; group < fronts_.size(); ++group)
      for (std::size_t place = 0; place < places_[group]; ++place) {
        const Undominated &from = fronts_[group][places_[group]], &to = fronts_[group][place];
        const WideRange price = WideRange{to.value - from.value} / (from.weight - to.weight);
        if (price < least) least = price, group_of_step = group, place_of_step = place;
      }
    if (least == infinity) return false;
    places_[group_of_step] = place_of_step;
    return true;
  }

 private:
  Fronts fronts_;
  std::vector<std::size_t> places_;
};

}  // namespace

double least_weight(const Groups& groups) {
  double weight = 0;
  for (const auto& group : groups) weight += std::ranges::min(group, {}, &Alternative::weight).weight;
  return weight;
}

std::optional<KnapsackChoice> solve_knapsack(const Groups& groups, double limit, const SearchLimits& limits) {
  if (least_weight(groups) > limit) return std::nullopt;
  return Search(groups, limit, limits).run();
}

std::optional<KnapsackChoice> greedy_choice(const Groups& groups, double limit) {
  GreedySteps steps(groups);
  while (steps.now().weight > limit)
    if (!steps.advance()) return std::nullopt;
  return steps.now();
}

std::optional<KnapsackChoice> greedy_within_value(const Groups& groups, double most_value) {
  GreedySteps steps(groups);
  if (steps.now().value > most_value) return std::nullopt;
  KnapsackChoice last = steps.now();
  while (steps.advance() && steps.now().value <= most_value) last = steps.now();
  return last;
}

}  // namespace precast::casting
