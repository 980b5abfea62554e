#include <set>
#include <utility>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure_plan.hpp>
#include <casting/squared_error.hpp>
#include <formats/fitting.hpp>

#include <precast/io/message.hpp>

namespace precast::casting {

namespace {

/// Casts the planned matrices of a block; adds their bits and parameters to the sums, and their layers to
/// `found`.
void cast_block(families::Blocks& blocks, std::int64_t number, const Plan& plan, double& bits,
                double& parameters, std::set<std::string>& found) {
  CastSource source(blocks.source());
  bool any = false;
  for (const families::BlockParameter& parameter :
       blocks.list()[static_cast<std::size_t>(number)].parameters) {
    const auto planned = plan.layer_of(parameter.name);
    if (!planned || parameter.role != families::BlockParameterRole::matrix) continue;
    const DtypeInfo taken = source.cast(parameter, planned->second);
    bits += formats::bits_in_file(taken, parameter.shape);
    parameters += static_cast<double>(parameter.shape.elements());
    found.insert(planned->first);
    any = true;
  }
  if (any) blocks.replace(number, source);
}

}  // namespace

PlanMeasurement measure_plan(families::Blocks& blocks, std::span<const families::RecordedState> samples,
                             const Plan& plan, const std::string& plan_path, const CostProgress& progress) {
  const auto count = static_cast<std::int64_t>(blocks.list().size());
  const std::int64_t total = count * (2 * static_cast<std::int64_t>(samples.size()) + 1);
  std::int64_t done = 0;
  const auto ran = [&](std::int64_t some) {
    done += some;
    if (progress) progress(done, total);
  };
  const auto last_state = [&](const families::RecordedState& sample) {
    families::BlockState state = sample.state.clone();
    blocks.run(state, 0, count);
    ran(count);
    return std::move(state.hidden);
  };
  std::vector<HostTensor<f32>> uncast;
  double reference = 0;
  for (const families::RecordedState& sample : samples) {
    uncast.push_back(last_state(sample));
    reference += mean_square(uncast.back());
  }
  double bits = 0, parameters = 0;
  std::set<std::string> found;
  for (std::int64_t number = 0; number < count; ++number) {
    cast_block(blocks, number, plan, bits, parameters, found);
    ran(1);
  }
  for (const auto& [layer, type] : plan.types)
    if (!found.contains(layer))
      throw InputError(plan_path + ": layer '" + io::printable(layer) +
                       "': this model has no matrix of it: give the model that the costs were measured on");
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i)
    sum += mean_squared_error(last_state(samples[i]), uncast[i]);
  for (std::int64_t number = 0; number < count; ++number) blocks.replace(number, blocks.source());
  return {sum / static_cast<double>(samples.size()), sum / reference, bits / parameters};
}

}  // namespace precast::casting
