// The flow matching scheduler against diffusers' (tests/golden/schedules.py), and its own arithmetic.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sampling/flow_match_euler.hpp>
#include <unistd.h>

#include <precast/error.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/ops/sampler.hpp>

using namespace precast;
using namespace precast::sampling;

namespace {

const std::filesystem::path golden_folder = std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden";

/// A file that is gone with the object.
struct ScratchConfig {
  std::filesystem::path path = std::filesystem::path(PRECAST_BINARY_DIR) /
                               ("scheduler_config." + std::to_string(::getpid()) + ".json");
  explicit ScratchConfig(const std::string& text) { std::ofstream(path) << text; }
  ~ScratchConfig() { std::filesystem::remove(path); }
};

std::string load_failure(const std::string& text) {
  const ScratchConfig config(text);
  try {
    FlowMatchSettings::load(config.path);
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.find("scheduler_config.") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "";
}

}  // namespace

TEST_CASE("sigmas and timesteps have the bits of diffusers'") {
  const auto golden = nlohmann::json::parse(std::ifstream(golden_folder / "expected/schedules.json"));
  REQUIRE(golden["schedules"].size() >= 50);
  for (const auto& schedule : golden["schedules"]) {
    const std::string name = schedule["config"];
    const ScratchConfig config(golden["configs"][name].dump());
    const auto settings = FlowMatchSettings::load(config.path);
    const std::int64_t tokens = schedule["image_tokens"];
    INFO(name << ", " << tokens << " tokens, " << schedule["steps"] << " steps");
    const std::vector<f32> levels = sigmas(settings, schedule["steps"], tokens);
    CHECK(levels == schedule["sigmas"].get<std::vector<f32>>());
    std::vector<f32> times;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) times.push_back(timestep(settings, levels[i]));
    CHECK(times == schedule["timesteps"].get<std::vector<f32>>());
    if (settings.use_dynamic_shifting) CHECK(shift_mu(settings, tokens) == schedule["mu"].get<double>());
  }
}

TEST_CASE("the golden models' scheduler configs load") {
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder / "models")) {
    const auto path = entry.path() / "scheduler/scheduler_config.json";
    if (!std::filesystem::exists(path)) continue;
    INFO(path);
    const auto settings = FlowMatchSettings::load(path);
    CHECK(sigmas(settings, 4, 64).size() == 5);
    ++folders;
  }
  CHECK(folders >= 4);
}

TEST_CASE("a model of a narrow dtype sees its timestep rounded twice") {
  const FlowMatchSettings settings;
  CHECK(model_timestep<f32>(settings, 0.75f) == 0.75f);
  // 827.22864 is 828 in bf16 and 827 in f16; 0.828 and 0.827 are then the nearest numbers there.
  CHECK(convert<f32>(model_timestep<bf16>(settings, 0.82722867f)) == 0.828125f);
  CHECK(convert<f32>(model_timestep<f16>(settings, 0.82722867f)) == 0.8271484375f);
}

TEST_CASE("image to image skips steps as diffusers counts them") {
  CHECK(img2img_start(20, 1.0) == 0);
  CHECK(img2img_start(20, 0.0) == 20);
  CHECK(img2img_start(20, 0.6) == 8);
  CHECK(img2img_start(28, 0.3) == 19);  // 28 - 8.4 = 19.6, cut
  CHECK(img2img_start(1, 0.5) == 0);
  CHECK(img2img_start(10, 0.7) == 3);
  CHECK_THROWS_AS(img2img_start(4, 1.01), InputError);
  CHECK_THROWS_AS(img2img_start(4, -0.1), InputError);
  CHECK_THROWS_AS(img2img_start(4, std::nan("")), InputError);
}

TEST_CASE("a step rounds its product before it adds") {
  // 1/3 * 3 rounds to 1 exactly; fused, the sum would keep the rounding error of 1/3.
  Tensor<f32> latents(Shape{1, 3}, std::vector<f32>{-1, 5, 0});
  const Tensor<f32> velocity(Shape{1, 3}, std::vector<f32>{3, -1, 0.5f});
  euler_step_into(latents, velocity, 1.0f / 3.0f, latents);
  CHECK(latents.values()[0] == 0.0f);
  CHECK(latents.values()[1] == 5 - 1.0f / 3.0f);
  CHECK(latents.values()[2] == 1.0f / 6.0f);
  euler_step_into(latents, velocity, 0, latents);
  CHECK(latents.values()[0] == 0.0f);
  CHECK_THROWS_AS(euler_step_into(latents, Tensor<f32>(Shape{3, 1}), 1, latents), ShapeError);
}

TEST_CASE("noise is mixed in by its level") {
  const Tensor<f32> sample(Shape{2, 2}, std::vector<f32>{1, 2, 3, 4});
  const Tensor<f32> noise(Shape{2, 2}, std::vector<f32>{-1, 0, 1, 8});
  const auto mixed = scale_noise(sample, noise, 0.25f);
  CHECK(mixed.shape() == Shape{2, 2});
  CHECK(std::vector<f32>(mixed.values().begin(), mixed.values().end()) ==
        std::vector<f32>{0.5f, 1.5f, 2.5f, 5});
  const auto all_noise = scale_noise(sample, noise, 1.0f);
  CHECK(std::equal(all_noise.values().begin(), all_noise.values().end(), noise.values().begin()));
  CHECK_THROWS_AS(scale_noise(sample, Tensor<f32>(Shape{4}), 0.5f), ShapeError);
}

TEST_CASE("steps of sizes that make no schedule are refused") {
  const FlowMatchSettings settings;
  CHECK_THROWS_AS(sigmas(settings, 0, 64), InputError);
  CHECK_THROWS_AS(sigmas(settings, -3, 64), InputError);
  CHECK_THROWS_AS(sigmas(settings, 4, 0), InputError);
  FlowMatchSettings flat;
  flat.use_dynamic_shifting = true;
  flat.time_shift_type = TimeShift::linear;
  flat.base_shift = flat.max_shift = 0;
  CHECK_THROWS_AS(sigmas(flat, 4, 64), InputError);
}

TEST_CASE("a scheduler config that is not Flux's is refused in one line") {
  CHECK(load_failure(R"({"shift": "three"})").find("'shift'") != std::string::npos);
  CHECK(load_failure(R"({"shift": 0})").find("'shift'") != std::string::npos);
  CHECK(load_failure(R"({"num_train_timesteps": 0})").find("num_train_timesteps") != std::string::npos);
  CHECK(load_failure(R"({"use_dynamic_shifting": 1})").find("use_dynamic_shifting") != std::string::npos);
  CHECK(load_failure(R"({"base_shift": 1e300})").find("base_shift") != std::string::npos);
  CHECK(load_failure(R"({"base_image_seq_len": 4096})").find("max_image_seq_len") != std::string::npos);
  CHECK(load_failure(R"({"time_shift_type": "cubic"})").find("cubic") != std::string::npos);
  CHECK(load_failure(R"({"_class_name": "PNDMScheduler"})").find("PNDMScheduler") != std::string::npos);
  CHECK(load_failure(R"({"shift_terminal": 0.1})").find("shift_terminal") != std::string::npos);
  for (const std::string key : {"invert_sigmas", "stochastic_sampling", "use_karras_sigmas",
                                "use_exponential_sigmas", "use_beta_sigmas", "use_flow_sigmas"})
    CHECK(load_failure("{\"" + key + "\": true}").find(key) != std::string::npos);
  CHECK(load_failure(R"({"use_karras_sigmas": false, "shift_terminal": null})").empty());
}

TEST_CASE("null in a flow matching scheduler is what diffusers' pipeline for Flux makes of it") {
  for (const char* key : {"_class_name", "num_train_timesteps", "base_shift", "max_shift",
                          "base_image_seq_len", "max_image_seq_len", "time_shift_type", "use_karras_sigmas",
                          "use_exponential_sigmas", "use_beta_sigmas", "shift"}) {
    INFO(key);  // diffusers stops
    CHECK(
        load_failure(nlohmann::json{{key, nullptr}}.dump()).find("key '" + std::string(key) + "': is null") !=
        std::string::npos);
  }
  for (const char* flag : {"use_dynamic_shifting", "invert_sigmas", "stochastic_sampling", "use_flow_sigmas",
                           "shift_terminal"}) {
    INFO(flag);  // false, or its default
    CHECK(load_failure(nlohmann::json{{flag, nullptr}}.dump()).empty());
  }
  CHECK(load_failure(R"({"use_dynamic_shifting": true, "shift": null})").empty());  // nobody reads it
}
