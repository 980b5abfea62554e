// The registry: each folder is opened by its family, and a family that a program adds is one like Precast's
// own.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/commands.hpp>
#include <families/preset_registration.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <families/toy_family.hpp>
#include <flux/family.hpp>
#include <image/picture_file.hpp>
#include <sampling/torch_random.hpp>
#include <support/golden.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

#include <precast/error.hpp>
#include <precast/policy/paths.hpp>
#include <precast/watch/ran_in.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

std::string error_of(const std::filesystem::path& folder) {
  try {
    families::family_of(folder);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// Runs the program in this process, and gives back what it writes to a stream.
std::string written_by(std::ostream& stream, int expected, const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::streambuf* const before = stream.rdbuf(out.rdbuf());
  const int code = cli::run(arguments);
  stream.rdbuf(before);
  CHECK(code == expected);
  return out.str();
}
std::string printed_by(const std::vector<std::string>& arguments) {
  return written_by(std::cout, cli::exit_code::ok, arguments);
}

}  // namespace

TEST_CASE("a folder is opened by the family that its model_index.json names") {
  const TemporaryFolder folder;
  write_toy_model(folder.path());
  CHECK(&families::family_of(folder.path()) == &toy_family());
  CHECK(&families::family_of(golden_model("dev_f32")) == &flux::family());
  std::ofstream(folder.path() / "model_index.json") << R"({"_class_name": "StableAudioPipeline"})";
  CHECK_THAT(error_of(folder.path()),
             Catch::Contains(
                 "is 'StableAudioPipeline', and only Flux, Stable Diffusion and Toy pipelines run here"));
  std::ofstream(folder.path() / "model_index.json") << R"({"_class_name": ["pipeline_own", "OwnPipeline"]})";
  CHECK_THAT(error_of(folder.path()), Catch::Contains("is 'OwnPipeline', whose code comes with the folder"));
  CHECK_THAT(error_of(folder.path() / "nowhere"), Catch::Contains("there is no such model folder"));
}

TEST_CASE("the program generates with a family that it does not know by name") {
  const TemporaryFolder folder;
  write_toy_model(folder.path() / "toy");
  const std::string model = (folder.path() / "toy").string(), output = (folder.path() / "toy.png").string();
  const auto json =
      nlohmann::json::parse(printed_by({"generate", "--model", model, "--prompt", "noise", "--device", "cpu",
                                        "--seed", "3", "--output", output, "--json"}));
  CHECK(json.at("policies").size() == 1);
  CHECK(json.at("policies").contains("linear"));
  const image::Image picture = image::read_image(output).image;
  REQUIRE((picture.width == 16 && picture.height == 8));
  sampling::TorchGenerator generator(3);
  const Tensor<f32> noise = generator.randn(Shape{16 * 8, 3});
  for (std::size_t i = 0; i < picture.rgb.size(); ++i)
    REQUIRE(picture.rgb[i] == std::lround(255 / (1 + std::exp(-noise.values()[i]))));
}

TEST_CASE("a preset that was compiled without models of a family leaves its models to the other presets",
          "[many_runs]") {
  // A program's preset for one family must not keep inspect and compare from models of the others.
  const families::PresetAddition added({.name = "of-another-family",
                                        .summary = "for a test",
                                        .spelling = "Policy<Storage<f32>>",
                                        .rows = {},
                                        .gradients = {},
                                        .bytes_per_value = 4});
  const PolicyChoice choice = families::find_preset("of-another-family")->choice;
  CHECK_FALSE(families::has_models(flux::family(), families::cpu_backend(), choice));
  CHECK(families::has_models(toy_family(), families::cpu_backend(), choice));
  const std::string model = golden_model("dev_f32").string();
  const auto inspected = nlohmann::json::parse(printed_by({"inspect", model, "--json"}));
  CHECK_FALSE(inspected.at("memory").contains("of-another-family"));
  CHECK(inspected.at("memory").size() == families::compiled_presets().size() - 1);
  for (const NamedPreset& preset : families::compiled_presets())
    CHECK(families::has_models(flux::family(), families::cpu_backend(), preset.choice) ==
          (preset.name != "of-another-family"));
  const TemporaryFolder folder;
  const auto compared = nlohmann::json::parse(
      printed_by({"compare", "--model", model, "--prompt", "a", "--device", "cpu", "--steps", "1", "--json",
                  "--output", (folder.path() / "sheet.png").string()}));
  CHECK(compared.at("policies").size() == families::compiled_presets().size() - 1);
}

TEST_CASE("doctor says nothing against a program's own preset that stays finite", "[many_runs]") {
  if (!watch::compiled || !path_compiled(PolicyChoice{}))
    return skip("this build cannot watch ops, or has no preset quality");
  const std::span<const families::FamilyModels> of_f32 = families::cpu_backend().models(PolicyChoice{});
  const std::vector<families::FamilyModels> models(of_f32.begin(), of_f32.end());
  const families::PresetAddition added({.name = "like-f32",
                                        .summary = "for a test",
                                        .spelling = "Policy<Storage<f32>>",
                                        .rows = {},
                                        .gradients = {},
                                        .bytes_per_value = 4,
                                        .models = models});
  const std::vector<std::string> words{"doctor",   "--model",    golden_model("dev_f32").string(),
                                       "--device", "cpu",        "--steps",
                                       "1",        "--policies", "like-f32",
                                       "--json"};
  const auto report = nlohmann::json::parse(printed_by(words));
  CHECK(report.at("recommended").is_null());
  CHECK(report.at("policies").at(0).at("verdict") == "safe");
}

TEST_CASE("inspect and tokenize speak to a family's interface alone") {
  const TemporaryFolder folder;
  write_toy_model(folder.path());
  const auto json = nlohmann::json::parse(printed_by({"inspect", folder.path().string(), "--json"}));
  CHECK(json.at("accounting").at("parameters") == 12);
  CHECK(json.at("components").at(0).at("name") == "linear");
  CHECK(json.at("components").at(0).at("parameters") == 12);
  for (const auto& [preset, memory] : json.at("memory").items())
    CHECK(memory.at("components").at("linear").at("weights") == 48);
  CHECK(printed_by({"tokenize", "--model", folder.path().string(), "--text", "AB"}) == "bytes: 65 66\n");
}

TEST_CASE("every command ends with one line where a registration has failed") {
  const families::PresetRegistration<Policy<Storage<bf16>>> taken{"quality", "a name of Precast's"};
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"policy"}, {"generate", "--prompt", "x"}, {"--help"}, {}})
    CHECK(written_by(std::cerr, cli::exit_code::error, arguments) ==
          "precast: error: preset 'quality' already exists: choose another name\n");
}
