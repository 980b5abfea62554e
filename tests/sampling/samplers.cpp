// Every sampler against diffusers' schedulers, over a model that both compute exactly
// (tests/golden/make_samplers.py), and the runs that settings do not have.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sampling/sampler.hpp>
#include <sampling/sampler_state.hpp>
#include <sampling/scheduler_config.hpp>
#include <sampling/torch_random.hpp>
#include <unistd.h>

#include <precast/error.hpp>
#include <precast/ops/sampler.hpp>

using namespace precast;
using namespace precast::sampling;

namespace {

struct SchedulerFile {
  std::filesystem::path path =
      std::filesystem::path(PRECAST_BINARY_DIR) / ("sampler_config." + std::to_string(::getpid()) + ".json");
  explicit SchedulerFile(const std::string& text) { std::ofstream(path) << text; }
  ~SchedulerFile() { std::filesystem::remove(path); }
};

SchedulerConfig scheduler_config(const std::string& text) {
  return SchedulerConfig::load(SchedulerFile(text).path);
}

const nlohmann::json& sampler_goldens() {
  static const auto json = nlohmann::json::parse(
      std::ifstream(std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/expected/samplers.json"));
  return json;
}

Shape golden_shape() {
  const auto sizes = sampler_goldens()["shape"].get<std::vector<std::int64_t>>();
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

/// make_samplers.py's model.
Tensor<f32> predicted(const Tensor<f32>& latents, f32 timestep) {
  Tensor<f32> result(latents.shape());
  for (std::size_t i = 0; i < latents.values().size(); ++i) {
    const f32 x = latents.values()[i];
    const f32 bent = 1.5f * x / (1 + x * x);
    const f32 with_time = bent + timestep * 0.0003f;
    result.values()[i] = with_time - 0.1f;
  }
  return result;
}

/// A golden run: its sampler, and how it begins.
struct GoldenRun {
  SamplerSettings settings;
  Sampler sampler;
  SamplerRun run;
  bool inpaints, mixes_at_start;
};

GoldenRun golden_run(const nlohmann::json& golden) {
  const std::string name = golden["config"];
  const auto settings = scheduler_config(sampler_goldens()["configs"][name].dump())
                            .settings(sampler_named(golden["kind"].get<std::string>()));
  SamplerRun run{.steps = golden["steps"]};
  run.eta = golden.value("eta", 0.0);
  run.strength = golden.value("strength", 1.0);
  run.strength_narrows_lcm = golden.value("narrows", false);
  if (golden.contains("start")) run.denoising_start = golden["start"].get<double>();
  if (golden.contains("end")) run.denoising_end = golden["end"].get<double>();
  const bool inpaints = golden.value("inpaint", false);
  return {settings, Sampler(settings, run), run, inpaints,
          golden.contains("strength") && !(inpaints && run.strength == 1)};
}

struct Result {
  Tensor<f32> latents;
  std::vector<f32> timesteps, begun;
  f32 next_drawn = 0;
};

/// Runs it; `step(call, latents, prediction, noise)` carries the latents on.
template <class Step>
Result result_of(const GoldenRun& golden, Step&& step) {
  const Sampler& sampler = golden.sampler;
  const Shape shape = golden_shape();
  TorchGenerator generator(sampler_goldens()["seed"].get<std::uint64_t>());
  const Tensor<f32> clean = generator.randn(shape), noise = generator.randn(shape);
  Tensor<f32> mask(shape), latents = clean.clone();
  for (std::size_t i = 0; i < mask.values().size(); ++i) mask.values()[i] = i % 3 == 0;
  const SamplerState state(sampler, shape);
  const NoiseMix start = sampler.noise_mix(0);
  if (golden.mixes_at_start)
    combine_into(clean.view(), noise.view(), {.coefficients = {start.from_clean, start.from_noise, 1, 1}},
                 latents.view());
  else if (!golden.run.denoising_start)
    combine_into(noise.view(), {.factor = sampler.initial_noise_scale()}, latents.view());
  Result result{std::move(latents), {}, {}, 0};
  result.begun = {result.latents.values()[0], result.latents.values()[1]};
  for (std::int64_t i = 0; i < sampler.calls(); ++i) {
    Tensor<f32> input(shape);
    state.model_input_into(i, result.latents.view(), input.view());
    const Tensor<f32> prediction = predicted(input, sampler.timestep(i));
    const Tensor<f32> drawn = sampler.draws_noise(i) ? generator.randn(shape) : Tensor<f32>(shape);
    step(i, result.latents, prediction, drawn);
    if (golden.inpaints) {
      const NoiseMix mix = i + 1 < sampler.calls() ? sampler.noise_mix(i + 1) : NoiseMix{};
      repaint_into(result.latents.view(), clean.view(), noise.view(), mask.view(),
                   {.from_clean = mix.from_clean, .from_noise = mix.from_noise}, result.latents.view());
    }
    result.timesteps.push_back(sampler.timestep(i));
  }
  result.next_drawn = generator.randn(shape).values()[0];
  return result;
}

Result as_sampled(const GoldenRun& golden) {
  SamplerState state(golden.sampler, golden_shape());
  return result_of(golden, [&](std::int64_t call, Tensor<f32>& latents, const Tensor<f32>& prediction,
                               const Tensor<f32>& noise) {
    if (golden.sampler.draws_noise(call))
      state.step(call, latents.view(), prediction.view(), noise.view());
    else
      state.step(call, latents.view(), prediction.view());
  });
}

/// The same run by hand, with every coefficient and divisor off by one part in 2^23, up or down.
Result with_coefficients_off(const GoldenRun& golden, unsigned seed) {
  std::mt19937 engine(seed);
  const f32 eps = std::numeric_limits<f32>::epsilon();
  const auto off = [&](f32 value) { return value * (engine() % 2 ? 1 + eps : 1 - eps); };
  std::vector<Tensor<f32>> own;
  for (int i = 0; i < golden.sampler.own_tensors(); ++i) own.emplace_back(golden_shape());
  return result_of(golden, [&](std::int64_t call, Tensor<f32>& latents, const Tensor<f32>& prediction,
                               const Tensor<f32>& noise) {
    for (const SamplerOperation& operation : golden.sampler.operations(call)) {
      const auto tensor = [&](int place) -> const Tensor<f32>& {
        return place == Sampler::latents      ? latents
               : place == Sampler::prediction ? prediction
               : place == Sampler::noise      ? noise
                                              : own[static_cast<std::size_t>(place - Sampler::own)];
      };
      elementwise::Combination how = operation.how;
      for (f32& coefficient : how.coefficients) coefficient = off(coefficient);
      how.divisor = off(how.divisor);
      Tensor<f32> out(golden_shape());
      for (std::size_t i = 0; i < out.values().size(); ++i) {
        f32 sum = how.coefficients[0] * tensor(operation.in[0]).values()[i] / how.first_divisor;
        for (std::size_t k = 1; k < operation.in.size(); ++k)
          sum += how.coefficients[k] * tensor(operation.in[k]).values()[i];
        out.values()[i] = std::clamp(sum * how.factor / how.divisor, how.low, how.high);
      }
      (operation.out == Sampler::latents ? latents
                                         : own[static_cast<std::size_t>(operation.out - Sampler::own)]) =
          std::move(out);
    }
  });
}

template <class A, class B>
f32 distance(const A& a, const B& b) {
  f32 most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

f32 largest(const std::vector<f32>& values) {
  f32 most = 0;
  for (const f32 value : values) most = std::max(most, std::fabs(value));
  return most;
}

std::string failure(const std::string& config, SamplerKind kind, const SamplerRun& run) {
  try {
    Sampler(scheduler_config(config).settings(kind), run);
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "";
}

using Catch::Contains;

}  // namespace

TEST_CASE("samplers visit diffusers' timesteps and end in its latents") {
  const f32 eps = std::numeric_limits<f32>::epsilon();
  std::set<std::string> kinds;
  int runs = 0, with_equal_bits = 0;
  for (const auto& golden : sampler_goldens()["runs"]) {
    auto head = golden;
    for (const char* key : {"timesteps", "begun", "latents", "next_drawn"}) head.erase(key);
    INFO(head.dump());
    const GoldenRun run = golden_run(golden);
    const Result result = as_sampled(run);
    kinds.insert(golden["kind"].get<std::string>());

    const auto timesteps = golden["timesteps"].get<std::vector<f32>>();
    const auto latents = golden["latents"].get<std::vector<f32>>();
    REQUIRE(result.timesteps.size() == timesteps.size());
    const bool continuous = run.settings.continuous_timesteps;
    const bool takes_logarithms = is_dpmpp(run.settings.kind) || continuous;
    if (continuous) {
      // They are logarithms of sigmas, in PyTorch's bits.
      for (std::size_t i = 0; i < timesteps.size(); ++i)
        CHECK(std::fabs(result.timesteps[i] - timesteps[i]) <= eps * std::fabs(timesteps[i]));
    } else {
      CHECK(result.timesteps == timesteps);
    }
    CHECK(result.next_drawn == golden["next_drawn"].get<f32>());
    CHECK(result.begun == golden["begun"].get<std::vector<f32>>());

    if (takes_logarithms) {
      // PyTorch's logarithms and exponentials are within an ulp: our coefficients may differ from diffusers'
      // by that, and no more of the result than such a difference makes.
      f32 bound = 2 * eps * largest(latents);
      for (unsigned seed = 1; seed <= 6; ++seed)
        bound = std::max(
            bound, 2 * distance(with_coefficients_off(run, seed).latents.values(), result.latents.values()));
      CHECK(distance(result.latents.values(), latents) <= bound);
    } else {
      CHECK(distance(result.latents.values(), latents) == 0);
      ++with_equal_bits;
    }
    ++runs;
  }
  CHECK(kinds.size() == sampler_kinds().size());
  CHECK(runs >= 300);
  CHECK(with_equal_bits >= 190);
}

TEST_CASE("guidance and its rescaling are diffusers'") {
  const auto& golden = sampler_goldens()["guidance"];
  const auto tensor = [&](const char* key) {
    return Tensor<f32>(Shape{2, 3, 5}, golden[key].get<std::vector<f32>>());
  };
  const Tensor<f32> negative = tensor("negative"), positive = tensor("positive");
  Tensor<f32> guided(negative.shape());
  guide_into(negative.view(), positive.view(), golden["scale"], guided.view());
  CHECK(distance(guided.values(), tensor("guided").values()) == 0);
  rescale_guidance_into(guided.view(), positive.view(), golden["share"], guided.view());
  // PyTorch sums in double: 15 values are summed here with some roundings.
  const auto rescaled = golden["rescaled"].get<std::vector<f32>>();
  CHECK(distance(guided.values(), rescaled) <= 16 * std::numeric_limits<f32>::epsilon() * largest(rescaled));
}

TEST_CASE("a step that is out of order or lacks its noise is refused") {
  const auto settings = scheduler_config(R"({"_class_name": "EulerAncestralDiscreteScheduler"})")
                            .settings(SamplerKind::euler_a);
  const Sampler sampler(settings, {.steps = 3});
  Tensor<f32> latents(Shape{1, 2, 2, 4});
  const Tensor<f32> prediction(latents.shape());
  SamplerState state(sampler, latents.shape());
  CHECK_THROWS_AS(state.step(1, latents.view(), prediction.view(), prediction.view()), InputError);
  CHECK_THROWS_AS(state.step(0, latents.view(), prediction.view()), InputError);
  CHECK_NOTHROW(state.step(0, latents.view(), prediction.view(), prediction.view()));
  CHECK_THROWS_AS(state.step(0, latents.view(), prediction.view(), prediction.view()), InputError);
  CHECK_THROWS_AS(state.step(1, latents.view(), Tensor<f32>(Shape{4, 4}).view(), prediction.view()),
                  ShapeError);
  CHECK_THROWS_AS(sampler.timestep(3), InputError);
  CHECK_THROWS_AS(sampler.timestep(-1), InputError);
  CHECK(sampler.noise_mix(3).from_noise == 0);
}

TEST_CASE("runs that a sampler does not have are refused in one line") {
  const std::string bare = R"({"_class_name": "DDIMScheduler", "timestep_spacing": "trailing"})";
  const auto kind = SamplerKind::ddim;
  CHECK_THAT(failure(bare, kind, {.steps = 0}), Contains("steps is 0: give 1 to 1000"));
  CHECK_THAT(failure(bare, kind, {.steps = 1001}), Contains("give 1 to 1000"));
  CHECK_THAT(failure(bare, kind, {.steps = 5, .eta = 1.5}), Contains("eta 1.5"));
  CHECK_THAT(failure(bare, kind, {.steps = 5, .eta = std::nan("")}), Contains("eta"));
  CHECK_THAT(failure(bare, SamplerKind::euler, {.steps = 5, .eta = 0.5}), Contains("is ddim's"));
  CHECK_THAT(failure(bare, kind, {.steps = 5, .strength = 1.1}), Contains("strength 1.1"));
  CHECK_THAT(failure(bare, kind, {.steps = 5, .strength = 0.1}),
             Contains("strength 0.1 of 5 steps leaves none"));
  CHECK_THAT(failure(bare, kind, {.steps = 5, .denoising_start = 0.9, .denoising_end = 0.5}),
             Contains("is empty"));
  CHECK_THAT(
      failure(bare, kind, {.steps = 1, .denoising_start = 0.5}),
      Contains("of 1 step none lies behind 0.5 of") && Contains("take more steps, or start it earlier"));
  CHECK_THAT(failure(bare, kind, {.steps = 4, .strength = 0.25, .denoising_end = 0.5}),
             Contains("of 4 steps at strength 0.25 none lies before 0.5 of") &&
                 Contains("a larger strength, or start it later"));
  // A picture that is drawn from noise has no strength.
  CHECK_THAT(failure(R"({"_class_name": "DDIMScheduler"})", kind, {.steps = 1, .denoising_end = 0.5}),
             Contains("of 1 step none lies before 0.5 of") && Contains("take more steps, or start it later"));
  CHECK_THAT(failure(bare, SamplerKind::lcm, {.steps = 51}), Contains("original_inference_steps 50"));
  CHECK_THAT(failure(bare, SamplerKind::lcm, {.steps = 8, .strength = 0.1, .strength_narrows_lcm = true}),
             Contains("8 steps"));
  CHECK_THAT(failure(bare, SamplerKind::pndm, {.steps = 3}), Contains("skip_prk_steps"));
  const std::string zero_snr =
      R"({"_class_name": "DDIMScheduler", "timestep_spacing": "trailing", "rescale_betas_zero_snr": true})";
  CHECK_THAT(failure(zero_snr, kind, {.steps = 4}), Contains("all noise"));
  CHECK(failure(zero_snr, SamplerKind::euler, {.steps = 4}).empty());
  CHECK(failure(zero_snr, SamplerKind::pndm, {.steps = 4}).empty());  // diffusers' has no such key
  CHECK_THAT(failure(R"({"_class_name": "DDIMScheduler", "steps_offset": 300})", kind, {.steps = 4}),
             Contains("timestep 1050"));
  // Of 1.x and 2.x the pipelines set steps_offset to 1, so that no file can lower it.
  CHECK_THAT(failure(R"({"_class_name": "PNDMScheduler", "skip_prk_steps": true, "steps_offset": 1})",
                     SamplerKind::pndm, {.steps = 1000}),
             Catch::EndsWith("timestep 1000, and training had 1000: take fewer steps"));
  // A step to its own level of noise is nothing for euler, and what dpmpp divides by.
  const std::string to_the_end =
      R"({"_class_name": "EulerDiscreteScheduler", "timestep_spacing": "leading", "steps_offset": 1})";
  CHECK(failure(to_the_end, SamplerKind::euler, {.steps = 1000}).empty());
  CHECK(failure(to_the_end, SamplerKind::euler_a, {.steps = 1000}).empty());
  CHECK_THAT(failure(to_the_end, SamplerKind::dpmpp_2m, {.steps = 999}), Contains("do not fall"));
  CHECK_THAT(
      failure(R"({"_class_name": "DDIMScheduler", "beta_start": 0.9, "beta_end": 0.9})", kind, {.steps = 4}),
      Contains("nothing of a picture"));
  CHECK_THAT(
      failure(R"({"_class_name": "EulerDiscreteScheduler", "use_karras_sigmas": true, "sigma_min": 200})",
              SamplerKind::euler, {.steps = 4}),
      Contains("do not fall"));
  CHECK_THAT(failure(R"({"_class_name": "DPMSolverMultistepScheduler", "timestep_spacing": "leading"})",
                     SamplerKind::dpmpp_2m, {.steps = 1000}),
             Contains("do not fall"));
  // Betas that leave nothing long before the last timestep have no rescaling; the message names those given.
  CHECK_THAT(failure(R"({"_class_name": "EulerDiscreteScheduler", "beta_start": 0.01, "beta_end": 0.2,
                         "rescale_betas_zero_snr": true})",
                     SamplerKind::euler, {.steps = 4}),
             Contains("from 0.010000 to 0.200000 over 1000 timesteps, leave nothing of a picture"));
  // Levels of noise whose squares are beyond f32, where diffusers' latents are NaN.
  const std::string steep = R"({"_class_name": "EulerDiscreteScheduler", "beta_start": 0.01, "beta_end": 0.2,
                                "beta_schedule": "scaled_linear", "timestep_spacing": "leading"})";
  CHECK_THAT(failure(steep, SamplerKind::euler_a, {.steps = 10}), Contains("beyond f32: check beta_start"));
  CHECK(failure(steep, SamplerKind::euler, {.steps = 10}).empty());
}

TEST_CASE("a step from Karras' last level to itself changes nothing") {
  const auto settings =
      scheduler_config(R"({"_class_name": "DPMSolverMultistepScheduler", "solver_type": "heun",
                           "final_sigmas_type": "sigma_min", "lower_order_final": false})")
          .settings(SamplerKind::dpmpp_2m_karras);
  const Sampler sampler(settings, {.steps = 4});
  Tensor<f32> latents(Shape{1, 1, 2, 4}, std::vector<f32>{1, -2, 3, -4, 0.5f, 0.25f, 7, 8});
  SamplerState state(sampler, latents.shape());
  for (std::int64_t call = 0; call < 3; ++call)
    state.step(call, latents.view(), predicted(latents, sampler.timestep(call)).view());
  const Tensor<f32> before = latents.clone();
  state.step(3, latents.view(), predicted(latents, sampler.timestep(3)).view());
  CHECK(distance(latents.values(), before.values()) <=
        std::numeric_limits<f32>::epsilon() * largest({before.values().begin(), before.values().end()}));
}

TEST_CASE("trailing timesteps are as many as there are steps") {
  // numpy.arange, of which diffusers takes them, has one more for 61 steps and some other counts: timestep
  // -1.
  const auto settings =
      scheduler_config(R"({"_class_name": "DDIMScheduler", "timestep_spacing": "trailing"})")
          .settings(SamplerKind::ddim);
  for (const std::int64_t steps : {60, 61, 103, 994}) {
    const Sampler sampler(settings, {.steps = steps});
    CHECK(sampler.calls() == steps);
    CHECK(sampler.timestep(0) == 999);
    CHECK(sampler.timestep(steps - 1) >= 0);
  }
}
