// Models out of single files: the bits of the folders that they were made of, and what each says where a part
// is not there.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <families/registry.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;
namespace fs = std::filesystem;

namespace {

/// A model's folder without its weights and its list of parts.
void copy_without_weights(const std::string& name, const fs::path& to) {
  fs::copy(stable_diffusion_model(name), to, fs::copy_options::recursive);
  fs::remove(to / "model_index.json");
  for (const char* weights :
       {"unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors",
        "text_encoder/model.safetensors", "text_encoder_2/model.safetensors"})
    fs::remove(to / weights);
}

families::ComponentChoices plain() { return families::ComponentChoices::all(choices_in<f32>().front()); }

std::string problem(const families::ModelFiles& files) {
  try {
    families::open(files, plain(), families::cpu_backend());
  } catch (const InputError& error) {
    return error.what();
  }
  return "opened";
}

}  // namespace

TEST_CASE("single files draw the folders' pictures, bit for bit") {
  const Golden golden("stable_diffusion");
  const nlohmann::json cases = stable_diffusion_cases();
  const std::map<std::string, std::string> runs{{"sd15", "sd15_img2img_ddim"},
                                                {"sd21", "sd21_txt2img_own"},
                                                {"sdxl", "sdxl_txt2img_own"},
                                                {"refiner", "refiner_img2img_own"}};
  for (const auto& [name, run] : runs) {
    INFO(run);
    const TemporaryFolder place;
    const fs::path folder = place.path() / "model";
    copy_without_weights(name, folder);
    fs::copy(stable_diffusion_file(name), folder / "any name");
    const families::Request request = request_of(golden, cases.at(run));
    const auto expected =
        families::open(stable_diffusion_model(name), plain(), families::cpu_backend())->generate(request);
    const auto alone =
        families::open(folder / "any name", plain(), families::cpu_backend())->generate(request);
    CHECK(std::ranges::equal(alone.latents.values(), expected.latents.values()));
    CHECK(alone.images.front().rgb == expected.images.front().rgb);
    // In place of a folder's parts.
    const families::ModelFiles replaced(
        stable_diffusion_model(name),
        {{"transformer", stable_diffusion_file(name)}, {"vae", stable_diffusion_file(name)}});
    const auto in_place = families::open(replaced, plain(), families::cpu_backend())->generate(request);
    CHECK(std::ranges::equal(in_place.latents.values(), expected.latents.values()));
    CHECK(in_place.images.front().rgb == expected.images.front().rgb);
  }
}

TEST_CASE("a file of 2.x under Stability's later names draws what its twin draws") {
  const std::string named = "cond_stage_model.model.", later = "conditioner.embedders.0.model.";
  FileTensors tensors;
  for (const auto& [name, tensor] : stored_tensors(stable_diffusion_file("sd21")))
    tensors[name.starts_with(named) ? later + name.substr(named.size()) : name] = tensor;
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model", file = folder / "file";
  copy_without_weights("sd21", folder);
  write_tensors(file, tensors);
  const Golden golden("stable_diffusion");
  const families::Request request = request_of(golden, stable_diffusion_cases().at("sd21_txt2img_own"));
  const auto expected =
      families::open(stable_diffusion_model("sd21"), plain(), families::cpu_backend())->generate(request);
  const auto drawn = families::open(file, plain(), families::cpu_backend())->generate(request);
  CHECK(std::ranges::equal(drawn.latents.values(), expected.latents.values()));
  CHECK(drawn.images.front().rgb == expected.images.front().rgb);
}

TEST_CASE("a second text encoder is refused where the UNet does not take its pooled text") {
  const std::string unet = "model.diffusion_model.", named = "conditioner.embedders.0.model.";
  FileTensors tensors;
  for (const auto& [name, tensor] : stored_tensors(stable_diffusion_file("refiner"))) {
    if (name.starts_with(unet + "label_emb.")) continue;
    tensors[name.starts_with(named) ? "conditioner.embedders.1.model." + name.substr(named.size()) : name] =
        tensor;
  }
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model", config = folder / "unet/config.json";
  copy_without_weights("refiner", folder);
  nlohmann::json json = nlohmann::json::parse(std::ifstream(config));
  json["addition_embed_type"] = nullptr;
  std::ofstream(config) << json;
  write_tensors(folder / "file", tensors);
  CHECK(says(problem(folder / "file"),
             "key 'addition_embed_type': must be text_time: the model has a text_encoder_2"));
}

TEST_CASE("a note says what a file of 2.x is taken to predict, and by what") {
  FileTensors tensors = stored_tensors(stable_diffusion_file("sd21"));
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model", file = folder / "file";
  copy_without_weights("sd21", folder);
  fs::remove_all(folder / "scheduler");
  const auto is_noted = [&](const std::string& words) {
    write_tensors(file, tensors);
    const auto notes = families::open(file, plain(), families::cpu_backend())->notes();
    return std::ranges::any_of(notes, [&](const std::string& note) { return says(note, words); });
  };
  CHECK(is_noted("no tensor of Stable Diffusion 2.x says what it predicts: assumed to be v, as 2.1 does"));
  const auto set_bias = [&](const std::vector<float>& values) {
    tensors["model.diffusion_model.output_blocks.11.1.transformer_blocks.0.norm1.bias"] =
        file_tensor("F32", Shape{2}, values);
  };
  set_bias({-0.1f, 0.1f});
  CHECK(is_noted("assumed to be a UNet that predicts v, as 2.1 does, by the spread of output_blocks.11.1."));
  set_bias({-0.08f, 0.08f});
  CHECK(is_noted(
      "assumed to be a UNet that predicts noise, as 2.1-base does, by the spread of output_blocks.11"));
}

TEST_CASE(
    "a text encoder that padding is hidden from is refused beside a file, but for XL which never asks") {
  const auto with_mask = [](const std::string& name) {
    const TemporaryFolder place;
    const fs::path folder = place.path() / "model", config = folder / "text_encoder/config.json";
    copy_without_weights(name, folder);
    fs::copy(stable_diffusion_file(name), folder / "file");
    nlohmann::json json = nlohmann::json::parse(std::ifstream(config));
    json["use_attention_mask"] = true;
    std::ofstream(config) << json;
    return problem(folder / "file");
  };
  CHECK(says(with_mask("sd15"), "text_encoder/config.json: key 'use_attention_mask': is true"));
  CHECK(with_mask("sdxl") == "opened");
}

TEST_CASE("what tensors say of a file's noise is heeded, and no scheduler's file contradicts it") {
  FileTensors tensors = stored_tensors(stable_diffusion_file("sdxl"));
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model", file = folder / "file";
  copy_without_weights("sdxl", folder);
  fs::remove_all(folder / "scheduler");
  const auto mark = [&](const std::string& name) {
    tensors[name] = file_tensor("F32", Shape{0}, std::vector<float>());
    write_tensors(file, tensors);
  };
  const Golden golden("stable_diffusion");
  const families::Request request = request_of(golden, stable_diffusion_cases().at("sdxl_txt2img_own"));
  const DamagedFolder whole(stable_diffusion_model("sdxl"));
  const auto check_same = [&] {
    const auto expected = families::open(whole.path(), plain(), families::cpu_backend())->generate(request);
    const auto alone = families::open(file, plain(), families::cpu_backend())->generate(request);
    CHECK(std::ranges::equal(alone.latents.values(), expected.latents.values()));
  };
  mark("nothing");
  check_same();
  mark("v_pred");
  CHECK(says(problem({whole.path(), {{"transformer", file}}}),
             "has a tensor 'v_pred', so its UNet predicts v, and"));
  whole.set("scheduler/scheduler_config.json", "prediction_type", "v_prediction");
  CHECK(problem({whole.path(), {{"transformer", file}}}) == "opened");
  check_same();
  mark("ztsnr");
  whole.set("scheduler/scheduler_config.json", "rescale_betas_zero_snr", true);
  check_same();
  fs::copy(stable_diffusion_model("sdxl") / "scheduler", folder / "scheduler");
  CHECK(says(problem(file), "scheduler_config.json says otherwise: set its prediction_type to v_prediction"));
  mark("edm_vpred.sigma_max");
  CHECK(says(problem(file), "was trained with EDM's levels of noise, which is not read"));
}

TEST_CASE("a note names matrices of a file that are of none of its components") {
  FileTensors tensors = stored_tensors(stable_diffusion_file("sd15"));
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model", file = folder / "file";
  copy_without_weights("sd15", folder);
  const auto notes = [&] {
    write_tensors(file, tensors);
    return families::open(file, plain(), families::cpu_backend())->notes();
  };
  const auto matrix = file_tensor("F32", Shape{2, 3}, std::vector<float>(6));
  tensors["model_ema.diffusion_modelinput_blocks00weight"] = matrix;
  tensors["betas"] = file_tensor("F32", Shape{4}, std::vector<float>(4));
  CHECK(notes().empty());
  tensors["control_model.input_blocks.0.0.weight"] = tensors["lora_unet_proj_in.lora_up.weight"] = matrix;
  const auto said = notes();
  REQUIRE(said.size() == 1);
  CHECK(says(said.front(), "2 tensors are not read: 'control_model.input_blocks.0.0.weight', 'lora_unet"));
}

TEST_CASE("a folder that is given for a component brings its own config") {
  const Golden golden("stable_diffusion");
  const families::Request request = request_of(golden, stable_diffusion_cases().at("sd15_txt2img_own"));
  const auto draw = [&](const families::ModelFiles& files) {
    return families::open(files, plain(), families::cpu_backend())->generate(request).latents;
  };
  // The same shapes under other heads, which no tensor tells.
  const DamagedFolder other(stable_diffusion_model("sd15"));
  other.set("unet/config.json", "attention_head_dim", 4);
  const Tensor<f32> expected = draw(other.path()), base = draw(stable_diffusion_model("sd15"));
  REQUIRE(!std::ranges::equal(expected.values(), base.values()));
  const families::ModelFiles replaced(stable_diffusion_model("sd15"),
                                      {{"transformer", other.path() / "unet"}});
  CHECK(std::ranges::equal(draw(replaced).values(), expected.values()));

  // A VAE that needs no f32 any more, as those that were mended for f16 say; and a folder without one.
  const auto notes = [](const families::ModelFiles& files) {
    const auto f16_choice = families::ComponentChoices::all(choices_in<f16>().front());
    return families::open(files, f16_choice, families::cpu_backend())->notes();
  };
  const fs::path xl = stable_diffusion_model("sdxl");
  REQUIRE(notes(xl).size() == 1);
  CHECK(says(notes(xl).front(), "force_upcast"));
  const DamagedFolder mended(xl);
  mended.set("vae/config.json", "force_upcast", false);
  const DamagedFolder without(xl);
  fs::remove_all(without.path() / "vae");
  for (const fs::path& folder : {xl, without.path()})
    CHECK(notes({folder, {{"vae", mended.path() / "vae"}}}).empty());

  CHECK(says(problem({stable_diffusion_model("sd15"), {{"transformer", xl / "unet"}}}),
             "is a UNet of the XL kind, and"));
  CHECK(says(problem({xl, {{"transformer", stable_diffusion_model("sd15") / "unet"}}}),
             "must equal the hidden_size of text_encoder/config.json"));
  CHECK(says(
      problem({xl, {{"vae", xl / "unet"}}}),
      "unet/config.json: key '_class_name': is 'UNet2DConditionModel', where AutoencoderKL is expected"));
}

TEST_CASE(
    "a file brings no config: it is used as the model's kind says, and a note names a config that differs") {
  const auto notes = [](const families::ModelFiles& files) {
    return families::open(files, plain(), families::cpu_backend())->notes();
  };
  const DamagedFolder other(stable_diffusion_model("sd15"));
  const families::ModelFiles files(stable_diffusion_model("sd15"),
                                   {{"vae", other.path() / "vae/diffusion_pytorch_model.safetensors"}});
  CHECK(notes(files).empty());
  other.set("vae/config.json", "scaling_factor", 0.25);
  const auto said = notes(files);
  REQUIRE(said.size() == 1);
  CHECK(
      says(said.front(), (other.path() / "vae/config.json").string() + " is not read, as a file was given"));
  CHECK(says(said.front(), "give " + (other.path() / "vae").string() + " for the component with its config"));

  // Beside a model that is a file, without configs. No published VAE is as narrow as this one.
  const TemporaryFolder place;
  const fs::path folder = place.path() / "model";
  copy_without_weights("sd15", folder);
  fs::copy(stable_diffusion_file("sd15"), folder / "file");
  fs::remove(folder / "vae/config.json");
  CHECK(says(problem({folder / "file", {{"vae", files.components.at("vae")}}}),
             "diffusion_pytorch_model.safetensors: has a VAE whose channels 32 groups do not divide"));
}

TEST_CASE("what a model that is a file needs beside it is one line") {
  const TemporaryFolder place;
  const fs::path file = place.path() / "file";
  fs::copy(stable_diffusion_file("sdxl"), file);
  CHECK(says(problem(file), "is Stable Diffusion XL, and its tokenizer/ is not in"));
  fs::copy(stable_diffusion_model("sdxl") / "tokenizer", place.path() / "tokenizer");
  CHECK(says(problem(file), "is Stable Diffusion XL, and its tokenizer_2/ is not in"));
  fs::copy(stable_diffusion_model("sdxl") / "tokenizer_2", place.path() / "tokenizer_2");
  CHECK(says(problem(file), "which no published Stable Diffusion XL has"));
  fs::create_directory(place.path() / "unet");
  fs::copy(stable_diffusion_model("sd15") / "unet/config.json", place.path() / "unet/config.json");
  CHECK(
      says(problem(file), "they belong to different models; give a file and a folder that belong together"));
  CHECK(says(problem({stable_diffusion_model("sd15"), {{"transformer", stable_diffusion_file("sd21")}}}),
             "they belong to different models"));
  write_tensors(file, {{"model.diffusion_model.input_blocks.0.0.weight",
                        file_tensor("F32", Shape{1, 8}, std::vector<float>(8))},
                       {"model.diffusion_model.time_embed.0.weight",
                        file_tensor("F32", Shape{1}, std::vector<float>(1))}});
  CHECK(says(problem(file), "is InstructPix2Pix of Stable Diffusion 1.x"));
  // A folder that holds a config alone lacks the weights as one that is not there.
  write_tensors(file, {{"model.diffusion_model.input_blocks.0.0.weight",
                        file_tensor("F32", Shape{1, 4}, std::vector<float>(4))},
                       {"model.diffusion_model.time_embed.0.weight",
                        file_tensor("F32", Shape{1}, std::vector<float>(1))}});
  const std::string lacks = "is Stable Diffusion 1.x without its text_encoder, and " + place.path().string() +
                            " has no text_encoder/ with weights";
  CHECK(says(problem(file), lacks));
  fs::create_directory(place.path() / "text_encoder");
  fs::copy(stable_diffusion_model("sd15") / "text_encoder/config.json",
           place.path() / "text_encoder/config.json");
  CHECK(says(problem(file), lacks));
}
