#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <casting/rank_correlation.hpp>

namespace precast::casting {

namespace {

/// The rank of each number, minus the mean rank.
std::vector<double> centred_ranks(std::span<const double> numbers) {
  std::vector<double> sorted(numbers.begin(), numbers.end()), ranks;
  std::ranges::sort(sorted);
  for (const double number : numbers) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), number);
    const auto place = static_cast<double>(first - sorted.begin()),
               end = static_cast<double>(last - sorted.begin());
    ranks.push_back((place + end - static_cast<double>(numbers.size())) / 2);
  }
  return ranks;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 3 || a.size() != b.size()) return std::nullopt;
  const std::vector<double> x = centred_ranks(a), y = centred_ranks(b);
  const double scale = std::sqrt(product(x, x) * product(y, y));
  if (!(scale > 0)) return std::nullopt;
  return product(x, y) / scale;
}

}  // namespace precast::casting
