// Model folders of which one thing is broken: one line that names the file, and what in it.
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// What opening and running a model says, or "" where nothing is wrong.
std::string complaint(const families::ModelFiles& model) {
  flux::Request request;
  request.prompts = {"a circle"};
  request.steps = 1;
  request.width = request.height = 16;
  request.max_sequence_length = 8;
  request.image = image::Image{16, 16, std::vector<std::uint8_t>(3 * 16 * 16, 90)};
  request.strength = 1;
  try {
    flux::FluxPipeline(model, flux::ComponentChoices::all(compiled_choices().front())).generate(request);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void check_complaint(const families::ModelFiles& model, const std::vector<std::string>& says) {
  const std::string message = complaint(model);
  CHECK(!message.empty());
  CHECK(message.find('\n') == std::string::npos);
  for (const std::string& part : says) CHECK_THAT(message, Catch::Contains(part));
}

constexpr const char* transformer_config = "transformer/config.json";
constexpr const char* transformer_weights = "transformer/diffusion_pytorch_model.safetensors";
constexpr const char* clip_config = "text_encoder/config.json";
constexpr const char* clip_weights = "text_encoder/model.safetensors";
constexpr const char* t5_config = "text_encoder_2/config.json";
constexpr const char* t5_weights = "text_encoder_2/model.safetensors";
constexpr const char* vae_config = "vae/config.json";
constexpr const char* vae_weights = "vae/diffusion_pytorch_model.safetensors";
constexpr const char* scheduler_config = "scheduler/scheduler_config.json";

struct BadValue {
  std::string file, key;
  nlohmann::json value;
};

using List = std::vector<int>;
const std::vector<BadValue> bad_values{
    {"model_index.json", "_class_name", "StableDiffusionPipeline"},
    {"model_index.json", "_class_name", 7},
    {transformer_config, "_class_name", "ChromaTransformer2DModel"},
    {transformer_config, "_class_name", 7},
    {transformer_config, "num_attention_heads", 0},
    {transformer_config, "num_attention_heads", -2},
    {transformer_config, "num_attention_heads", "2"},
    {transformer_config, "num_attention_heads", 1e300},
    {transformer_config, "num_attention_heads", 2.5},
    {transformer_config, "attention_head_dim", 0},
    {transformer_config, "attention_head_dim", 10},
    {transformer_config, "num_layers", -1},
    {transformer_config, "num_layers", 1000000000},
    {transformer_config, "num_single_layers", -1},
    {transformer_config, "num_single_layers", List{1}},
    {transformer_config, "in_channels", 0},
    {transformer_config, "in_channels", 18},
    {transformer_config, "in_channels", 20},
    {transformer_config, "out_channels", 8},
    {transformer_config, "patch_size", 2},
    {transformer_config, "guidance_embeds", "yes"},
    {transformer_config, "guidance_embeds", 1},
    {transformer_config, "axes_dims_rope", List{2, 2}},
    {transformer_config, "axes_dims_rope", List{2, 2, 6}},
    {transformer_config, "axes_dims_rope", List{1, 3, 4}},
    {transformer_config, "axes_dims_rope", "2,2,4"},
    {transformer_config, "joint_attention_dim", 23},
    {transformer_config, "pooled_projection_dim", 19},
    {transformer_config, "pooled_projection_dim", 0},
    {clip_config, "hidden_size", 0},
    {clip_config, "hidden_size", "eighteen"},
    {clip_config, "num_attention_heads", 0},
    {clip_config, "num_attention_heads", 5},
    {clip_config, "num_hidden_layers", -3},
    {clip_config, "intermediate_size", 0},
    {clip_config, "max_position_embeddings", 0},
    {clip_config, "vocab_size", 0},
    {clip_config, "vocab_size", -1},
    {clip_config, "eos_token_id", 100000},
    {clip_config, "eos_token_id", -1},
    {clip_config, "hidden_act", "tanhshrink"},
    {clip_config, "hidden_act", "tanh\nshrink"},
    {clip_config, "layer_norm_eps", "small"},
    {clip_config, "layer_norm_eps", -1},
    {t5_config, "d_model", 0},
    {t5_config, "d_kv", -8},
    {t5_config, "d_ff", "48"},
    {t5_config, "num_heads", 0},
    {t5_config, "num_layers", -1},
    {t5_config, "vocab_size", 0},
    {t5_config, "relative_attention_num_buckets", 0},
    {t5_config, "relative_attention_num_buckets", 31},
    {t5_config, "relative_attention_max_distance", 0},
    {t5_config, "feed_forward_proj", "gated-tanhshrink"},
    {t5_config, "feed_forward_proj", 3},
    {t5_config, "dense_act_fn", "tanhshrink"},
    {t5_config, "dense_act_fn", nullptr},
    {t5_config, "is_gated_act", 3},
    {t5_config, "is_decoder", true},
    {t5_config, "layer_norm_epsilon", nlohmann::json::array()},
    {vae_config, "block_out_channels", List{}},
    {vae_config, "block_out_channels", List{0, 8}},
    {vae_config, "block_out_channels", List{4, -8}},
    {vae_config, "block_out_channels", List{4, 6}},
    {vae_config, "block_out_channels", "4,8"},
    {vae_config, "block_out_channels", List(9, 8)},
    {vae_config, "norm_num_groups", 0},
    {vae_config, "norm_num_groups", 3},
    {vae_config, "latent_channels", 0},
    {vae_config, "layers_per_block", 0},
    {vae_config, "in_channels", 4},
    {vae_config, "out_channels", 1},
    {vae_config, "act_fn", "mish"},
    {vae_config, "scaling_factor", 0},
    {vae_config, "scaling_factor", "0.36"},
    {vae_config, "shift_factor", "x"},
    {vae_config, "down_block_types",
     std::vector<std::string>{"DownEncoderBlock2D", "AttnDownEncoderBlock2D"}},
    {scheduler_config, "_class_name", "DDIMScheduler"},
    {scheduler_config, "shift", 0},
    {scheduler_config, "shift", "3"},
    {scheduler_config, "num_train_timesteps", 0},
    {scheduler_config, "max_image_seq_len", 256},
    {scheduler_config, "time_shift_type", "cubic"},
    {scheduler_config, "use_karras_sigmas", true},
};

/// Files that are gone, or hold something else.
const std::vector<std::string> needed_files{"model_index.json",
                                            transformer_config,
                                            transformer_weights,
                                            clip_config,
                                            clip_weights,
                                            t5_config,
                                            t5_weights,
                                            vae_config,
                                            vae_weights,
                                            scheduler_config,
                                            "tokenizer/vocab.json",
                                            "tokenizer/merges.txt",
                                            "tokenizer_2/spiece.model"};

struct BadWeights {
  std::string what, file;
  std::function<void(RawTensors&)> change;
  std::vector<std::string> says;
};

std::function<void(RawTensors&)> without(const std::string& name) {
  return [name](RawTensors& tensors) { REQUIRE(tensors.erase(name) == 1); };
}
/// A tensor of other sizes that is whole in itself.
std::function<void(RawTensors&)> resized(const std::string& name, std::vector<std::int64_t> shape) {
  return [name, shape](RawTensors& tensors) {
    RawTensor& tensor = tensors.at(name);
    const Shape sizes{std::span<const std::int64_t>(shape)};
    tensor.bytes.resize(static_cast<std::size_t>(sizes.elements()) * (tensor.dtype == "F32" ? 4 : 2));
    tensor.shape = shape;
  };
}
std::function<void(RawTensors&)> as_integers(const std::string& name) {
  return [name](RawTensors& tensors) {
    RawTensor& tensor = tensors.at(name);
    tensor.bytes.resize(tensor.bytes.size() * 2);
    tensor.dtype = "I64";
  };
}

const std::vector<BadWeights> bad_weights{
    {"a block's weight is missing",
     transformer_weights,
     without("transformer_blocks.1.attn.to_q.weight"),
     {"transformer", "'transformer_blocks.1.attn.to_q.weight'", "missing"}},
    {"a bias is missing",
     transformer_weights,
     without("single_transformer_blocks.0.proj_out.bias"),
     {"transformer", "'single_transformer_blocks.0.proj_out.bias'", "missing"}},
    {"the guidance embedder is missing",
     transformer_weights,
     without("time_text_embed.guidance_embedder.linear_1.weight"),
     {"guidance_embedder.linear_1.weight", "missing"}},
    {"a weight is transposed",
     transformer_weights,
     resized("context_embedder.weight", {22, 16}),
     {"transformer", "'context_embedder.weight'", "[22, 16]", "[16, 22]"}},
    {"a weight has a dimension more",
     transformer_weights,
     resized("proj_out.weight", {16, 8, 2}),
     {"'proj_out.weight'", "[16, 8, 2]", "[16, 16]"}},
    {"a weight is empty",
     transformer_weights,
     resized("x_embedder.weight", {0, 16}),
     {"'x_embedder.weight'", "[0, 16]"}},
    {"a weight holds integers",
     transformer_weights,
     as_integers("x_embedder.weight"),
     {"'x_embedder.weight'", "I64"}},
    {"CLIP's tokens are missing",
     clip_weights,
     without("text_model.embeddings.token_embedding.weight"),
     {"text_encoder", "embeddings.token_embedding.weight", "missing"}},
    {"CLIP has other positions",
     clip_weights,
     resized("text_model.embeddings.position_embedding.weight", {40, 18}),
     {"text_encoder", "position_embedding.weight", "[40, 18]", "[77, 18]"}},
    {"CLIP's norm holds integers",
     clip_weights,
     as_integers("text_model.final_layer_norm.weight"),
     {"text_encoder", "'text_model.final_layer_norm.weight'", "I64"}},
    {"T5's tokens are missing", t5_weights, without("shared.weight"), {"text_encoder_2", "missing"}},
    {"T5's relative bias is missing",
     t5_weights,
     without("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
     {"text_encoder_2", "relative_attention_bias.weight", "missing"}},
    {"T5's projection is of another size",
     t5_weights,
     resized("encoder.block.1.layer.1.DenseReluDense.wo.weight", {22, 40}),
     {"text_encoder_2", "'encoder.block.1.layer.1.DenseReluDense.wo.weight'", "[22, 40]", "[22, 48]"}},
    {"a decoder's conv is missing",
     vae_weights,
     without("decoder.up_blocks.0.resnets.1.conv2.weight"),
     {"vae", "'decoder.up_blocks.0.resnets.1.conv2.weight'", "missing"}},
    {"a decoder's kernel is of another size",
     vae_weights,
     resized("decoder.conv_out.weight", {3, 4, 1, 1}),
     {"vae", "'decoder.conv_out.weight'", "[3, 4, 1, 1]", "[3, 4, 3, 3]"}},
    {"an encoder's norm is missing",
     vae_weights,
     without("encoder.conv_norm_out.bias"),
     {"vae", "'encoder.conv_norm_out.bias'", "missing"}},
};

}  // namespace

TEST_CASE("the undamaged folder runs") {
  const DamagedFolder folder(golden_model("dev_f32"));
  CHECK(complaint(folder.path()).empty());
}

TEST_CASE("a coordinate that nothing turns by has no size, as diffusers allows") {
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.set(transformer_config, "axes_dims_rope", List{0, 4, 4});
  CHECK(complaint(folder.path()).empty());
  folder.set(transformer_config, "axes_dims_rope", List{-2, 6, 4});
  check_complaint(folder.path(), {transformer_config, "axes_dims_rope"});
}

TEST_CASE("a config's value that makes no sense is named with its file and key") {
  for (const BadValue& bad : bad_values) {
    INFO(bad.file << ": " << bad.key << " = " << bad.value.dump());
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.set(bad.file, bad.key, bad.value);
    // Some mistakes show only beside another config, which may be the one that is named.
    check_complaint(folder.path(), {".json: key '"});
    const std::string message = complaint(folder.path());
    CHECK((message.find(bad.file) != std::string::npos ||
           message.find(transformer_config) != std::string::npos));
    CHECK((message.find(bad.key) != std::string::npos ||
           message.find("axes_dims_rope") != std::string::npos ||
           message.find("norm_num_groups") != std::string::npos));
  }
}

TEST_CASE("what a T5's config says of its activation beside feed_forward_proj counts, as in transformers") {
  const DamagedFolder folder(golden_model("dev_f32"));
  const auto read = [&] { return text::T5Config::load(folder.path() / t5_config); };
  folder.edit(t5_config, [](nlohmann::json& json) {
    json["feed_forward_proj"] = "gated-gelu";
    json.erase("dense_act_fn");
    json.erase("is_gated_act");
  });
  CHECK(read().activation == ActivationFunction::gelu_tanh);
  CHECK(read().gated);
  folder.set(t5_config, "dense_act_fn", "gelu");
  folder.set(t5_config, "is_gated_act", false);
  CHECK(read().activation == ActivationFunction::gelu_erf);
  CHECK(!read().gated);
}

TEST_CASE("null is no value of a key that has another default, as in diffusers and transformers") {
  const auto refuses = [](const char* file, const auto& load, std::initializer_list<const char*> keys) {
    for (const std::string key : keys) {
      const DamagedFolder folder(golden_model("dev_f32"));
      folder.set(file, key, nullptr);
      CHECK_THROWS_WITH(load(folder.path() / file),
                        Catch::Contains(file) && Catch::Contains("key '" + key + "': is null"));
    }
  };
  refuses(
      transformer_config, flux::TransformerConfig::load,
      {"_class_name", "patch_size", "in_channels", "num_layers", "num_single_layers", "attention_head_dim",
       "num_attention_heads", "joint_attention_dim", "pooled_projection_dim", "axes_dims_rope"});
  refuses(t5_config, text::T5Config::load,
          {"vocab_size", "relative_attention_num_buckets", "relative_attention_max_distance",
           "layer_norm_epsilon", "feed_forward_proj", "dense_act_fn", "hidden_size", "head_dim",
           "num_hidden_layers", "num_attention_heads"});
  const DamagedFolder folder(golden_model("dev_f32"));
  for (const char* key : {"out_channels", "guidance_embeds"}) folder.set(transformer_config, key, nullptr);
  CHECK(!flux::TransformerConfig::load(folder.path() / transformer_config).guidance_embeds);
}

TEST_CASE("a T5's sizes by the names that other models have for them come first, as in transformers") {
  const std::vector<std::pair<std::string, std::string>> names{{"d_model", "hidden_size"},
                                                               {"d_kv", "head_dim"},
                                                               {"num_layers", "num_hidden_layers"},
                                                               {"num_heads", "num_attention_heads"}};
  const auto sizes = [](const DamagedFolder& folder) {
    const auto config = text::T5Config::load(folder.path() / t5_config);
    return std::vector<std::int64_t>{config.d_model, config.d_kv, config.num_layers, config.num_heads};
  };
  const DamagedFolder folder(golden_model("dev_f32"));
  const std::vector<std::int64_t> own = sizes(folder);
  folder.edit(t5_config, [&](nlohmann::json& json) {
    for (const auto& [name, other] : names) json[other] = json[name], json.erase(name);
  });
  CHECK(sizes(folder) == own);
  CHECK(complaint(folder.path()).empty());
  folder.edit(t5_config, [&](nlohmann::json& json) {
    for (const auto& [name, other] : names) json[name] = 7;
  });
  CHECK(sizes(folder) == own);
}

TEST_CASE("a config's key that must be there is missed") {
  for (const char* key : {"d_model", "d_kv", "d_ff", "num_layers", "num_heads"}) {
    INFO(key);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.edit(t5_config, [&](nlohmann::json& json) { json.erase(key); });
    check_complaint(folder.path(), {t5_config, key, "missing"});
  }
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.edit(vae_config, [&](nlohmann::json& json) { json.erase("block_out_channels"); });
  check_complaint(folder.path(), {vae_config, "block_out_channels", "missing"});
}

TEST_CASE("a file that is missing, empty, cut short or something else is named") {
  for (const std::string& file : needed_files) {
    INFO(file);
    const std::string component = file.substr(0, file.find('/'));
    {
      const DamagedFolder folder(golden_model("dev_f32"));
      folder.remove(file);
      check_complaint(folder.path(), {component});
    }
    for (const auto& [what, text] : {std::pair<std::string, std::string>("empty", ""),
                                     {"cut short", read_text(golden_model("dev_f32") / file).substr(0, 40)},
                                     {"a list", "[1, 2, 3]"},
                                     {"zeros", std::string(5000, '\0')}}) {
      if (file.ends_with("merges.txt") && what != "zeros") continue;  // a shorter list of merges is one too
      INFO(what);
      const DamagedFolder folder(golden_model("dev_f32"));
      write_text(folder.path() / file, text);
      check_complaint(folder.path(), {component});
    }
  }
}

TEST_CASE("a component's folder that is missing is named, and so is the model's") {
  for (const char* component :
       {"transformer", "text_encoder", "text_encoder_2", "vae", "scheduler", "tokenizer", "tokenizer_2"}) {
    INFO(component);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.remove(component);
    check_complaint(folder.path(), {"model/" + std::string(component)});
  }
  check_complaint("/nowhere/at/all", {"/nowhere/at/all", "no such model folder"});
  check_complaint(golden_model("dev_f32") / "model_index.json", {"model_index.json"});
}

TEST_CASE("pipelines of plain Flux run, and those of its relatives are refused by their names") {
  for (const char* name : {"FluxPipeline", "FluxImg2ImgPipeline", "FluxInpaintPipeline"}) {
    INFO(name);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.set("model_index.json", "_class_name", name);
    CHECK(complaint(folder.path()).empty());
  }
  for (const auto& [name, says] : {std::pair("FluxKontextPipeline", "a Flux Kontext model"),
                                   {"FluxKontextInpaintPipeline", "a Flux Kontext model"},
                                   {"FluxFillPipeline", "a Flux Fill model"},
                                   {"FluxControlPipeline", "a Flux Control model"},
                                   {"FluxControlImg2ImgPipeline", "a Flux Control model"},
                                   {"FluxControlInpaintPipeline", "a Flux Control model"},
                                   {"FluxControlNetPipeline", "a Flux ControlNet model"},
                                   {"FluxPriorReduxPipeline", "a Flux Redux model"},
                                   {"Flux2Pipeline", "a FLUX.2 model"},
                                   {"Flux2KleinPipeline", "a FLUX.2 model"},
                                   {"FluxOfTomorrowPipeline", "an unknown kind of Flux"}}) {
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.set("model_index.json", "_class_name", name);
    check_complaint(folder.path(), {"model_index.json", name, says, "give a plain Flux model"});
  }
}

TEST_CASE("a git-LFS pointer in place of any file is called that") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
  for (const std::string& file : needed_files) {
    INFO(file);
    const DamagedFolder folder(golden_model("dev_f32"));
    write_text(folder.path() / file, pointer);
    check_complaint(folder.path(), {file, "git-LFS pointer", "git lfs pull"});
  }
}

TEST_CASE("weights that do not fit their config are named with file and tensor") {
  for (const BadWeights& bad : bad_weights) {
    INFO(bad.what);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.change_tensors(bad.file, bad.change);
    check_complaint(folder.path(), bad.says);
  }
}

TEST_CASE("more layers than there are weights for are missed, and configs of another model do not pass") {
  const DamagedFolder deeper(golden_model("dev_f32"));
  deeper.set(transformer_config, "num_layers", 3);
  check_complaint(deeper.path(), {"'transformer_blocks.2.", "missing"});
  const DamagedFolder swapped(golden_model("dev_f32"));
  std::filesystem::copy(
      golden_model("dev_f16") / "transformer", swapped.path() / "transformer",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  check_complaint(swapped.path(), {transformer_config, "in_channels"});
  // Of two configs the one that was read is named.
  const std::filesystem::path given = golden_model("dev_f16") / "transformer";
  check_complaint({golden_model("dev_f32"), {{"transformer", given}}},
                  {(given / "config.json").string(), "in_channels"});
  const DamagedFolder weights(golden_model("dev_f32"));
  std::filesystem::copy_file(golden_model("dev_f16") / vae_weights, weights.path() / vae_weights,
                             std::filesystem::copy_options::overwrite_existing);
  check_complaint(weights.path(), {"vae", "a number of levels of 4 where"});
}

TEST_CASE(
    "layers that a folder has weights for and its config lacks are refused, and what nobody reads is told") {
  for (const auto& [config, key, what] :
       {std::tuple{transformer_config, "num_layers", "a number of double blocks of 2 where"},
        {transformer_config, "num_single_layers", "a number of single blocks of 1 where"},
        {clip_config, "num_hidden_layers", "a number of layers of 2 where"},
        {t5_config, "num_layers", "a number of layers of 2 where"}}) {
    INFO(config << " " << key);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.edit(config, [&, key = key](nlohmann::json& json) { json[key] = json[key].get<int>() - 1; });
    check_complaint(folder.path(), {what, config, "they belong to different models; get both again"});
  }
  const DamagedFolder more(golden_model("dev_f32"));
  more.change_tensors(vae_weights, [](RawTensors& tensors) {
    tensors["decoder.up_blocks.0.resnets.2.conv2.weight"] =
        tensors.at("decoder.up_blocks.0.resnets.1.conv2.weight");
  });
  check_complaint(more.path(), {"a number of layers in a level of 3 where", vae_config, "says 2"});

  const DamagedFolder unread(golden_model("dev_f32"));
  CHECK(flux::ModelFolder::open(unread.path()).notes.empty());
  for (const char* weights : {transformer_weights, clip_weights, t5_weights, vae_weights})
    unread.change_tensors(weights, [](RawTensors& tensors) {
      tensors["nobody.knows.weight"] = {"F32", {1}, std::string(4, '\0')};
    });
  const std::vector<std::string> notes = flux::ModelFolder::open(unread.path()).notes;
  REQUIRE(notes.size() == 4);
  for (const std::string& note : notes)
    CHECK_THAT(note, Catch::Contains("1 tensor is not read: 'nobody.knows.weight'"));
}

TEST_CASE("a token that its encoder has no row for is refused before anything is loaded") {
  for (const auto& [config, value] : {std::pair(clip_config, 500), std::pair(t5_config, 5)}) {
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.set(config, "vocab_size", value);
    INFO(config);
    check_complaint(folder.path(), {config, "key 'vocab_size'", "gives id"});
  }
}

TEST_CASE("a CLIP whose positions are fewer than its tokenizer's tokens is refused") {
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.set(clip_config, "max_position_embeddings", 40);
  folder.change_tensors(clip_weights, resized("text_model.embeddings.position_embedding.weight", {40, 18}));
  check_complaint(folder.path(), {clip_config, "key 'max_position_embeddings': is 40", "77 tokens",
                                  "the tokenizer is not this encoder's"});
  folder.set("tokenizer/tokenizer_config.json", "model_max_length", 40);
  CHECK(complaint(folder.path()).empty());
}

TEST_CASE("rows are missed only for the tokens of the prompt") {
  const DamagedFolder folder(golden_model("dev_f32"));
  // T5's last hundred tokens are <extra_id_0> to <extra_id_99>.
  const int rows = 420;
  folder.set(t5_config, "vocab_size", rows);
  folder.change_tensors(t5_weights, [&](RawTensors& tensors) {
    RawTensor& shared = tensors.at("shared.weight");
    shared.shape[0] = rows;
    shared.bytes.resize(static_cast<std::size_t>(rows * shared.shape[1]) * 4);
  });
  CHECK(complaint(folder.path()).empty());
}

TEST_CASE("a component of a class that is not supported, or left out, is refused by its name") {
  using Entry = std::vector<nlohmann::json>;
  for (const auto& [component, entry, says] :
       {std::tuple("vae", Entry{"diffusers", "AutoencoderTiny"}, "needs a component of class AutoencoderKL"),
        std::tuple("transformer", Entry{"diffusers", "ChromaTransformer2DModel"},
                   "'ChromaTransformer2DModel'"),
        std::tuple("text_encoder", Entry{"transformers", "CLIPTextModelWithProjection"},
                   "class CLIPTextModel"),
        std::tuple("text_encoder_2", Entry{nullptr, nullptr}, "is null"),
        std::tuple("scheduler", Entry{"diffusers", "DDIMScheduler"}, "'DDIMScheduler'"),
        std::tuple("tokenizer", Entry{"transformers", "BertTokenizer"},
                   "needs a component of class CLIPTokenizer"),
        std::tuple("tokenizer_2", Entry{"transformers", "PreTrainedTokenizerFast"}, "class T5Tokenizer"),
        std::tuple("vae", Entry{"AutoencoderKL"}, "must name a library and a class")}) {
    INFO(component);
    const DamagedFolder folder(golden_model("dev_f32"));
    folder.set("model_index.json", component, entry);
    check_complaint(folder.path(), {"model_index.json: key '" + std::string(component) + "'", says});
  }
}

TEST_CASE("the text half of a whole CLIP's config is found") {
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.edit(clip_config, [](nlohmann::json& json) {
    json = {{"model_type", "clip"}, {"hidden_size", 512}, {"text_config", json}, {"vision_config", {}}};
  });
  CHECK(complaint(folder.path()).empty());
  folder.edit(clip_config, [](nlohmann::json& json) { json["text_config"]["num_attention_heads"] = 0; });
  check_complaint(folder.path(), {clip_config, "'text_config.num_attention_heads'"});
}

TEST_CASE("files that are not what they claim to be are found before anything is loaded") {
  for (const char* file : {transformer_weights, vae_weights}) {
    const DamagedFolder folder(golden_model("dev_f32"));
    std::filesystem::resize_file(folder.path() / file, std::filesystem::file_size(folder.path() / file) - 1);
    flux::Request request;
    request.prompts = {"a circle"};
    request.width = request.height = 16;
    int calls = 0;
    const auto run = [&] {
      flux::FluxPipeline(folder.path(), flux::ComponentChoices::all(compiled_choices().front()))
          .generate(request, [&](const flux::Progress&) { ++calls; });
    };
    CHECK_THROWS_WITH(run(), Catch::Contains(file));
    CHECK(calls == 0);
  }
}

TEST_CASE("an index of shards that leaves its folder, or lies, is refused") {
  const std::string index = "transformer/diffusion_pytorch_model.safetensors.index.json";
  const auto with_shard = [&](const nlohmann::json& name, const std::vector<std::string>& says) {
    const DamagedFolder folder(golden_model("static_sharded"));
    folder.edit(index, [&](nlohmann::json& json) { json["weight_map"]["proj_out.weight"] = name; });
    INFO(name.dump());
    check_complaint(folder.path(), says);
  };
  with_shard("../../../etc/passwd", {index, "proj_out.weight"});
  with_shard("/etc/passwd", {index, "proj_out.weight"});
  with_shard("no-such-file.safetensors", {"no-such-file.safetensors"});
  with_shard("diffusion_pytorch_model-00001-of-00005.safetensors", {"proj_out.weight"});
  with_shard(7, {index, "proj_out.weight"});
}
