#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include <casting/castable.hpp>
#include <casting/planner.hpp>
#include <families/request_error.hpp>
#include <formats/registry.hpp>

#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::casting {

namespace {

/// Tolerance for a sum in another order, so that the error that a plan printed can be given as its limit.
constexpr double error_rounding = 1 + 1e-12;

/// A layer's formats that have a number, as alternatives.
struct LayerChoices {
  std::vector<std::string> types;
  std::vector<Alternative> by_bytes;  ///< weights are bytes, values are errors
};

std::string named_layer(const LayerCost& layer) { return "layer '" + io::printable(layer.name) + "': "; }

std::vector<std::string> chosen_types(const CostFile& file, const std::filesystem::path& path,
                                      const PlanRequest& request, PlanResult& result) {
  const std::vector<std::string> in_file = file.types();
  if (!request.types.empty()) {
    std::vector<std::string> types;
    for (const std::string& type : request.types) {
      // In either letter case, as cost and convert accept it.
      const auto of_build = formats::find_type(type);
      const std::string name =
          of_build && std::ranges::find(in_file, type) == in_file.end() ? std::string(of_build->name) : type;
      if (std::ranges::find(in_file, name) == in_file.end())
        throw families::RequestError(
            io::shown(path) + " has no type '" + io::printable(type, 40) + "': it has " +
            io::joined(in_file, ", ", [](const std::string& known) { return io::printable(known, 40); }));
      if (std::ranges::find(types, name) == types.end()) types.push_back(name);
    }
    return types;
  }
  std::vector<std::string> types;
  for (const std::string& type : in_file)
    (can_cast_to(type, request.holds) ? types : result.left_out).push_back(type);
  if (types.empty())
    throw io::file_error(
        path,
        "no layer has a type that this build has: name those that convert is to write in --types (" +
            io::joined(in_file, ",", [](const std::string& known) { return io::printable(known, 40); }) +
            "), or measure others");
  return types;
}

/// Advice for a layer without a finite number of this measure in the formats that a plan may choose:
/// formats that were left out may have one, and a file of estimates alone has another measure.
std::string advice_without(const LayerCost& layer, Measure measure, std::span<const std::string> left_out) {
  std::string unnamed;
  for (const std::string& type : left_out) {
    const auto found = layer.types.find(type);
    if (formats::find_type(type) && found != layer.types.end() && value_of(found->second, measure))
      unnamed += (unnamed.empty() ? "" : ",") + io::printable(type, 40);
  }
  if (!unnamed.empty())
    return "name those that convert is to write in --types, of " + unnamed +
           ", which this build does not have";
  const auto has = [&](const NamedMeasure& wanted) {
    return std::ranges::any_of(layer.types,
                               [&](const auto& type) { return (type.second.*wanted.number).has_value(); });
  };
  std::string others;
  if (!has(named(measure)))
    for (const NamedMeasure& other : named_measures)
      if (has(other)) others += (others.empty() ? "" : " or ") + std::string(other.key);
  return others.empty() ? "leave the layer out, or give it a type that keeps it finite"
                        : "plan by a number that it has, with --measure " + others;
}

LayerChoices choices_of(const CostFile& file, const LayerCost& layer, const std::filesystem::path& path,
                        std::span<const std::string> types, Measure measure,
                        std::span<const std::string> left_out) {
  if (!layer.parameters)
    throw io::file_error(path,
                         named_layer(layer) + "key 'parameters': is missing: a plan needs each layer's size");
  LayerChoices choices;
  for (const std::string& type : types) {
    const auto found = layer.types.find(type);
    if (found == layer.types.end()) continue;
    const std::optional<double> error = value_of(found->second, measure);
    if (!error || !std::isfinite(*error)) continue;
    const auto bits = found->second.bits ? found->second.bits : file.bits_of(type);
    if (!bits)
      throw io::file_error(path, named_layer(layer) + "type '" + io::printable(type, 40) +
                                     "': key 'bits': is missing: a plan needs each type's size");
    choices.types.push_back(type);
    choices.by_bytes.push_back({static_cast<double>(bytes_at(*layer.parameters, *bits)), *error});
  }
  if (choices.types.empty())
    throw io::file_error(path, named_layer(layer) + "no type has a finite '" +
                                   std::string(to_string(measure)) +
                                   "': " + advice_without(layer, measure, left_out));
  return choices;
}

/// Throws for a requested type that has no finite number in any layer.
void check_each_has_numbers(std::span<const std::string> types, const CostFile& file,
                            const std::filesystem::path& path, Measure measure) {
  for (const std::string& type : types)
    if (!has_number(file, type, measure))
      throw families::RequestError(io::shown(path) + " has no finite '" + std::string(to_string(measure)) +
                                   "' of " + io::printable(type, 40) +
                                   " in any layer: take it out of --types, or plan by another --measure");
}

Groups with_errors_as_weights(const Groups& groups) {
  Groups turned = groups;
  for (auto& group : turned)
    for (Alternative& one : group) std::swap(one.weight, one.value);
  return turned;
}

/// Bytes and error of a choice, whichever of the two was its weight.
Alternative sums_of(const Groups& by_bytes, const KnapsackChoice& choice) {
  Alternative sums;
  for (std::size_t i = 0; i < by_bytes.size(); ++i) {
    sums.weight += by_bytes[i][choice.chosen[i]].weight;
    sums.value += by_bytes[i][choice.chosen[i]].value;
  }
  return sums;
}

std::string in_bits(double bytes, std::int64_t parameters) {
  return io::shortest(bits_to_show(8 * bytes / static_cast<double>(parameters))) + " bits";
}

/// A choice and its relative gap to the lower bound.
struct Solved {
  KnapsackChoice choice;
  double gap = 0;
};

double relative_gap(const KnapsackChoice& choice) {
  return choice.value > choice.bound ? (choice.value - choice.bound) / choice.value : 0;
}

Solved least_error(const Groups& groups, double budget, std::int64_t parameters, const SearchLimits& limits) {
  const auto choice = solve_knapsack(groups, budget, limits);
  if (!choice) {
    const double least = least_weight(groups);
    throw families::RequestError(
        "the budget of " + io::with_commas(static_cast<std::int64_t>(budget)) + " bytes (" +
        in_bits(budget, parameters) +
        " a parameter) is too small for these layers and types: the least possible is " +
        io::with_commas(static_cast<std::int64_t>(least)) + " bytes (" + in_bits(least, parameters) + ")");
  }
  return {*choice, relative_gap(*choice)};
}

Solved least_bytes(const Groups& groups, double error, const SearchLimits& limits) {
  const Groups turned = with_errors_as_weights(groups);
  const auto smallest = solve_knapsack(turned, error * error_rounding, limits);
  if (!smallest)
    throw families::RequestError("no types keep the predicted error at or below " + io::shortest(error) +
                                 ": the least possible is " + io::shortest(least_weight(turned)));
  // The plan of the least error within this size.
  const auto best = solve_knapsack(groups, sums_of(groups, *smallest).weight, limits);
  return {*best, relative_gap(*smallest)};
}

}  // namespace

double bits_to_show(double bits) {
  constexpr double places = 1e4, noise = 1e-6;  // of the product of a number that has no more places
  return std::ceil(bits * places - noise) / places;
}

std::int64_t bytes_at(std::int64_t parameters, double bits) {
  // An average of several formats' bits, times all parameters, may be above their bytes by a rounding.
  constexpr double rounding = 2 * std::numeric_limits<double>::epsilon();
  const double bytes = static_cast<double>(parameters) * bits / 8;
  return static_cast<std::int64_t>(std::ceil(bytes * (1 - rounding)));
}

PlanResult make_plan(const CostFile& file, const std::filesystem::path& path, const PlanRequest& request) {
  PlanResult result;
  const std::vector<std::string> types = chosen_types(file, path, request, result);
  std::vector<LayerChoices> layers;
  Groups groups;
  double budget = 0;
  for (const LayerCost& layer : file.layers) {
    layers.push_back(choices_of(file, layer, path, types, request.measure, result.left_out));
    groups.push_back(layers.back().by_bytes);
    result.parameters += *layer.parameters;
    if (request.bits) budget += static_cast<double>(bytes_at(*layer.parameters, *request.bits));
  }
  if (!request.types.empty()) check_each_has_numbers(types, file, path, request.measure);
  if (request.budget) budget = static_cast<double>(*request.budget);
  const Solved solved = request.error ? least_bytes(groups, *request.error, request.limits)
                                      : least_error(groups, budget, result.parameters, request.limits);

  const auto add = [&](const std::string& method, const Alternative& sums) {
    const bool keeps = request.error ? sums.value <= *request.error * error_rounding : sums.weight <= budget;
    result.sizes.push_back({method, static_cast<std::int64_t>(sums.weight),
                            8 * sums.weight / static_cast<double>(result.parameters), sums.value, keeps});
  };
  const Alternative planned = sums_of(groups, solved.choice);
  if (!std::isfinite(planned.value))
    throw io::file_error(
        path, "the errors of its layers add up to more than a double holds: record its costs again");
  add("plan", planned);
  for (std::size_t i = 0; i < layers.size(); ++i)
    result.plan.types[file.layers[i].name] = layers[i].types[solved.choice.chosen[i]];
  result.plan.bytes = result.sizes.front().bytes;
  result.plan.model = file.model;
  result.plan.bits = result.sizes.front().bits;
  result.plan.error = result.sizes.front().error;
  result.plan.gap = solved.gap;

  if (const auto greedy = request.error ? greedy_within_value(groups, *request.error * error_rounding)
                                        : greedy_choice(groups, budget))
    add("greedy", sums_of(groups, *greedy));
  for (const std::string& type : types) {
    Alternative sums;
    bool everywhere = true;
    for (const LayerChoices& layer : layers) {
      const auto place = std::ranges::find(layer.types, type);
      everywhere = everywhere && place != layer.types.end();
      if (!everywhere) break;
      const Alternative& one = layer.by_bytes[static_cast<std::size_t>(place - layer.types.begin())];
      sums.weight += one.weight;
      sums.value += one.value;
    }
    if (everywhere) add(type, sums);
  }
  return result;
}

PlannedSize size_of_plan(const CostFile& file, const Plan& plan, const std::filesystem::path& plan_path,
                         Measure measure) {
  PlannedSize size{"plan"};
  std::int64_t parameters = 0;
  for (const auto& [name, type] : plan.types) {
    const auto problem = [&, &name = name](const std::string& words) {
      return io::file_error(plan_path, "layer '" + io::printable(name) + "': " + words +
                                           ": give the cost file that the plan was made from");
    };
    const auto layer = std::ranges::find(file.layers, name, &LayerCost::name);
    if (layer == file.layers.end() || !layer->parameters)
      throw problem("the cost file does not have it, with its parameters");
    const auto found = layer->types.find(type);
    const auto error = found == layer->types.end() ? std::nullopt : value_of(found->second, measure);
    if (!error)
      throw problem("the cost file has no '" + std::string(to_string(measure)) + "' of " +
                    io::printable(type, 40) + " there");
    const auto bits = found->second.bits ? found->second.bits : file.bits_of(type);
    if (!bits) throw problem("the cost file does not say the bits of " + io::printable(type, 40));
    size.bytes += bytes_at(*layer->parameters, *bits);
    size.error += *error;
    parameters += *layer->parameters;
  }
  size.bits = 8 * static_cast<double>(size.bytes) / static_cast<double>(parameters);
  return size;
}

}  // namespace precast::casting
