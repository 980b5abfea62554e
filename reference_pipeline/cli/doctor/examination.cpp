// Runs a model under policies, with every op watched.
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <cli/doctor/examination.hpp>
#include <cli/options/arguments.hpp>
#include <cli/running/component_of.hpp>
#include <cli/running/cure_option.hpp>
#include <cli/running/picture_run.hpp>
#include <families/family.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/policy/paths.hpp>
#include <precast/watch/cure.hpp>

namespace precast::cli {

namespace {

template <class... Dtypes>
constexpr auto formats_of(const std::tuple<Dtypes...>*) {
  return std::array<FloatFormat, sizeof...(Dtypes)>{dtype_traits<Dtypes>::format...};
}

/// The casts of a choice, each with its cure.
constexpr std::array casts{std::pair(&ChoiceOptions::upcast_conv, watch::Cure::upcast_conv),
                           std::pair(&ChoiceOptions::upcast_attention, watch::Cure::upcast_attention),
                           std::pair(&ChoiceOptions::upcast_matmul, watch::Cure::upcast_matmul)};

/// The largest number of a precision's format; infinity for the formats of added presets.
double largest_of(std::string_view dtype) {
  const auto precision = precision_named(dtype);
  return precision ? format_of(*precision).max() : std::numeric_limits<double>::infinity();
}

/// Collects the extremes of each component from a run's ops.
class RunExtremes final : public watch::Observer {
 public:
  /// Looks inside ops whose format inside has a smaller range than f32's, or inside all of them.
  RunExtremes(watch::Magnitudes& of_result, bool all_inside)
      : of_result_(of_result), all_inside_(all_inside) {}

  void on_op(const watch::OpRecord& record) override {
    peaks_.on_op(record);
    const std::string_view name = component_of(record.path);
    auto place = std::ranges::find(components_, name, &ComponentExtremes::component);
    if (place == components_.end()) {
      components_.emplace_back().component = name;
      place = std::prev(components_.end());
    }
    if (record.max_abs > place->largest || place->path.empty()) {
      place->largest = record.max_abs;
      place->path = record.path;
    }
    if (record.max_abs > 0)
      place->headroom = std::min(place->headroom, largest_of(record.dtypes.result) / record.max_abs);
    if (record.largest_inside > place->largest_inside) {
      place->largest_inside = record.largest_inside;
      place->inside_path = record.path;
    }
    if (record.largest_inside > 0)
      place->inside_headroom =
          std::min(place->inside_headroom, largest_of(record.dtypes.inside) / record.largest_inside);
    place->headroom = std::min(place->headroom, place->inside_headroom);
    place->non_finite += record.infinities + record.nans;
    place->magnitudes += std::exchange(of_result_, {});
  }
  bool wants_inside(const watch::OpRecord& record) const override {
    return all_inside_ || largest_of(record.dtypes.inside) < largest_of("f32");
  }
  bool wants_non_finite() const override { return !first_non_finite_; }
  void on_non_finite(const watch::NonFinite& found) override { first_non_finite_ = found; }

  void write_to(Examination& examination) {
    examination.layers = peaks_.layers();
    examination.components = std::move(components_);
    examination.first_non_finite = first_non_finite_;
  }

 private:
  watch::Magnitudes& of_result_;
  bool all_inside_;
  LayerPeaks peaks_;
  std::vector<ComponentExtremes> components_;
  std::optional<watch::NonFinite> first_non_finite_;
};

/// The next wider precision in this build that the cure calls for, bf16 before f32; nothing if there is
/// none.
std::optional<PolicyChoice> widened(const PolicyChoice& choice, watch::Cure cure) {
  for (const Precision precision : {precision_of<bf16>, precision_of<f32>}) {
    if (precision == precision_of<bf16> &&
        (cure == watch::Cure::store_f32 || choice.precision != precision_of<f16>))
      continue;
    PolicyChoice wider = choice;
    wider.precision = precision;
    wider = wider.normalised();
    if (wider != choice.normalised() && path_compiled(wider)) return wider;
  }
  return std::nullopt;
}

/// Adds a cast to the components that it changes, with those it must be combined with to form a path.
/// Nothing if this build lacks such a path, or nothing changes.
std::optional<families::ComponentChoices> with_cast(families::ComponentChoices choices,
                                                    bool ChoiceOptions::*cast) {
  const families::ComponentChoices before = choices;
  for (PolicyChoice* const choice : {&choices.denoiser, &choices.text_encoder, &choices.vae}) {
    choice->options.*cast = true;
    *choice = nearest_path(*choice);
    if (!path_compiled(*choice)) return std::nullopt;
  }
  choices.t5_encoder.reset();
  if (choices == before) return std::nullopt;
  return choices;
}

/// The options of the casts that are in `after` but not in `before`.
std::vector<std::string> added_casts(const families::ComponentChoices& before,
                                     const families::ComponentChoices& after) {
  const auto has = [](const families::ComponentChoices& choices, bool ChoiceOptions::*cast) {
    return std::ranges::any_of(families::all_roles,
                               [&](families::Role role) { return choices.of(role).options.*cast; });
  };
  std::vector<std::string> options;
  for (const auto& [cast, cure] : casts)
    if (has(after, cast) && !has(before, cast)) options.push_back(option_of(cure));
  return options;
}

/// Replaces the policy of all components of a role.
families::ComponentChoices with_role(families::ComponentChoices choices, families::Role role,
                                     const PolicyChoice& choice) {
  switch (role) {
    case families::Role::denoiser:
      choices.denoiser = choice;
      break;
    case families::Role::vae:
      choices.vae = choice;
      break;
    case families::Role::text_encoder:
    case families::Role::t5_encoder:
      choices.text_encoder = choice;
      choices.t5_encoder.reset();
  }
  return choices;
}

families::Role role_of(const families::Family& family, std::string_view path) {
  const std::string_view name = component_of_base(path);
  for (const families::ComponentInfo& component : family.components())
    if (component.name == name) return component.role;
  return families::Role::denoiser;
}

}  // namespace

FloatFormat format_of(Precision precision) {
  constexpr auto formats = formats_of(static_cast<const PathDtypes*>(nullptr));
  return formats[place_in_path_dtypes(precision)];
}

double Examination::headroom() const {
  double least = std::numeric_limits<double>::infinity();
  for (const ComponentExtremes& component : components) least = std::min(least, component.headroom);
  return least;
}

const Examination& Examiner::examine(const families::ComponentChoices& choices) {
  for (const Examination& known : examinations_)
    if (known.choices == choices) return known;
  Examination examination;
  examination.choices = examination.in_effect = choices;
  try {
    const auto pipeline = families::open(model_, choices, backend_);
    examination.in_effect = pipeline->choices();
    examination.needed_bytes = pipeline->estimate(request_).needed();
    {
      watch::Magnitudes of_result;
      RunExtremes extremes(of_result, choices == families::ComponentChoices::all({}));
      const watch::CountingMagnitudes counting(of_result);
      const watch::Watching watching(extremes);
      PictureRun run = run_pipeline(*pipeline, request_);
      if (run.result.steps == 0)
        throw UsageError("--strength leaves no step to look at: raise it, or the number of steps");
      extremes.write_to(examination);
      examination.black = run.all_black;
      examination.finite = !examination.first_non_finite && run.non_finite() == 0;
      examination.picture = std::move(run.result.images.front());
    }
    if (examination.finite) {
      const PictureRun run = run_pipeline(*pipeline, request_);
      examination.seconds = run.seconds;
      examination.peak_bytes = run.result.peak_bytes;
      if (run.result.steps > 0)
        examination.step_seconds = run.result.denoise_seconds / static_cast<double>(run.result.steps);
    }
  } catch (const OutOfMemory& problem) {
    examination.finite = false;
    examination.too_large = problem.what();
  }
  return examinations_.emplace_back(std::move(examination));
}

Treatment Examiner::treat(const families::ComponentChoices& choices) {
  Treatment treatment{choices, {}};
  if (families::added_preset(choices.denoiser)) {  // which has no wider path
    treatment.cured = examine(choices).finite;
    return treatment;
  }
  const families::Family& family = families::open(model_, choices, backend_)->family();
  for (;;) {
    const Examination& examination = examine(treatment.choices);
    treatment.cured = examination.finite;
    if (examination.finite || !examination.first_non_finite) return treatment;
    const watch::NonFinite& found = *examination.first_non_finite;
    watch::Cure cure = watch::cure_for(found);
    std::optional<families::ComponentChoices> changed;
    for (const auto& [cast, cured] : casts)
      if (cure == cured) changed = with_cast(treatment.choices, cast);
    if (changed) {
      std::ranges::move(added_casts(treatment.choices, *changed), std::back_inserter(treatment.changes));
    } else {
      // Also if f32 is not finite with these operands: a stored weight may have overflowed its format.
      const families::Role role = role_of(family, found.record.path);
      const auto wider = widened(treatment.choices.of(role), cure);
      if (!wider) return treatment;
      changed = with_role(treatment.choices, role, *wider);
      cure = wider->precision == precision_of<f32> ? watch::Cure::store_f32 : watch::Cure::store_bf16;
      treatment.changes.push_back(option_of(cure, found.record.path));
    }
    treatment.choices = *changed;
  }
}

}  // namespace precast::cli
