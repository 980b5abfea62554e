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

/// The suffix of a settings text that says how layers are cast, which estimates and measurements depend on.
std::string cast_settings_text(const CostOptions& options) {
  std::string text = ", by " + std::string(granularities[static_cast<std::size_t>(options.granularity)]) +
                     ", biases " + (options.biases ? "cast" : "kept");
  if (options.patch) text += ", patched from " + given_name(*options.patch);
  return text;
}

constexpr std::string_view weights_mark = ", weights ";

/// The suffix of a settings text that identifies the weights by a hash, since file names can be reused.
/// Hashes a few bytes of each matrix, which suffices to tell models apart.
std::string weights_text(const families::Blocks& blocks) {
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
  return std::string(weights_mark) + io::hash_text(hash.value());
}

/// A settings text without that suffix.
std::string without_weights(const std::string& settings) {
  constexpr std::size_t digits = 16, length = weights_mark.size() + digits;
  if (settings.size() < length) return settings;
  const std::size_t begin = settings.size() - length;
  return settings.compare(begin, weights_mark.size(), weights_mark) == 0 ? settings.substr(0, begin)
                                                                         : settings;
}

/// Everything that the costs depend on, except the model, its weights, the layers and the types.
std::string cost_settings_text(const CostOptions& options, const casting::Samples& samples) {
  return inputs_text(samples, options.policy) + cast_settings_text(options);
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

/// A text as a cost file returns it: writing JSON replaces bytes that are not UTF-8.
std::string as_in_file(const std::string& text) {
  return Json::parse(io::json_line(Json(text))).get<std::string>();
}

}  // namespace

std::string inputs_text(const casting::Samples& samples, const std::string& policy) {
  return "samples " + io::hash_text(samples.fingerprint()) + ", " + policy_text(parse_policy(policy));
}

casting::CostFile results_so_far(const CostOptions& options, const std::string& model,
                                 const casting::Samples& samples,
                                 const std::optional<std::string>& estimates) {
  const std::string cast = as_in_file(cast_settings_text(options)), estimated = "estimates" + cast;
  casting::CostFile fresh{as_in_file(model), {}, estimated, estimates, {}};
  if (!options.only_estimates) {
    fresh.samples = static_cast<std::int64_t>(samples.recorded.size());
    fresh.settings = as_in_file(cost_settings_text(options, samples));
  }
  if (!io::is_there(io::followed_link(options.output))) return fresh;
  casting::CostFile old = casting::read_cost_file(options.output);
  const std::string had = without_weights(old.settings.value_or(""));
  const std::string of_weights = old.settings ? old.settings->substr(had.size()) : "";
  bool same = had == fresh.settings;
  if (options.only_estimates && had.ends_with(cast)) {
    fresh.samples = old.samples;
    same = true;
  } else if (!has_measured(old) && had == estimated) {
    old.samples = fresh.samples;
    old.settings = *fresh.settings + of_weights;
    same = true;
  }
  if (old.model != fresh.model || old.samples != fresh.samples || !same)
    throw io::file_error(options.output,
                         "holds numbers of another measurement (" + old.model.value_or("no model") + "; " +
                             old.settings.value_or("no settings") + "), and this one is " + *fresh.model +
                             "; " + *fresh.settings + ": give another --output, or remove the file");
  check_estimates(options, old, estimates);
  if (estimates) old.estimates = estimates;
  return old;
}

void add_weights(const CostOptions& options, const families::Blocks& blocks, const std::string& model,
                 casting::CostFile& so_far) {
  const std::string now = without_weights(*so_far.settings) + weights_text(blocks);
  if (!so_far.layers.empty() && so_far.settings != now)
    throw io::file_error(options.output, "holds numbers of other weights than '" + io::printable(model) +
                                             "' has now, or does not say of which: give another --output, "
                                             "or remove the file");
  so_far.settings = now;
  if (!so_far.layers.empty())
    notes() << "going on from " << io::shown(options.output) << ", which has "
            << io::counted(std::ssize(so_far.layers), "layer") << "\n";
}

}  // namespace precast::cli
