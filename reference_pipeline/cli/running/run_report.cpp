// Formats what run_pipeline's callers report.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <utility>

#include <cli/options/arguments.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/output.hpp>
#include <families/family.hpp>
#include <process/memory.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

/// Warns of a prompt that an encoder cuts. `encoders`: how many the model has.
std::string cut_prompt(const families::CutPrompt& cut, const families::Request& request,
                       const std::vector<families::CutPrompt>& all, std::size_t encoders) {
  const std::string encoder(cut.encoder);
  const bool seen_by_another =
      encoders > 1 && std::ranges::none_of(all, [&](const families::CutPrompt& other) {
        return other.prompt == cut.prompt && other.negative == cut.negative && other.encoder != cut.encoder;
      });
  const bool by_choice = request.max_sequence_length == cut.tokens;
  const std::string which = cut.negative                  ? "the negative prompt"
                            : request.prompts.size() == 1 ? "the prompt"
                                                          : "prompt " + std::to_string(cut.prompt + 1);
  return which + " is longer than the " + std::to_string(cut.tokens) + " tokens that " + encoder +
         " reads, without \"" + io::printable(cut.lost, 1000) + "\"" +
         (seen_by_another ? " (only " + encoder + " is without it)" : "") +
         (by_choice ? ": raise --max-sequence-length" : "");
}

/// human_duration, but in milliseconds below 0.1 s.
std::string of_a_step(double seconds) {
  if (seconds >= 0.1) return human_duration(seconds);
  return io::fixed(1000 * seconds, 1) + " ms";
}

}  // namespace

void require_used(const families::Pipeline& pipeline, const families::Request& request) {
  if (pipeline.with_defaults(request).sampler) return;
  const auto refuse = [&](std::string_view option, bool given) {
    if (given)
      throw UsageError(std::string(option) + " is for Stable Diffusion, and this is a model of the family " +
                       std::string(pipeline.family().name()) + ": leave it out");
  };
  refuse("--sampler", request.sampler.has_value());
  refuse("--eta", request.eta.has_value());
  refuse("--guidance-rescale", request.guidance_rescale.has_value());
  refuse("--clip-skip", request.clip_skip.has_value());
  refuse("--aesthetic-score", request.aesthetic_score.has_value());
  refuse("--negative-aesthetic-score", request.negative_aesthetic_score.has_value());
  refuse("--mask", request.mask.has_value());
  refuse("--refiner", request.refiner.has_value());
}

std::vector<std::string> run_warnings(const families::Pipeline& pipeline, const families::Request& request) {
  std::vector<std::string> warnings = pipeline.notes();
  const families::ResolvedRequest used = pipeline.with_defaults(request);
  for (std::string& line : pipeline.doubtful_defaults(request)) warnings.push_back(std::move(line));
  if (request.guidance && !used.guidance)
    warnings.push_back("--guidance " + shortest(*request.guidance) +
                       " does nothing: this model was trained without guidance");
  const bool distilled = pipeline.family().guidance_is_distilled();
  // Latent consistency models have guidance above 1 without a second prediction.
  const bool takes_guidance_in = !distilled && used.guidance && *used.guidance > 1;
  constexpr const char* as_input = "this model takes its guidance as an input, and predicts once a step";
  if (request.negative && !used.negative)
    warnings.push_back(takes_guidance_in ? std::string("--negative does nothing: ") + as_input
                                         : "--negative does nothing without classifier-free guidance: add " +
                                               std::string(distilled ? "--cfg-scale" : "--guidance") +
                                               " above 1, which takes twice the time");
  constexpr std::uint8_t half = 128;
  if (request.mask && std::ranges::all_of(request.mask->rgb, [](std::uint8_t value) { return value < half; }))
    warnings.emplace_back("--mask is black throughout, and only what is white in it is repainted");
  const auto unused = [&](std::string_view option, const auto& given, const auto& taken,
                          std::string_view why) {
    if (given && !taken) warnings.push_back(std::string(option) + " does nothing: " + std::string(why));
  };
  if (used.sampler) {
    unused("--eta", request.eta, used.eta, "of the samplers only ddim has it");
    unused("--guidance-rescale", request.guidance_rescale, used.guidance_rescale,
           takes_guidance_in ? as_input : "without a --guidance above 1 nothing is guided");
    unused("--aesthetic-score", request.aesthetic_score, used.aesthetic_score, "only refiners take one");
    unused("--negative-aesthetic-score", request.negative_aesthetic_score, used.negative_aesthetic_score,
           "only refiners take one");
    unused("--max-sequence-length", request.max_sequence_length, used.max_sequence_length,
           "this model's text encoders have one length");
    unused("--t5-padding", request.padding, used.padding, "this model has no T5");
  }
  const auto cut = pipeline.cut_prompts(request);
  const std::size_t encoders = cut.empty() ? 0 : pipeline.tokens("").size();
  for (const families::CutPrompt& one : cut) warnings.push_back(cut_prompt(one, request, cut, encoders));
  return warnings;
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::cerr << "precast: warning: " << warning << "\n";
}

std::string run_summary(const PictureRun& run, bool on_device) {
  std::string text = human_duration(run.seconds) + " in all";
  if (run.result.steps > 0)
    text += ", " + of_a_step(run.result.denoise_seconds / static_cast<double>(run.result.steps)) + " a step";
  const std::int64_t peak = on_device ? run.result.peak_bytes : process::peak_resident_memory();
  if (peak > 0) text += ", peak memory " + in_bytes(peak) + (on_device ? " on the device" : "");
  return text;
}

}  // namespace precast::cli
