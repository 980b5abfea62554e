#include <algorithm>
#include <span>

#include <casting/cast_target.hpp>
#include <casting/estimate.hpp>
#include <formats/fitting.hpp>

namespace precast::casting {

namespace {

using families::Block, families::BlockParameter, families::BlockParameterRole;

bool is_cast(const BlockParameter& parameter, const CostSettings& settings) {
  return parameter.role == BlockParameterRole::matrix ||
         (settings.biases && parameter.role == BlockParameterRole::bias);
}

std::optional<double> estimate_of(const CastSource& source, const CastTarget& target,
                                  const CostSettings& settings) {
  if (!settings.importance) return std::nullopt;
  LossEstimate estimate;
  for (const BlockParameter& parameter : target.parameters)
    if (parameter.role == BlockParameterRole::matrix)
      estimate.add(values_of(source.original(), parameter), values_of(source, parameter),
                   settings.importance(parameter.name, parameter.shape.back()));
  return estimate.value();
}

}  // namespace

std::int64_t CastTarget::count() const {
  std::int64_t sum = 0;
  for (const BlockParameter& parameter : parameters) sum += parameter.shape.elements();
  return sum;
}

std::vector<CastTarget> targets_of(const Block& block, const CostSettings& settings) {
  std::vector<CastTarget> targets;
  for (const BlockParameter& parameter : block.parameters) {
    if (!is_cast(parameter, settings)) continue;
    std::string name = block.name;
    if (settings.granularity == Granularity::matrix)
      name = parameter.name.substr(0, parameter.name.rfind('.'));  // without "weight" or "bias"
    const auto found = std::ranges::find(targets, name, &CastTarget::name);
    if (found == targets.end())
      targets.push_back({name, {parameter}});
    else
      found->parameters.push_back(parameter);
  }
  return targets;
}

TargetCast cast_target(CastSource& source, const Block& block, const CastTarget& target,
                       const std::string& type, const CostSettings& settings) {
  const bool patched = settings.patch && type == settings.patched_type;
  double bits = 0;
  for (const BlockParameter& parameter : target.parameters) {
    const DtypeInfo taken = patched ? source.patch(parameter, *settings.patch) : source.cast(parameter, type);
    bits += formats::bits_in_file(taken, parameter.shape);
  }
  if (patched && !settings.biases)  // they come with the matrices, in whatever dtype the file has
    for (const BlockParameter& parameter : block.parameters)
      if (parameter.role == BlockParameterRole::bias && parameter.name.starts_with(target.name + '.'))
        source.patch(parameter, *settings.patch);
  return {bits / static_cast<double>(target.count()), estimate_of(source, target, settings)};
}

}  // namespace precast::casting
