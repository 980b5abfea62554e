// The list of experiments.
#include <array>
#include <cmath>
#include <cstdlib>

#include <experiments/all.hpp>
#include <experiments/experiment.hpp>

#include <precast/error.hpp>

namespace precast::experiments {

namespace {

struct Entry {
  std::string_view name;
  Experiment (*run)();
};

constexpr std::array entries{
    Entry{"underflow", &underflow},        Entry{"stagnation", &stagnation},
    Entry{"softmax", &softmax_in_16_bits}, Entry{"softplus", &softplus},
    Entry{"accumulation", &accumulation},  Entry{"overflow", &overflow},
    Entry{"loss-scaling", &loss_scaling},
};

constexpr auto entry_names = [] {
  std::array<std::string_view, entries.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = entries[i].name;
  return all;
}();

}  // namespace

bool Stated::agrees() const {
  const std::size_t power = number.find_first_of("eE");
  const std::string digits = number.substr(0, power);
  const std::size_t point = digits.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  const int exponent = power == std::string::npos ? 0 : std::atoi(number.c_str() + power + 1);
  const double half = 0.5 * std::pow(10.0, exponent - decimals);
  // The bound itself is a decimal fraction that doubles do not hold.
  return std::fabs(computed - std::strtod(number.c_str(), nullptr)) <= half * (1 + 1e-12);
}

std::span<const std::string_view> names() { return entry_names; }

Experiment run(std::string_view name) {
  for (const Entry& entry : entries)
    if (entry.name == name) return entry.run();
  throw InputError("there is no experiment '" + std::string(name) + "'");
}

}  // namespace precast::experiments
