// The Stable Diffusion pipeline: resolves, checks and estimates requests.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <families/backend.hpp>
#include <families/cut_prompts.hpp>
#include <families/presets.hpp>
#include <families/request_error.hpp>
#include <families/request_limits.hpp>
#include <stable_diffusion/family.hpp>
#include <stable_diffusion/pipeline_parts.hpp>

#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::stable_diffusion {

namespace {

using families::out_of_range, families::RequestError;

/// Latents along a side if the UNet's config does not say.
constexpr std::int64_t usual_sample_size = 64;

/// Throws if the given mask, image or latents are not valid inputs of a run.
void check_start_of(const ModelFolder& folder, const Request& given) {
  families::check_start(given);
  if (given.mask) image::check_pixels(*given.mask, "the mask");
  if (given.mask && !given.image)
    throw RequestError("a mask is given without the image that it is for: give that as well (--image)");
  if (folder.takes_mask() && !given.mask)
    throw RequestError(io::shown(folder.path) +
                       " was trained to paint into a picture: give it one (--image), and where (--mask)");
}

}  // namespace

StableDiffusionPipeline::StableDiffusionPipeline(const families::ModelFiles& model,
                                                 const families::ComponentChoices& choices,
                                                 const families::Backend& backend) {
  families::ComponentChoices used = choices;
  used.t5_encoder.reset();  // no T5 here; both CLIP encoders have one policy
  for (const families::Role role : families::all_roles) families::require_policy(used.of(role));
  parts_ = std::make_unique<Parts>(
      Parts{Model::open(model), used, backend, used, model.components.contains("vae")});
  parts_->in_effect.vae = parts_->vae_choice(parts_->model, VaeHalf::decoder);
  families::require_policy(parts_->in_effect.vae);
}
StableDiffusionPipeline::~StableDiffusionPipeline() = default;

std::vector<std::string> StableDiffusionPipeline::notes() const {
  std::vector<std::string> notes = parts_->model.folder.notes;
  if (parts_->in_effect.vae != parts_->choices.vae)
    notes.push_back(io::shown(parts_->model.folder.component("vae")) +
                    ": force_upcast: the VAE runs in f32, for its f16 overflows");
  const PolicyChoice& denoiser = parts_->in_effect.denoiser;
  if (parts_->model.folder.unet.upcast_attention && denoiser.precision == precision_of<f16> &&
      !denoiser.options.flash && !denoiser.options.upcast_attention)
    notes.push_back(io::shown(parts_->model.folder.component("unet")) +
                    ": upcast_attention: its scores may leave f16; --flash keeps them in f32, as "
                    "--upcast-attention does");
  return notes;
}
// Such UNets are published alone, as a replacement in a folder whose sampler stays.
std::vector<std::string> StableDiffusionPipeline::doubtful_defaults(const Request& request) const {
  const ModelFolder& folder = parts_->model.folder;
  if (request.sampler || !folder.embeds_guidance()) return {};
  const sampling::SamplerKind own = folder.scheduler.default_kind();
  if (own == sampling::SamplerKind::lcm) return {};
  return {
      "the UNet takes guidance as an input, as those of latent consistency models do, and the model's own "
      "sampler is " +
      std::string(sampling::sampler_name(own)) + ": add --sampler lcm"};
}
const families::ComponentChoices& StableDiffusionPipeline::choices() const { return parts_->in_effect; }
const families::Family& StableDiffusionPipeline::family() const { return stable_diffusion::family(); }

std::vector<families::NamedTokens> StableDiffusionPipeline::tokens(const std::string& text) const {
  std::vector<families::NamedTokens> named;
  for (const Model::Encoder& encoder : parts_->model.encoders())
    named.push_back({encoder.name == "text_encoder_2" ? "clip_2" : "clip",
                     encoder.tokenizer.prompt_ids(text, encoder.length())});
  return named;
}

std::vector<families::CutPrompt> StableDiffusionPipeline::cut_prompts(const Request& request) const {
  std::vector<families::PromptReader> readers;
  for (const Model::Encoder& encoder : parts_->model.encoders())
    readers.push_back({encoder.words, encoder.length(), encoder.tokenizer});
  return families::cut_prompts(with_defaults(request), readers);
}

ResolvedRequest StableDiffusionPipeline::with_defaults(const Request& request) const {
  const Model& model = parts_->model;
  const ModelFolder& folder = model.folder;
  const int factor = static_cast<int>(folder.vae.factor());
  const int usual_side = static_cast<int>(folder.unet.sample_size.value_or(usual_sample_size)) * factor;
  const bool embeds = folder.embeds_guidance();
  ResolvedRequest full(request, {.steps = folder.defaults.steps.value_or(embeds ? 4 : 50),
                                 .width = folder.defaults.width.value_or(usual_side),
                                 .height = folder.defaults.height.value_or(usual_side)});
  full.refiner = request.refiner;
  // Other programs, and pictures' settings, call it CFG scale.
  if (request.cfg_scale != 1 && request.guidance && *request.guidance != request.cfg_scale)
    throw RequestError("guidance " + io::shortest(*request.guidance) + " and CFG scale " +
                       io::shortest(request.cfg_scale) +
                       " contradict each other: of Stable Diffusion they are one setting (--guidance)");
  const double usual_guidance = request.cfg_scale != 1
                                    ? request.cfg_scale
                                    : folder.defaults.guidance.value_or(embeds           ? 8.5
                                                                        : folder.is_xl() ? 5.0
                                                                                         : 7.5);
  const double guidance = request.guidance.value_or(usual_guidance);
  full.guidance = guidance;
  const sampling::SamplerKind kind = Parts::sampler_kind(model, request);
  full.sampler = sampling::sampler_name(kind);

  families::check_counts(full, request.preview);
  families::require_in(families::guidance_range, "guidance", guidance);
  families::check_sides(full, factor, "a latent of " + std::to_string(factor) + " pixels");
  if (request.eta) families::require_in(families::part_range, "eta", *request.eta);
  if (request.guidance_rescale)
    families::require_in(families::part_range, "guidance rescale", *request.guidance_rescale);
  for (const auto& score : {request.aesthetic_score, request.negative_aesthetic_score})
    if (score) families::require_in(families::aesthetic_range, "aesthetic score", *score);
  full.clip_skip = request.clip_skip;
  if (kind == sampling::SamplerKind::ddim) full.eta = request.eta;
  if (Parts::guided(model, full)) {
    full.guidance_rescale = request.guidance_rescale;
    full.negative = request.negative;  // no default: a base and its refiner may differ in it
  }
  if (folder.requires_aesthetics_score || full.refiner) {
    full.aesthetic_score = request.aesthetic_score.value_or(6.0);
    full.negative_aesthetic_score = request.negative_aesthetic_score.value_or(2.5);
  }
  if (full.refiner) {
    full.refiner_start = request.refiner_start.value_or(0.8);
    if (!(*full.refiner_start > 0 && *full.refiner_start < 1))
      throw out_of_range("refiner start", io::shortest(*full.refiner_start), "between 0 and 1");
  }
  if (request.preview && !request.preview->vae && !folder.preview_map())
    throw RequestError("there is no map from the latents of " + io::shown(folder.path) +
                       " to colours: let the VAE make previews (--preview-vae)");
  check_start_of(folder, request);
  return full;
}

sampling::SamplerKind StableDiffusionPipeline::Parts::sampler_kind(const Model& model, const Request& given) {
  if (!given.sampler) return model.folder.scheduler.default_kind();
  try {
    return sampling::sampler_named(*given.sampler);
  } catch (const InputError& wrong) {
    throw RequestError(wrong.what());
  }
}

std::optional<Model> StableDiffusionPipeline::Parts::open_refiner(const ResolvedRequest& full) const {
  if (!full.refiner) return std::nullopt;
  Model refiner = Model::open(*full.refiner);
  const vae::AutoencoderConfig &own = model.folder.vae, &other = refiner.folder.vae;
  if (refiner.folder.takes_mask() || other.latent_channels != own.latent_channels ||
      other.factor() != own.factor() || other.scaling_factor != own.scaling_factor ||
      other.latents_mean != own.latents_mean || other.latents_std != own.latents_std)
    throw RequestError(io::shown(*full.refiner) + " cannot refine what " + io::shown(model.folder.path) +
                       " began: their latents differ: give the refiner of this model");
  return refiner;
}

families::RunPlan StableDiffusionPipeline::Parts::plan(const ResolvedRequest& full, const Request& given,
                                                       const Model* refiner) const {
  return families::planned(backend, full, given, [&](const Reporter& reporter) {
    return Run(*this, full, given, refiner, reporter);
  });
}

families::RunPlan StableDiffusionPipeline::Parts::checked_plan(const ResolvedRequest& full,
                                                               const Request& given,
                                                               const Model* refiner) const {
  families::check_latents(given, size(full).drawn(families::pictures(full)));
  for (const Model* each : {&model, refiner}) {
    if (!each) continue;
    for (const Model::Encoder& encoder : each->encoders()) {
      for (const std::string& text : families::texts_of(full)) each->tokens(encoder, text);
      ComponentWeights{each->folder.component(encoder.name), encoder.name};
    }
    for (const std::string_view component : {"unet", "vae"})
      ComponentWeights{each->folder.component(component), component};
    if (!families::keeps_picture(full, given))
      sampler_of(*each, full, given, each == refiner ? ModelRole::refiner : ModelRole::base);
  }
  families::RunPlan plan = this->plan(full, given, refiner);
  families::require_memory(model.folder.path, plan.estimate, choices, full.vae_tiling, backend.free_memory());
  return plan;
}

families::MemoryEstimate StableDiffusionPipeline::estimate(const Request& request) const {
  const ResolvedRequest full = with_defaults(request);
  const auto refiner = parts_->open_refiner(full);
  return parts_->plan(full, request, refiner ? &*refiner : nullptr).estimate;
}

families::MemoryEstimate StableDiffusionPipeline::check(const Request& request) const {
  const ResolvedRequest full = with_defaults(request);
  const auto refiner = parts_->open_refiner(full);
  return parts_->checked_plan(full, request, refiner ? &*refiner : nullptr).estimate;
}

Result StableDiffusionPipeline::generate(const Request& request, const families::ProgressCallback& progress,
                                         const families::PictureCallback& on_picture) const {
  const ResolvedRequest full = with_defaults(request);
  const auto refiner = parts_->open_refiner(full);
  const Model* const second = refiner ? &*refiner : nullptr;
  return families::run_as_planned(
      parts_->backend, parts_->checked_plan(full, request, second), progress, on_picture,
      [&](const Reporter& reporter) { return Run(*parts_, full, request, second, reporter); });
}

}  // namespace precast::stable_diffusion
