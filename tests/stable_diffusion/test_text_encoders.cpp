// CLIP and OpenCLIP of Stable Diffusion: ids as transformers gives them, each hidden state, and pooled
// embeddings with and without a projection.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stable_diffusion/model.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>
#include <text/clip_text_model.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("text encoders of Stable Diffusion give transformers' ids, states and pooled embeddings") {
  const Golden golden("stable_diffusion");
  const std::string prompt = stable_diffusion_cases().at("sd15_txt2img_own")["prompt"];
  for (const char* folder : stable_diffusion_folders) {
    const auto model = stable_diffusion::Model::open(stable_diffusion_model(folder));
    for (const stable_diffusion::Model::Encoder& encoder : model.encoders()) {
      const std::string stem = std::string(folder) + (encoder.name == "text_encoder_2" ? ".text_2" : ".text");
      INFO(stem);
      const std::vector<std::int32_t> ids = model.tokens(encoder, prompt);
      CHECK(ids == golden.ids(stem + ".ids"));
      for (const PolicyChoice& choice : choices_in<f32>()) {
        const stable_diffusion::ComponentWeights weights(model.folder.component(encoder.name), encoder.name);
        const auto loaded =
            stable_diffusion::models_of(families::cpu_backend(), choice).clip(encoder.config, weights);
        const auto check = [&](const HostTensor<f32>& value, const std::string& name) {
          INFO(name);
          CHECK(relative_error(value.values(), golden.tensor(stem + name).values()) <= largest_error);
        };
        const text::ClipOutput last = loaded->encode(ids);
        const text::ClipOutput penultimate = loaded->encode(ids, text::penultimate_state);
        check(last.hidden_state, ".last");
        check(last.pooled, ".pooled");
        check(penultimate.hidden_state, ".penultimate");
        check(penultimate.pooled, ".pooled");
      }
    }
  }
}

TEST_CASE(
    "a padding token that is a word splits texts where it stands, as \"!\" does in OpenCLIP's tokenizer") {
  const auto pipeline = open_stable_diffusion("sdxl", choices_in<f32>().front());
  const auto with = pipeline.tokens("stop!now"), apart = pipeline.tokens("stop ! now");
  REQUIRE(with.size() == 2);
  CHECK(with[1].ids == apart[1].ids);
  const auto model = stable_diffusion::Model::open(stable_diffusion_model("sdxl"));
  const auto encoder = model.encoders().back();
  const std::vector<std::int32_t> padded = encoder.tokenizer.prompt_ids("", 77, 3);  // start, end, padding
  CHECK(std::ranges::count(with[1].ids, padded[2]) == 1);
  CHECK(padded[2] != padded[1]);
}

TEST_CASE("a token that was learnt as several stands in prompts with all of them") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  folder.edit("tokenizer/tokenizer_config.json", [](nlohmann::json& config) {
    int id = 554;  // behind the vocabulary
    for (const char* content : {"<cat>", "<cat>_1", "<cat>_2", "<dog>", "<dog>_2"})
      config["added_tokens_decoder"][std::to_string(id++)] = {{"content", content}, {"special", true}};
  });
  const auto model = stable_diffusion::Model::open(folder.path());
  const auto encoder = model.encoders().front();
  CHECK(encoder.tokenizer.with_learnt_tokens("a <cat>, <cat>") ==
        "a <cat> <cat>_1 <cat>_2, <cat> <cat>_1 <cat>_2");
  CHECK(encoder.tokenizer.with_learnt_tokens("<dog> and a cat") == "<dog> and a cat");
  CHECK(encoder.tokenizer.with_learnt_tokens("") == "");
  CHECK(encoder.tokenizer.prompt_ids("red <cat>", 77) ==
        encoder.tokenizer.encode("red <cat> <cat>_1 <cat>_2", 77));
}

TEST_CASE("a CLIP's config has transformers' defaults") {
  const DamagedFolder folder(stable_diffusion_model("sd15"));
  const std::filesystem::path file = folder.path() / "text_encoder/config.json";
  write_text(file, "{}");
  const auto config = text::ClipConfig::load(file);
  CHECK(config.vocab_size == 49408);
  CHECK(config.hidden_size == 512);
  CHECK(config.intermediate_size == 2048);
  CHECK(config.num_hidden_layers == 12);
  CHECK(config.num_attention_heads == 8);
  CHECK(config.max_position_embeddings == 77);
  CHECK(config.eos_token_id == 49407);
  CHECK(config.projection_dim == 512);
  CHECK(config.layer_norm_eps == 1e-5);
  CHECK(config.hidden_act == ActivationFunction::quick_gelu);
}
