#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <cli/casting/cost_resuming.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/content_hash.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// A text as a cost file returns it: writing JSON replaces bytes that are not UTF-8.
std::string as_in_file(const std::string& text) {
  return Json::parse(io::json_line(Json(text))).get<std::string>();
}

/// How layers are cast, which estimates and measurements depend on.
casting::CostConditions cast_of(const CostOptions& options) {
  casting::CostConditions cast;
  cast.granularity = granularities[static_cast<std::size_t>(options.granularity)];
  cast.biases = options.biases;
  if (options.patch) cast.patch = as_in_file(given_name(*options.patch));
  return cast;
}

/// A hash that identifies the weights, since file names can be reused. A few bytes of each matrix suffice to
/// tell models apart.
std::string hash_of_weights(const families::Blocks& blocks) {
  constexpr std::size_t some = 64;
  io::ContentHash hash;
  for (const families::Block& block : blocks.list())
    for (const families::BlockParameter& parameter : block.parameters) {
      const nn::Parameter found = blocks.source().find(parameter.name);
      hash.add(std::as_bytes(std::span(parameter.name)));
      hash.add(std::as_bytes(std::span(found.dtype.name)));
      for (std::size_t at : {std::size_t{0}, found.bytes.size() / 2, found.bytes.size()}) {
        at = std::min(at, found.bytes.size() - std::min(some, found.bytes.size()));
        hash.add(found.bytes.subspan(at, std::min(some, found.bytes.size())));
      }
    }
  return io::hash_text(hash.value());
}

bool has_measured(const casting::CostFile& file) {
  return std::ranges::any_of(file.layers, [](const casting::LayerCost& layer) {
    return std::ranges::any_of(layer.types, [](const auto& type) { return type.second.measured(); });
  });
}

/// Throws if the file's estimates were made from other inputs than `estimates`.
void check_estimates(const CostOptions& options, const casting::CostFile& old,
                     const std::optional<std::string>& estimates) {
  if (!estimates || !old.has_estimates() || old.estimates == estimates) return;
  throw io::file_error(options.output, "holds estimates from " +
                                           old.estimates.value_or("an importance that it does not name") +
                                           ", and --importance " + io::shown(*options.importance) + " is " +
                                           *estimates + ": give another --output, or remove the file");
}

}  // namespace

casting::CostConditions with_inputs(casting::CostConditions cast, const casting::Samples& samples,
                                    const std::string& policy) {
  cast.samples = io::hash_text(samples.fingerprint());
  cast.policy = policy_text(parse_policy(policy));
  return cast;
}

casting::CostFile results_so_far(const CostOptions& options, const std::string& model,
                                 const casting::Samples& samples,
                                 const std::optional<std::string>& estimates) {
  const casting::CostConditions cast = cast_of(options);
  casting::CostFile fresh{as_in_file(model), {}, cast, estimates, {}};
  if (!options.only_estimates) {
    fresh.samples = static_cast<std::int64_t>(samples.recorded.size());
    fresh.settings = with_inputs(cast, samples, options.policy);
  }
  if (!io::is_there(io::followed_link(options.output))) return fresh;
  casting::CostFile old = casting::read_cost_file(options.output);
  bool same = old.settings && old.settings->without_weights() == fresh.settings;
  if (options.only_estimates && old.settings && old.settings->of_cast() == cast) {
    fresh.samples = old.samples;
    same = true;
  } else if (!has_measured(old) && old.settings && old.settings->without_weights() == cast) {
    old.samples = fresh.samples;
    old.settings = with_inputs(*old.settings, samples, options.policy);
    same = true;
  }
  if (old.model != fresh.model || old.samples != fresh.samples || !same)
    throw io::file_error(options.output,
                         "holds numbers of another measurement (" + old.model.value_or("no model") + "; " +
                             (old.settings ? old.settings->in_words() : "no settings") +
                             "), and this one is " + *fresh.model + "; " + fresh.settings->in_words() +
                             ": give another --output, or remove the file");
  check_estimates(options, old, estimates);
  if (estimates) old.estimates = estimates;
  return old;
}

void add_weights(const CostOptions& options, const families::Blocks& blocks, const std::string& model,
                 casting::CostFile& so_far) {
  casting::CostConditions now = *so_far.settings;
  now.weights = hash_of_weights(blocks);
  if (!so_far.layers.empty() && so_far.settings != now)
    throw io::file_error(options.output, "holds numbers of other weights than '" + io::printable(model) +
                                             "' has now, or does not say of which: give another --output, "
                                             "or remove the file");
  so_far.settings = now;
  if (!so_far.layers.empty())
    notes() << "continuing from " << io::shown(options.output) << ", which has "
            << io::counted(std::ssize(so_far.layers), "layer") << "\n";
}

}  // namespace precast::cli
