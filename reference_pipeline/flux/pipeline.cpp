// A Flux pipeline: resolves a request, estimates its memory, and orders its stages.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <families/backend.hpp>
#include <families/cut_prompts.hpp>
#include <families/memory_estimate.hpp>
#include <families/presets.hpp>
#include <families/request_error.hpp>
#include <families/request_limits.hpp>
#include <flux/component_weights.hpp>
#include <flux/family.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/pipeline_parts.hpp>
#include <image/fit.hpp>
#include <image/tensor_image.hpp>
#include <process/memory.hpp>
#include <sampling/flow_match_euler.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

#include <precast/io/counted.hpp>
#include <precast/io/number_text.hpp>
#include <precast/policy/paths.hpp>

namespace precast::flux {

using families::out_of_range;

FluxPipeline::FluxPipeline(const families::ModelFiles& files, const ComponentChoices& choices)
    : FluxPipeline(files, choices, families::cpu_backend()) {}

FluxPipeline::FluxPipeline(const families::ModelFiles& files, const ComponentChoices& choices,
                           const families::Backend& backend) {
  for (const families::Role role : families::all_roles) families::require_policy(choices.of(role));
  ModelFolder model = ModelFolder::open(files);
  auto clip = text::ClipTokenizer::load(model.component("tokenizer"));
  model.check_positions("text_encoder", model.clip.max_position_embeddings, clip.model_max_length());
  auto t5 = text::T5Tokenizer::load(model.component("tokenizer_2"));
  parts_ = std::make_unique<Parts>(Parts{std::move(model), choices, backend, std::move(clip), std::move(t5)});
}
FluxPipeline::FluxPipeline(FluxPipeline&&) noexcept = default;
FluxPipeline& FluxPipeline::operator=(FluxPipeline&&) noexcept = default;
FluxPipeline::~FluxPipeline() = default;

std::vector<std::string> FluxPipeline::notes() const { return parts_->model.notes; }
const ComponentChoices& FluxPipeline::choices() const { return parts_->choices; }
const families::Family& FluxPipeline::family() const { return flux::family(); }

std::vector<families::NamedTokens> FluxPipeline::tokens(const std::string& text) const {
  return {{"clip", clip_tokens(text)}, {"t5", t5_tokens(text)}};
}

std::vector<std::int32_t> FluxPipeline::clip_tokens(const std::string& text) const {
  return parts_->clip_tokenizer.prompt_ids(text, parts_->clip_length());
}
std::vector<std::int32_t> FluxPipeline::t5_tokens(const std::string& text) const {
  return parts_->t5_tokenizer.prompt_ids(text, parts_->default_t5_length());
}

std::vector<families::CutPrompt> FluxPipeline::cut_prompts(const Request& request) const {
  const ResolvedRequest full = with_defaults(request);
  const std::array readers{families::PromptReader{"CLIP", parts_->clip_length(), parts_->clip_tokenizer},
                           families::PromptReader{"T5", parts_->t5_length(full), parts_->t5_tokenizer}};
  return families::cut_prompts(full, readers);
}

ResolvedRequest FluxPipeline::with_defaults(const Request& request) const {
  const ModelFolder& model = parts_->model;
  const int factor = static_cast<int>(model.vae.factor());
  const bool guided = model.transformer.guidance_embeds;
  const int usual_side = 128 * factor;
  const double guidance = request.guidance.value_or(model.defaults.guidance.value_or(3.5));
  const int longest = request.max_sequence_length.value_or(parts_->default_t5_length());
  ResolvedRequest full(request, {.steps = model.defaults.steps.value_or(guided ? 28 : 4),
                                 .width = model.defaults.width.value_or(usual_side),
                                 .height = model.defaults.height.value_or(usual_side)});
  full.cfg_scale = request.cfg_scale;
  if (request.cfg_scale != 1) full.negative = request.negative.value_or("");
  if (guided) full.guidance = guidance;
  full.max_sequence_length = longest;
  full.padding = request.padding;

  families::check_counts(full, request.preview);
  families::require_in(families::guidance_range, "guidance", guidance);
  if (longest < 1 || longest > longest_t5)
    throw out_of_range("max sequence length", std::to_string(longest),
                       "from 1 to " + std::to_string(longest_t5));
  if (full.padding && (*full.padding < 1 || *full.padding > longest))
    throw out_of_range("T5 padding", std::to_string(*full.padding),
                       "from 1 to the max sequence length, " + std::to_string(longest));
  families::require_in(families::cfg_range, "CFG scale", full.cfg_scale);
  families::check_sides(full, 2 * factor, "two latents of " + io::counted(factor, "pixel"));
  if (request.preview && !request.preview->vae && !model.preview_map())
    throw families::RequestError("there is no map from the " + std::to_string(model.vae.latent_channels) +
                                 " latent channels of " + io::shown(model.path) +
                                 " to colours: let the VAE make previews (--preview-vae)");
  families::check_start(request);
  if (request.image && full.strength > 0 && Parts::first_step(full, request) >= full.steps)
    throw out_of_range("strength", io::shortest(full.strength),
                       "0, which keeps the picture, or large enough for one of the " +
                           io::counted(full.steps, "step") + ": raise it, or the number of steps");
  return full;
}

families::RunPlan FluxPipeline::Parts::plan(const ResolvedRequest& full, const Request& given) const {
  return families::planned(backend, full, given,
                           [&](const Reporter& reporter) { return Run(*this, full, given, reporter); });
}

families::RunPlan FluxPipeline::Parts::checked_plan(const ResolvedRequest& full, const Request& given) const {
  const PackedLayout packed = layout(full);
  families::check_latents(given, Shape{families::pictures(full), packed.tokens(), packed.token_channels()});
  for (const std::string& text : families::texts_of(full)) tokenized(text, full);
  for (const weights::Part part : weights::flux_parts)
    ComponentWeights{model.component(weights::folder_of(part)), part};
  families::RunPlan plan = this->plan(full, given);
  families::require_memory(model.path, plan.estimate, choices, full.vae_tiling, backend.free_memory());
  sampling::sigmas(model.scheduler, full.steps, packed.tokens());
  return plan;
}

MemoryEstimate FluxPipeline::estimate(const Request& request) const {
  return parts_->plan(with_defaults(request), request).estimate;
}

MemoryEstimate FluxPipeline::check(const Request& request) const {
  return parts_->checked_plan(with_defaults(request), request).estimate;
}

Result FluxPipeline::generate(const Request& request, const ProgressCallback& progress,
                              const families::PictureCallback& on_picture) const {
  const ResolvedRequest full = with_defaults(request);
  return families::run_as_planned(
      parts_->backend, parts_->checked_plan(full, request), progress, on_picture,
      [&](const Reporter& reporter) { return Run(*parts_, full, request, reporter); });
}

}  // namespace precast::flux
