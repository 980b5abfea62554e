// Configs of which one key is erased, or said to be nobody's choice: the default that diffusers has for it,
// or one line that refuses.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

families::Request request_of_erased(const Golden& golden, const nlohmann::json& how,
                                    const std::string& folder) {
  nlohmann::json task = how;
  task["task"] = folder == "inpaint" ? "inpaint" : "img2img";
  return request_of(golden, task);
}

int largest_difference(const image::Image& picture, const std::vector<std::uint8_t>& expected) {
  if (picture.rgb.size() != expected.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, std::abs(int{picture.rgb[i]} - int{expected[i]}));
  return largest;
}

}  // namespace

TEST_CASE("a config without one of its keys is diffusers' default, or one line that names the file",
          "[many_runs]") {
  const Golden golden("erased_keys");
  const nlohmann::json outcomes = golden.fact("outcomes"), how = golden.fact("case");
  std::map<std::string, int> counts;
  for (const std::string folder : stable_diffusion_folders) {
    const DamagedFolder damaged(stable_diffusion_model(folder));
    const families::Request request = request_of_erased(golden, how, folder);
    for (const auto& [label, outcome] : outcomes.items()) {
      if (!label.starts_with(folder + "/")) continue;
      const std::string key = label.substr(label.rfind('/') + 1);
      const std::string file = label.substr(folder.size() + 1, label.rfind('/') - folder.size() - 1);
      CAPTURE(label, outcome);
      const std::string whole = read_text(damaged.path() / file);
      damaged.edit(file, [&](nlohmann::json& json) { json.erase(key); });
      std::optional<families::Result> result;
      std::string message;
      try {
        result = stable_diffusion::StableDiffusionPipeline(
                     damaged.path(), families::ComponentChoices::all(choices_in<f32>().front()))
                     .generate(request);
      } catch (const Error& error) {
        message = error.what();
      }
      write_text(damaged.path() / file, whole);
      CAPTURE(message);
      if (!result) {
        CHECK(outcome == "none");
        CHECK(!message.empty());
        CHECK(message.find('\n') == std::string::npos);
        CHECK_THAT(message, Catch::Contains(file.substr(0, file.find('/'))));
        ++counts["refused"];
        continue;
      }
      // Where diffusers stops or draws weights by chance, what the files say elsewhere may stand for the key.
      const std::string of = outcome == "another" ? label : folder;
      CHECK(relative_error(result->latents.values(), golden.tensor(of + ".latents").values()) <=
            largest_error);
      CHECK(largest_difference(result->images.front(), golden.bytes(of + ".picture")) <= 1);
      ++counts[outcome];
    }
  }
  CHECK(counts["same"] > 0);
  CHECK(counts["another"] > 0);
  CHECK(counts["refused"] > 0);
}

TEST_CASE("a key that _use_default_values names is read as if it were erased, whatever stands there") {
  const Golden golden("erased_keys");
  const nlohmann::json outcomes = golden.fact("outcomes");
  const std::string folder = "sdxl";
  const DamagedFolder damaged(stable_diffusion_model(folder));
  const families::Request request = request_of_erased(golden, golden.fact("case"), folder);
  int seen = 0;
  for (const auto& [label, outcome] : outcomes.items()) {
    // Text encoders are transformers', which has no such key.
    if (!label.starts_with(folder + "/") || label.find("/text_encoder") != std::string::npos) continue;
    if (outcome != "another") continue;
    const std::string key = label.substr(label.rfind('/') + 1);
    const std::string file = label.substr(folder.size() + 1, label.rfind('/') - folder.size() - 1);
    CAPTURE(label);
    const std::string whole = read_text(damaged.path() / file);
    damaged.edit(file, [&](nlohmann::json& json) { json["_use_default_values"] = {key}; });
    const families::Result result =
        stable_diffusion::StableDiffusionPipeline(damaged.path(),
                                                  families::ComponentChoices::all(choices_in<f32>().front()))
            .generate(request);
    write_text(damaged.path() / file, whole);
    CHECK(relative_error(result.latents.values(), golden.tensor(label + ".latents").values()) <=
          largest_error);
    ++seen;
  }
  CHECK(seen > 0);
}
