// Stable Diffusion folders of which one thing is broken, and requests that cannot be met: one line that names
// the file or the setting, and what to do.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <families/registry.hpp>
#include <families/request_error.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

image::Image grey(int side) {
  return {side, side, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * side * side), 128)};
}

families::Request small_request() {
  families::Request request;
  request.prompts = {"a circle"};
  request.steps = 1;
  request.width = request.height = 32;
  return request;
}

/// What opening a folder says, or checking each of these requests; nothing of those that are met.
std::vector<std::string> complaints(const std::filesystem::path& folder,
                                    std::span<const families::Request> requests) {
  std::vector<std::string> lines;
  const auto keep_line = [&](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      lines.emplace_back(error.what());
    }
  };
  keep_line([&] {
    const auto model = families::open(folder, families::ComponentChoices::all(choices_in<f32>().front()),
                                      families::cpu_backend());
    for (const families::Request& request : requests) keep_line([&] { model->check(request); });
  });
  return lines;
}

/// The same of one request: "" where nothing is wrong.
std::string complaint(const std::filesystem::path& folder, const families::Request& request) {
  const std::vector<std::string> lines = complaints(folder, {&request, 1});
  return lines.empty() ? "" : lines.front();
}

void check_line(const std::string& message, const std::vector<std::string>& says) {
  CHECK(!message.empty());
  CHECK(message.find('\n') == std::string::npos);
  for (const std::string& part : says) CHECK_THAT(message, Catch::Contains(part));
}

const nlohmann::json nulls = nlohmann::json::array({nullptr, nullptr});

struct BadValue {
  std::string folder, file, key;
  nlohmann::json value;
};
const std::vector<BadValue> bad_values{
    {"sd15", "model_index.json", "unet", nulls},
    {"sd15", "model_index.json", "unet", {"diffusers", "UNet3DConditionModel"}},
    {"sd15", "model_index.json", "unet", "UNet2DConditionModel"},
    {"sd15", "model_index.json", "vae", {"diffusers", "AutoencoderTiny"}},
    {"sd15", "model_index.json", "vae", nulls},
    {"sd15", "model_index.json", "scheduler", nulls},
    {"sd15", "model_index.json", "text_encoder", nulls},
    {"sd15", "model_index.json", "text_encoder", {"transformers", "T5EncoderModel"}},
    {"sd15", "model_index.json", "tokenizer", nulls},
    {"sd15", "model_index.json", "tokenizer", {"transformers", "BertTokenizer"}},
    {"sd15", "model_index.json", "tokenizer", {"transformers", "PreTrainedTokenizerFast"}},
    {"sdxl", "model_index.json", "tokenizer_2", {"transformers", "T5TokenizerFast"}},
    {"sd15", "model_index.json", "force_zeros_for_empty_prompt", "yes"},
    {"sdxl", "model_index.json", "text_encoder_2", nulls},
    {"sdxl", "model_index.json", "text_encoder_2", {"transformers", "CLIPTextModel"}},
    {"sdxl", "model_index.json", "tokenizer_2", nulls},
    {"sdxl", "model_index.json", "add_watermarker", 3},
    {"refiner", "model_index.json", "requires_aesthetics_score", 1},
    {"sd15", "unet/config.json", "in_channels", 8},
    {"sd15", "unet/config.json", "out_channels", 8},
    {"sd15", "unet/config.json", "cross_attention_dim", 8},
    {"sdxl", "unet/config.json", "cross_attention_dim", 14},
    {"sdxl", "unet/config.json", "projection_class_embeddings_input_dim", 44},
    {"sdxl", "text_encoder_2/config.json", "projection_dim", 0},
    {"sdxl", "text_encoder_2/config.json", "num_attention_heads", 3},
    {"sd15", "text_encoder/config.json", "hidden_act", "tanh"},
    {"sd15", "text_encoder/config.json", "vocab_size", 0},
    {"sd15", "text_encoder/config.json", "num_attention_heads", nullptr},
    {"sd15", "text_encoder/config.json", "hidden_act", nullptr},
    {"sd15", "text_encoder/config.json", "use_attention_mask", true},
    {"sd15", "vae/config.json", "act_fn", nullptr},
    {"sd15", "vae/config.json", "layers_per_block", nullptr},
    {"sd15", "vae/config.json", "norm_num_groups", nullptr},
    {"sd15", "vae/config.json", "latent_channels", nullptr},
    {"sd15", "vae/config.json", "down_block_types", nullptr},
    {"sd15", "scheduler/scheduler_config.json", "beta_schedule", nullptr},
    {"sd15", "model_index.json", "scheduler", {"diffusers", 3}},
    {"sd15", "model_index.json", "scheduler", {"diffusers", "HeunDiscreteScheduler"}},
    {"sd15", "scheduler/scheduler_config.json", "_class_name", 3},
    {"sd15", "scheduler/scheduler_config.json", "_class_name", nullptr},
    {"sd15", "vae/config.json", "_class_name", 3},
    {"sd15", "vae/config.json", "_class_name", "AsymmetricAutoencoderKL"},
    {"sd15", "vae/config.json", "_class_name", nullptr},
    {"sd15", "vae/config.json", "sample_size", "large"},
    {"sd15", "vae/config.json", "sample_size", nullptr},
    {"sd15", "vae/config.json", "sample_size", {64, "64"}},
    {"sd15", "text_encoder/config.json", "attention_dropout", "low"},
    {"sd15", "text_encoder/config.json", "initializer_range", nullptr},
    {"sd15", "text_encoder/config.json", "initializer_factor", "one"},
    {"sd15", "text_encoder/config.json", "bos_token_id", "start"},
    {"sd15", "text_encoder/config.json", "pad_token_id", 0.5},
    {"sd15", "text_encoder/config.json", "torch_dtype", 32},
    {"sd15", "vae/config.json", "block_out_channels", nlohmann::json::array()},
    {"sd15", "vae/config.json", "force_upcast", 2},
    {"sd15", "vae/config.json", "act_fn", "mish"},
    {"sd15", "vae/config.json", "scaling_factor", nullptr},
    {"sd15", "vae/config.json", "down_block_types", nlohmann::json::array({"DownEncoderBlock2D"})},
    {"sd15", "vae/config.json", "up_block_types", nlohmann::json::array({"UpDecoderBlock2D"})},
    {"sdxl", "vae/config.json", "latents_mean", {0, 0}},
    {"sdxl", "vae/config.json", "latents_mean", {0, 0, 0, 0}},
    {"sdxl", "vae/config.json", "latents_std", {1, 1, "a", 1}},
    {"sdxl", "vae/config.json", "latents_std", {1, 0, 1, 1}},
    {"sd15", "model_index.json", "scheduler", {"diffusers", "EDMEulerScheduler"}},
    {"sd15", "scheduler/scheduler_config.json", "beta_schedule", "exponential"},
    {"sd15", "scheduler/scheduler_config.json", "num_train_timesteps", -1},
};

/// A source that reads configs, a folder whose file it reads, and those of its words that are no keys there.
struct Reader {
  std::string source, folder, file;
  std::vector<std::string> no_keys, samplers{""};
};
const std::vector<Reader> readers{
    {"stable_diffusion/unet_config.cpp",
     "sdxl",
     "unet/config.json",
     {"default", "null", "positional", "silu", "swish", "text_time"}},
    {"vae/autoencoder_config.cpp", "sdxl", "vae/config.json", {"silu", "swish"}},
    {"text/text_configs.cpp",
     "sdxl",
     "text_encoder/config.json",
     {"clip",
      "gelu",
      "gelu_new",
      "gelu_pytorch_tanh",
      "quick_gelu",
      "relu",
      "silu",
      "swish",
      "text_config",  // of a whole CLIP
      "d_ff",
      "d_kv",
      "head_dim",
      "d_model",
      "dense_act_fn",
      "feed_forward_proj",
      "is_decoder",
      "is_gated_act",
      "layer_norm_epsilon",
      "num_heads",
      "num_layers",
      "relative_attention_max_distance",
      "relative_attention_num_buckets"}},  // of T5
    {"sampling/scheduler_config.cpp",
     "sdxl",
     "scheduler/scheduler_config.json",
     {"bh1",
      "bh2",
      "continuous",
      "ddim",
      "deis",
      "discrete",
      "dpmpp_2m",
      "dpmpp_2m_karras",
      "dpmpp_2m_sde",
      "dpmpp_2m_sde_karras",
      "epsilon",
      "euler",
      "euler_a",
      "fixed_large",
      "fixed_large_log",
      "fixed_small",
      "fixed_small_log",
      "heun",
      "lcm",
      "leading",
      "learned",
      "learned_range",
      "linear",
      "linspace",
      "logrho",
      "midpoint",
      "pndm",
      "sample",
      "scaled_linear",
      "squaredcos_cap_v2",
      "trailing",
      "v_prediction",
      "zero"},
     {"ddim", "pndm", "euler", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "dpmpp_2m_sde",
      "dpmpp_2m_sde_karras", "lcm"}},
};
const std::vector<nlohmann::json> absurd_values{
    nlohmann::json::object({{"absurd", 1}}), nlohmann::json::array({nlohmann::json::array()}), -7.5, 1e300};

/// Words in quotes in a source, as keys are written there.
std::set<std::string> words_of(const Reader& reader) {
  const std::string text =
      read_text(std::filesystem::path(PRECAST_SOURCE_DIR) / "reference_pipeline" / reader.source);
  const std::regex word("\"([a-z][a-z0-9_]*)\"");
  std::set<std::string> words;
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    words.insert((*at)[1].str());
  return words;
}

struct BadRequest {
  std::string what, folder;
  std::function<void(families::Request&)> change;
  std::vector<std::string> says;
};
const std::vector<BadRequest> bad_requests{
    {"no prompt", "sd15", [](auto& r) { r.prompts.clear(); }, {"prompt"}},
    {"no steps", "sd15", [](auto& r) { r.steps = 0; }, {"steps"}},
    {"more steps than it was trained on", "sd15", [](auto& r) { r.steps = 1001; }, {"steps", "1001"}},
    {"an unknown sampler", "sd15", [](auto& r) { r.sampler = "heun"; }, {"heun", "euler_a"}},
    {"eta above 1", "sd15", [](auto& r) { r.sampler = "ddim", r.eta = 1.5; }, {"eta", "1.5"}},
    {"too much rescaling", "sd15", [](auto& r) { r.guidance_rescale = 2; }, {"rescale", "2"}},
    {"a layer of CLIP that is not there",
     "sd15",
     [](auto& r) { r.clip_skip = 50; },
     {"clip skip", "50", "layers"}},
    {"negative guidance", "sd15", [](auto& r) { r.guidance = -1; }, {"guidance"}},
    {"an odd width", "sd15", [](auto& r) { r.width = 33; }, {"width", "33", "multiple"}},
    {"a mask alone", "sd15", [](auto& r) { r.mask = grey(32); }, {"--image"}},
    {"no mask for a model that needs one", "inpaint", [](auto&) {}, {"--image", "--mask"}},
    {"strength above 1", "sd15", [](auto& r) { r.image = grey(32), r.strength = 2; }, {"strength"}},
    {"strength without a step", "sd15", [](auto& r) { r.image = grey(32), r.strength = 0.5; }, {"strength"}},
    {"latents of another size",
     "sd15",
     [](auto& r) {
       r.latents = Tensor<f32>(Shape{1, 4, 2, 2});
     },
     {"latents"}},
    {"a refiner from the start",
     "sdxl",
     [](auto& r) { r.refiner = stable_diffusion_model("refiner"), r.refiner_start = 0.0; },
     {"refiner start", "0"}},
    {"a refiner with other latents",
     "sdxl",
     [](auto& r) { r.refiner = stable_diffusion_model("inpaint"); },
     {"refine"}},
    {"a refiner that is not there",
     "sdxl",
     [](auto& r) { r.refiner = stable_diffusion_model("nowhere"); },
     {"nowhere", "no such model folder"}},
};

}  // namespace

TEST_CASE("a bad value in a Stable Diffusion folder is one line that names file and key") {
  for (const BadValue& bad : bad_values) {
    INFO(bad.folder << " " << bad.file << " " << bad.key << " = " << bad.value);
    const DamagedFolder folder(stable_diffusion_model(bad.folder));
    folder.set(bad.file, bad.key, bad.value);
    check_line(complaint(folder.path(), small_request()), {bad.file, bad.key});
  }
}

TEST_CASE("a text encoder whose positions are fewer than its tokenizer's tokens is refused") {
  for (const std::string encoder : {"text_encoder", "text_encoder_2"}) {
    const DamagedFolder folder(stable_diffusion_model("sdxl"));
    folder.set(encoder + "/config.json", "max_position_embeddings", 40);
    check_line(complaint(folder.path(), small_request()),
               {encoder + "/config.json", "max_position_embeddings", "is 40", "77 tokens"});
  }
}

TEST_CASE("the config of another component in a text encoder's place is named") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  write_text(folder.path() / "text_encoder/config.json", read_text(folder.path() / "vae/config.json"));
  check_line(complaint(folder.path(), small_request()),
             {"text_encoder/config.json", "_class_name", "'AutoencoderKL'", "CLIPTextModel is expected"});
}

TEST_CASE("every key that a reader of configs knows is refused where its value is absurd", "[many_runs]") {
  for (const Reader& reader : readers) {
    const DamagedFolder folder(stable_diffusion_model(reader.folder));
    const std::string whole = read_text(folder.path() / reader.file);
    const std::set<std::string> words = words_of(reader);
    std::vector<families::Request> requests;
    for (const std::string& sampler : reader.samplers) {
      requests.push_back(small_request());
      if (!sampler.empty()) requests.back().sampler = sampler;
    }
    CHECK(words.size() > reader.no_keys.size() + 10);
    for (const std::string& word : reader.no_keys) CHECK(words.contains(word));
    for (const std::string& key : words) {
      if (std::ranges::find(reader.no_keys, key) != reader.no_keys.end()) continue;
      for (const nlohmann::json& value : absurd_values) {
        folder.set(reader.file, key, value);
        const std::vector<std::string> messages = complaints(folder.path(), requests);
        INFO(reader.source << ": " << key << " = " << value);
        // Of a list or a number some key makes sense; an object is of no key's type.
        if (value.is_object()) CHECK(!messages.empty());
        for (const std::string& message : messages) check_line(message, {reader.file, key});
        write_text(folder.path() / reader.file, whole);
      }
    }
  }
}

TEST_CASE("the scheduler is of the class that the index names, whichever wrote its file") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  for (const auto& [name, sampler] : {std::pair("PNDMScheduler", "pndm"), std::pair("DDIMScheduler", "ddim"),
                                      std::pair("EulerAncestralDiscreteScheduler", "euler_a")}) {
    folder.set("model_index.json", "scheduler", {"diffusers", name});
    const stable_diffusion::StableDiffusionPipeline pipeline(
        folder.path(), families::ComponentChoices::all(choices_in<f32>().front()));
    CHECK(pipeline.with_defaults(small_request()).sampler == sampler);
  }
  // Even where the file names none, and where another sampler than the folder's is asked for.
  folder.edit("scheduler/scheduler_config.json", [](nlohmann::json& json) { json.erase("_class_name"); });
  CHECK(complaint(folder.path(), small_request()).empty());
  folder.set("model_index.json", "scheduler", {"diffusers", "HeunDiscreteScheduler"});
  families::Request request = small_request();
  request.sampler = "ddim";
  CHECK(complaint(folder.path(), request).empty());
}

TEST_CASE("a component of a Stable Diffusion folder without weights, config or tokenizer is named") {
  for (const char* file :
       {"unet/config.json", "vae/config.json", "text_encoder/config.json", "scheduler/scheduler_config.json",
        "unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors",
        "text_encoder/model.safetensors", "tokenizer/vocab.json"}) {
    INFO(file);
    const DamagedFolder folder(stable_diffusion_model("sd15"));
    std::filesystem::remove(folder.path() / file);
    check_line(complaint(folder.path(), small_request()), {std::filesystem::path(file).parent_path()});
  }
}

TEST_CASE("a Stable Diffusion request that cannot be met is one line that says what to give") {
  for (const char* folder : {"sd15", "sdxl", "lcm"})
    CHECK(complaint(stable_diffusion_model(folder), small_request()).empty());
  for (const BadRequest& bad : bad_requests) {
    INFO(bad.what);
    families::Request request = small_request();
    bad.change(request);
    check_line(complaint(stable_diffusion_model(bad.folder), request), bad.says);
  }
}

TEST_CASE("folders of Stable Diffusion's relatives are refused by what they are") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  for (const auto& [name, words] : {std::pair("StableDiffusion3Pipeline", "another architecture"),
                                    std::pair("StableDiffusionControlNetPipeline", "ControlNet"),
                                    std::pair("StableDiffusionUpscalePipeline", "upscaler")}) {
    folder.set("model_index.json", "_class_name", name);
    check_line(complaint(folder.path(), small_request()), {name, words, "plain Stable Diffusion"});
  }
}

TEST_CASE("what of a Stable Diffusion folder is not used is told") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  folder.set("model_index.json", "safety_checker", {"stable_diffusion", "StableDiffusionSafetyChecker"});
  folder.set("model_index.json", "feature_extractor", {"transformers", "CLIPImageProcessor"});
  folder.set("model_index.json", "image_encoder", {"transformers", "CLIPVisionModelWithProjection"});
  const stable_diffusion::StableDiffusionPipeline pipeline(
      folder.path(), families::ComponentChoices::all(choices_in<f32>().front()));
  REQUIRE(pipeline.notes().size() == 2);
  std::string all;
  for (const std::string& note : pipeline.notes()) all += note + "\n";
  CHECK_THAT(all,
             Catch::Contains("safety_checker is not run") && Catch::Contains("image_encoder is not used"));
}

TEST_CASE(
    "tensors of a Stable Diffusion folder that nothing reads are told, blocks that configs lack among them") {
  const auto notes = [](const std::filesystem::path& folder) {
    return stable_diffusion::StableDiffusionPipeline(
               folder, families::ComponentChoices::all(choices_in<f32>().front()))
        .notes();
  };
  for (const std::string folder : stable_diffusion_folders)
    CHECK(notes(stable_diffusion_model(folder)).empty());

  const DamagedFolder unread(stable_diffusion_model("sdxl"));
  const std::vector<std::pair<std::string, std::string>> components{{"text_encoder", "model"},
                                                                    {"text_encoder_2", "model"},
                                                                    {"unet", "diffusion_pytorch_model"},
                                                                    {"vae", "diffusion_pytorch_model"}};
  for (const auto& [component, file] : components)
    unread.change_tensors(component + "/" + file + ".safetensors", [](RawTensors& tensors) {
      tensors["nobody.knows.weight"] = {"F32", {1}, std::string(4, '\0')};
    });
  const auto find = [&](const std::string& component, const std::string& says) {
    const std::vector<std::string> all = notes(unread.path());
    return std::ranges::any_of(
        all, [&](const std::string& note) { return note.find("/" + component + ": " + says) != note.npos; });
  };
  CHECK(notes(unread.path()).size() == components.size());
  for (const auto& [component, file] : components)
    CHECK(find(component, "1 tensor is not read: 'nobody.knows.weight'"));

  // diffusers draws with what the configs say, and warns too.
  unread.set("text_encoder/config.json", "num_hidden_layers", 2);
  unread.set("unet/config.json", "transformer_layers_per_block", {1, 1});
  unread.set("vae/config.json", "use_quant_conv", false);
  CHECK(find("text_encoder",
             "17 tensors are not read: 'nobody.knows.weight', "
             "'text_model.encoder.layers.2.layer_norm1.bias'"));
  CHECK(find("unet", "81 tensors are not read: 'down_blocks.1.attentions.0.transformer_blocks.1."));
  CHECK(find("vae", "3 tensors are not read: 'nobody.knows.weight', 'quant_conv.bias', 'quant_conv.weight'"));
  CHECK(find("text_encoder_2", "1 tensor is"));
  unread.change_tensors("vae/diffusion_pytorch_model.safetensors", [](RawTensors& tensors) {
    tensors["decoder.up_blocks.0.resnets.2.conv2.weight"] =
        tensors.at("decoder.up_blocks.0.resnets.1.conv2.weight");
  });
  CHECK(find("vae", "4 tensors are not read: 'decoder.up_blocks.0.resnets.2.conv2.weight', "));
}
