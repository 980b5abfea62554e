#include <algorithm>

#include <casting/relaxation.hpp>

namespace precast::casting {

std::vector<Undominated> undominated(std::span<const Alternative> group) {
  std::vector<Undominated> all;
  for (std::size_t i = 0; i < group.size(); ++i) all.push_back({i, group[i].weight, group[i].value});
  std::ranges::stable_sort(all, [](const Undominated& a, const Undominated& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.value < b.value;
  });
  std::vector<Undominated> front;
  for (const Undominated& one : all)
    if (front.empty() || one.value < front.back().value) front.push_back(one);
  return front;
}

namespace {

/// Places in a front that lie on its lower convex hull.
std::vector<std::size_t> hull_of(const std::vector<Undominated>& front) {
  std::vector<std::size_t> hull;
  const auto above = [&](std::size_t a, std::size_t b, std::size_t c) {
    return WideRange{front[a].value - front[b].value} * (front[c].weight - front[b].weight) <=
           WideRange{front[b].value - front[c].value} * (front[b].weight - front[a].weight);
  };
  for (std::size_t i = 0; i < front.size(); ++i) {
    while (hull.size() >= 2 && above(hull[hull.size() - 2], hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
  return hull;
}

WideRange slope_of(const HullStep& step) { return WideRange{step.value} / step.weight; }

}  // namespace

Relaxation::Relaxation(const std::vector<std::vector<Undominated>>& fronts,
                       std::span<const std::size_t> order) {
  for (const std::size_t group : order) {
    const std::vector<Undominated>& front = fronts[group];
    const std::vector<std::size_t> hull = hull_of(front);
    for (std::size_t i = 1; i < hull.size(); ++i) {
      const Undominated &from = front[hull[i - 1]], &to = front[hull[i]];
      steps_.push_back({group, hull[i], to.weight - from.weight, from.value - to.value});
    }
  }
  // Stable, so that the steps of a group stay in their order where rounding makes their slopes equal.
  std::ranges::stable_sort(steps_, std::ranges::greater{}, slope_of);
  add_up(fronts, order);
}

void Relaxation::leave_out(std::size_t group, const std::vector<std::vector<Undominated>>& fronts,
                           std::span<const std::size_t> order) {
  std::erase_if(steps_, [&](const HullStep& step) { return step.group == group; });
  add_up(fronts, order);
}

void Relaxation::add_up(const std::vector<std::vector<Undominated>>& fronts,
                        std::span<const std::size_t> order) {
  base_weight_ = least_value_ = 0;
  for (const std::size_t group : order) {
    base_weight_ += fronts[group].front().weight;
    least_value_ += fronts[group].back().value;
  }
  added_.assign(1, 0);
  for (const HullStep& step : steps_) added_.push_back(added_.back() + step.weight);
  to_save_.assign(added_.size(), 0);
  for (std::size_t i = steps_.size(); i-- > 0;) to_save_[i] = to_save_[i + 1] + steps_[i].value;
}

std::size_t Relaxation::whole_steps(double limit) const {
  const auto beyond = std::upper_bound(added_.begin(), added_.end(), limit - base_weight_);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(beyond - added_.begin(), 1) - 1);
}

double Relaxation::bound(double limit, std::size_t whole) const {
  if (whole == steps_.size()) return value_after(whole);
  const double part = (limit - weight_after(whole)) / steps_[whole].weight;
  return value_after(whole + 1) + (1 - std::clamp(part, 0.0, 1.0)) * steps_[whole].value;
}

WideRange Relaxation::slope(std::size_t whole) const {
  return whole == steps_.size() ? 0 : slope_of(steps_[whole]);
}

}  // namespace precast::casting
