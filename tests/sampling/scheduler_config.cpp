// What a scheduler_config.json says of each sampler, and files that say nothing usable.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sampling/sampler_title.hpp>
#include <sampling/scheduler_config.hpp>
#include <unistd.h>

#include <precast/error.hpp>

using namespace precast;
using namespace precast::sampling;

namespace {

SchedulerConfig loaded(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(PRECAST_BINARY_DIR) / ("given_scheduler." + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << text;
  struct Gone {
    const std::filesystem::path& path;
    ~Gone() { std::filesystem::remove(path); }
  } const gone{path};
  return SchedulerConfig::load(path);
}

/// The message of a file that is refused, by itself or for a sampler; empty where it is taken.
std::string refusal(const std::string& text, SamplerKind kind) {
  try {
    loaded(text).settings(kind);
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.find("given_scheduler.") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "";
}

std::string with_key(const std::string& key, const nlohmann::json& value) {
  return nlohmann::json({{"_class_name", "DDIMScheduler"}, {key, value}}).dump();
}

using Catch::Contains;

}  // namespace

TEST_CASE("samplers have names") {
  for (const SamplerKind kind : sampler_kinds()) CHECK(sampler_named(sampler_name(kind)) == kind);
  CHECK(sampler_kinds().size() == 9);
  CHECK_THROWS_WITH(sampler_named("heun"),
                    "there is no sampler 'heun': choose one of ddim, pndm, euler, euler_a, dpmpp_2m, "
                    "dpmpp_2m_karras, dpmpp_2m_sde, dpmpp_2m_sde_karras, lcm");
}

TEST_CASE("a folder's own sampler follows its class") {
  const std::vector<std::pair<std::string, SamplerKind>> classes{
      {"DDIMScheduler", SamplerKind::ddim},
      {"PNDMScheduler", SamplerKind::pndm},
      {"EulerDiscreteScheduler", SamplerKind::euler},
      {"EulerAncestralDiscreteScheduler", SamplerKind::euler_a},
      {"DPMSolverMultistepScheduler", SamplerKind::dpmpp_2m},
      {"LCMScheduler", SamplerKind::lcm}};
  for (const auto& [name, kind] : classes)
    CHECK(loaded(nlohmann::json({{"_class_name", name}}).dump()).default_kind() == kind);
  const auto karras = loaded(R"({"_class_name": "DPMSolverMultistepScheduler", "use_karras_sigmas": true})");
  CHECK(karras.default_kind() == SamplerKind::dpmpp_2m_karras);
  CHECK(karras.settings(SamplerKind::dpmpp_2m_karras).sigma_spacing == SigmaSpacing::karras);
  CHECK(karras.settings(SamplerKind::dpmpp_2m).sigma_spacing == SigmaSpacing::timesteps);
  const auto sde =
      loaded(R"({"_class_name": "DPMSolverMultistepScheduler", "algorithm_type": "sde-dpmsolver++"})");
  CHECK(sde.default_kind() == SamplerKind::dpmpp_2m_sde);
  CHECK(sde.settings(SamplerKind::dpmpp_2m_sde).draws_noise);
  CHECK_FALSE(sde.settings(SamplerKind::dpmpp_2m).draws_noise);  // as the name says
  CHECK(loaded(R"({"_class_name": "DPMSolverMultistepScheduler", "use_karras_sigmas": true,
                   "algorithm_type": "sde-dpmsolver++"})")
            .default_kind() == SamplerKind::dpmpp_2m_sde_karras);

  // Another of diffusers' schedulers holds settings for any sampler that is chosen instead.
  const auto other =
      loaded(R"({"_class_name": "UniPCMultistepScheduler", "beta_end": 0.012, "solver_type": "bh2"})");
  CHECK_THROWS_WITH(other.default_kind(),
                    Contains("'UniPCMultistepScheduler', a sampler that is not supported") &&
                        Contains("choose one of ddim, pndm"));
  CHECK(other.settings(SamplerKind::euler).beta_end == 0.012);
  CHECK(other.settings(SamplerKind::dpmpp_2m).solver_type == SolverType::midpoint);
  // Those with solvers of their own pass none of dpmpp's on, whatever their file says.
  for (const auto& [name, solver] : {std::pair("UniPCMultistepScheduler", SolverType::midpoint),
                                     std::pair("DEISMultistepScheduler", SolverType::midpoint),
                                     std::pair("DPMSolverSinglestepScheduler", SolverType::heun)}) {
    const auto file = loaded(nlohmann::json({{"_class_name", name}, {"solver_type", "heun"}}).dump());
    CHECK(file.settings(SamplerKind::dpmpp_2m).solver_type == solver);
  }
}

TEST_CASE("keys that are not in the file have their class's defaults") {
  const auto bare = loaded(R"({"_class_name": "PNDMScheduler", "trained_betas": null})");
  const auto ddim = bare.settings(SamplerKind::ddim);
  CHECK(ddim.beta_start == 0.0001);
  CHECK(ddim.beta_end == 0.02);
  CHECK(ddim.beta_schedule == BetaSchedule::linear);
  CHECK(ddim.timestep_spacing == TimestepSpacing::leading);
  CHECK(ddim.clip_sample);
  CHECK(ddim.set_alpha_to_one);
  const auto pndm = bare.settings(SamplerKind::pndm);
  CHECK_FALSE(pndm.set_alpha_to_one);
  CHECK_FALSE(pndm.skip_prk_steps);
  CHECK_FALSE(pndm.clip_sample);
  for (const SamplerKind kind : {SamplerKind::euler, SamplerKind::euler_a, SamplerKind::dpmpp_2m})
    CHECK(bare.settings(kind).timestep_spacing == TimestepSpacing::linspace);
  const auto lcm = bare.settings(SamplerKind::lcm);
  CHECK(lcm.beta_schedule == BetaSchedule::scaled_linear);
  CHECK(lcm.beta_start == 0.00085);
  CHECK(lcm.original_inference_steps == 50);
  CHECK_FALSE(lcm.clip_sample);

  const auto pythons =
      loaded(R"({"_class_name": "DPMSolverMultistepScheduler", "lambda_min_clipped": -Infinity,
                                  "_note": "a \"-Infinity\" in quotes"})");
  CHECK_FALSE(pythons.settings(SamplerKind::dpmpp_2m).clips_lambda);
}

TEST_CASE("null for a flag is false, as it is to Python") {
  const SchedulerConfig config =
      loaded(R"({"_class_name": "DDIMScheduler", "clip_sample": null, "set_alpha_to_one": null})");
  CHECK_FALSE(config.settings(SamplerKind::ddim).clip_sample);
  CHECK_FALSE(config.settings(SamplerKind::ddim).set_alpha_to_one);
  CHECK(loaded(R"({"_class_name": "DDIMScheduler"})").settings(SamplerKind::ddim).set_alpha_to_one);
}

TEST_CASE("null for a key that is null by default is what it is by default") {
  for (const char* key : {"trained_betas", "sigma_min", "sigma_max", "timestep_type"})
    CHECK(refusal(with_key(key, nullptr), SamplerKind::euler).empty());
  for (const char* key : {"lambda_min_clipped", "variance_type"})
    CHECK(refusal(with_key(key, nullptr), SamplerKind::dpmpp_2m).empty());
  // Betas that are listed need no schedule.
  nlohmann::json listed{
      {"_class_name", "DDIMScheduler"}, {"beta_schedule", nullptr}, {"beta_start", nullptr}};
  listed["trained_betas"] = std::vector<double>(1000, 0.01);
  CHECK(refusal(listed.dump(), SamplerKind::ddim).empty());
}

TEST_CASE("keys that diffusers' pipelines correct are corrected") {
  using enum SchedulerCorrection;
  const SchedulerConfig bare = loaded(R"({"_class_name": "DDIMScheduler"})");
  const SamplerSettings as_written = bare.settings(SamplerKind::ddim);
  CHECK(as_written.clip_sample);
  CHECK(as_written.steps_offset == 0);
  const SamplerSettings drawn = bare.settings(SamplerKind::ddim, of_drawing);
  CHECK_FALSE(drawn.clip_sample);
  CHECK(drawn.steps_offset == 1);
  const SamplerSettings painted = bare.settings(SamplerKind::ddim, of_painting);
  CHECK(painted.clip_sample);
  CHECK(painted.steps_offset == 1);
  // Another sampler has its own class's defaults.
  CHECK(bare.settings(SamplerKind::euler, of_drawing).steps_offset == 0);
  CHECK(loaded(R"({"_class_name": "PNDMScheduler"})").settings(SamplerKind::ddim, of_drawing).clip_sample);
  // So has one of the same class that is another sampler.
  const SchedulerConfig dpm = loaded(R"({"_class_name": "DPMSolverMultistepScheduler"})");
  CHECK(dpm.settings(SamplerKind::dpmpp_2m, of_drawing).steps_offset == 1);
  CHECK(dpm.settings(SamplerKind::dpmpp_2m_sde, of_drawing).steps_offset == 0);
  CHECK(dpm.settings(SamplerKind::dpmpp_2m_karras, of_drawing).steps_offset == 0);

  const SchedulerConfig written = loaded(
      R"({"_class_name": "PNDMScheduler", "clip_sample": true, "steps_offset": 3, "skip_prk_steps": false})");
  CHECK(written.settings(SamplerKind::euler).steps_offset == 3);
  CHECK(written.settings(SamplerKind::euler, of_drawing).steps_offset == 1);
  CHECK_FALSE(written.settings(SamplerKind::ddim, of_drawing).clip_sample);
  CHECK(written.settings(SamplerKind::ddim, of_painting).clip_sample);
  // So is null.
  CHECK(loaded(with_key("steps_offset", nullptr)).settings(SamplerKind::euler, of_drawing).steps_offset == 1);
  CHECK_FALSE(written.settings(SamplerKind::pndm, of_drawing).skip_prk_steps);
  CHECK(written.settings(SamplerKind::pndm, of_painting).skip_prk_steps);
}

TEST_CASE("a key of the wrong type, out of range or not supported is one line") {
  using Json = nlohmann::json;
  const auto ddim = SamplerKind::ddim, euler = SamplerKind::euler, dpmpp = SamplerKind::dpmpp_2m,
             lcm = SamplerKind::lcm, pndm = SamplerKind::pndm;
  struct Bad {
    SamplerKind kind;
    std::string key;
    Json value;
  };
  const std::vector<Bad> bad{
      {ddim, "num_train_timesteps", 0},
      {ddim, "num_train_timesteps", "1000"},
      {ddim, "num_train_timesteps", 1e9},
      {ddim, "beta_start", 0},
      {ddim, "beta_start", -1},
      {ddim, "beta_start", 0.5},
      {ddim, "beta_end", 1},
      {ddim, "beta_end", "x"},
      {ddim, "beta_end", 1e-6},
      {ddim, "beta_schedule", "sigmoid"},
      {ddim, "beta_schedule", 3},
      {ddim, "trained_betas", 0.5},
      {ddim, "trained_betas", Json::array()},
      {ddim, "trained_betas", Json(std::vector<double>(1000, 2.0))},
      {ddim, "prediction_type", "flow"},
      {ddim, "timestep_spacing", "even"},
      {ddim, "steps_offset", -1},
      {ddim, "steps_offset", 1000},
      {ddim, "steps_offset", 0.5},
      {ddim, "rescale_betas_zero_snr", 1},
      {ddim, "set_alpha_to_one", "no"},
      {ddim, "clip_sample", 1},
      {ddim, "clip_sample_range", 0},
      {ddim, "thresholding", true},
      {pndm, "prediction_type", "sample"},
      {SamplerKind::euler_a, "prediction_type", "sample"},
      {pndm, "skip_prk_steps", 1},
      {euler, "interpolation_type", "log_linear"},
      {euler, "timestep_type", "odd"},
      {euler, "use_karras_sigmas", 1},
      {euler, "use_exponential_sigmas", 1},
      {SamplerKind::dpmpp_2m_karras, "use_exponential_sigmas", true},
      {euler, "use_beta_sigmas", true},
      {euler, "sigma_min", -1},
      {euler, "sigma_max", "x"},
      {euler, "final_sigmas_type", "one"},
      {dpmpp, "algorithm_type", "sde-dpmsolver"},
      {dpmpp, "algorithm_type", "dpmsolver"},
      {dpmpp, "solver_type", "euler"},
      {dpmpp, "solver_order", 4},
      {dpmpp, "solver_order", 0},
      {dpmpp, "lower_order_final", 1},
      {dpmpp, "euler_at_final", 1},
      {dpmpp, "use_lu_lambdas", true},
      {dpmpp, "use_flow_sigmas", true},
      {dpmpp, "use_dynamic_shifting", true},
      {dpmpp, "variance_type", "learned"},
      {dpmpp, "variance_type", "learned_range"},
      {dpmpp, "variance_type", "odd"},
      {dpmpp, "lambda_min_clipped", "low"},
      {dpmpp, "thresholding", true},
      {lcm, "original_inference_steps", 0},
      {lcm, "original_inference_steps", 1001},
      {lcm, "timestep_scaling", 0},
      {lcm, "thresholding", true},
      // Where null is no default of its class's, diffusers stops too.
      {ddim, "num_train_timesteps", nullptr},
      {ddim, "beta_start", nullptr},
      {ddim, "beta_end", nullptr},
      {ddim, "beta_schedule", nullptr},
      {ddim, "prediction_type", nullptr},
      {ddim, "timestep_spacing", nullptr},
      {ddim, "steps_offset", nullptr},
      {ddim, "clip_sample_range", nullptr},
      {pndm, "skip_prk_steps", nullptr},
      {euler, "interpolation_type", nullptr},
      {euler, "final_sigmas_type", nullptr},
      {euler, "use_karras_sigmas", nullptr},
      {euler, "use_exponential_sigmas", nullptr},
      {euler, "use_beta_sigmas", nullptr},
      {dpmpp, "algorithm_type", nullptr},
      {dpmpp, "solver_type", nullptr},
      {dpmpp, "solver_order", nullptr},
      {lcm, "original_inference_steps", nullptr},
      {lcm, "timestep_scaling", nullptr},
  };
  for (const Bad& one : bad) {
    INFO(one.key << " of " << sampler_name(one.kind));
    const std::string message = refusal(with_key(one.key, one.value), one.kind);
    const bool named = message.find("'" + one.key + "'") != std::string::npos ||
                       message.find("'" + one.key + "[") != std::string::npos ||
                       (one.key == "beta_end" && message.find("'beta_start'") != std::string::npos);
    INFO(message);
    CHECK(named);
  }
  CHECK_THAT(refusal(R"({"_class_name": "EulerDiscreteScheduler", "sigma_min": 3, "sigma_max": 2})", euler),
             Contains("sigma_min"));
  // As the files of DDPM say, which another sampler can take the place of.
  CHECK(refusal(with_key("variance_type", "fixed_small"), dpmpp).empty());
  CHECK_THAT(refusal(with_key("num_train_timesteps", 49), lcm),
             Contains("'num_train_timesteps'") && Contains("original_inference_steps, 50"));
  CHECK(refusal(with_key("num_train_timesteps", 50), lcm).empty());
  // What a sampler's class does not have is not looked at, as in diffusers.
  CHECK(refusal(with_key("thresholding", true), euler).empty());
  CHECK(refusal(with_key("algorithm_type", "sde-dpmsolver++"), ddim).empty());
}

TEST_CASE("files that are no scheduler's are refused in one line") {
  const auto kind = SamplerKind::ddim;
  CHECK_THAT(refusal("{}", kind), Contains("'_class_name': is missing"));
  CHECK_THAT(refusal("[]", kind), Contains("JSON object"));
  CHECK_THAT(refusal("{", kind), Contains("not valid JSON"));
  CHECK_THAT(refusal("", kind), Contains("not valid JSON"));
  CHECK_THAT(refusal(R"({"_class_name": -Infinity})", kind), Contains("'_class_name'"));
  CHECK_THAT(refusal(R"({"_class_name": 3})", kind), Contains("'_class_name'"));
  CHECK_THAT(refusal(R"({"_class_name": "UNet2DConditionModel"})", kind), Contains("not a scheduler"));
  CHECK_THAT(refusal(R"({"_class_name": "FlowMatchEulerDiscreteScheduler"})", kind),
             Contains("flow matching"));
  for (const std::string name :
       {"EDMEulerScheduler", "EDMDPMSolverMultistepScheduler", "CosineDPMSolverMultistepScheduler",
        "CMStochasticIterativeScheduler", "KarrasVeScheduler", "ScoreSdeVeScheduler"})
    CHECK_THAT(refusal(R"({"_class_name": ")" + name + "\"}", SamplerKind::euler),
               Contains("'_class_name'") && Contains(name) && Contains("use another model"));
  CHECK_THAT(refusal(R"({"_class_name": "DDIMScheduler", "beta_end": 0.01, "beta_end": 0.02})", kind),
             Contains("appears twice"));
  CHECK_THROWS_AS(SchedulerConfig::load("/nowhere/scheduler_config.json"), InputError);
}

TEST_CASE("a sampler's title in a picture is that sampler's alone") {
  for (const SamplerKind kind : sampler_kinds()) CHECK(sampler_titled(sampler_title(kind)) == kind);
  CHECK(sampler_title(SamplerKind::pndm) == "PLMS");
  CHECK_FALSE(sampler_titled("Heun"));
  CHECK_FALSE(sampler_titled(""));
}
