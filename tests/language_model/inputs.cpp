// Texts, tokenizers, batches and configs: what they say, and what is refused.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <language_model/batches.hpp>
#include <language_model/config.hpp>
#include <language_model/parameters.hpp>
#include <language_model/sample_text.hpp>
#include <language_model/shipped_text.hpp>
#include <language_model/tokenizer.hpp>
#include <language_model/trainer.hpp>
#include <nlohmann/json.hpp>
#include <support/temporary_folder.hpp>

#include <precast/dtype/convert_value.hpp>
#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/safetensors_writer.hpp>
#include <precast/ops/rotary_table.hpp>

namespace precast::language_model {

namespace {

/// The config that a config.json with this text holds.
LanguageModelConfig config_of_text(const std::string& json) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  io::write_file(file, json);
  return LanguageModelConfig::load(file);
}

}  // namespace

TEST_CASE("a tokenizer of characters gives a text back, and says where it is not UTF-8", "[language_model]") {
  const std::string text = "na\u00efve \u4f60\U0001f600 a";
  const Tokenizer tokenizer = Tokenizer::of_characters(text, "text");
  CHECK(tokenizer.size() == 8);
  CHECK(tokenizer.decode(tokenizer.encode(text, "text")) == text);
  CHECK(Tokenizer::from_json(tokenizer.json(), "t.json").encode(text, "text") ==
        tokenizer.encode(text, "text"));
  CHECK_THROWS_WITH(tokenizer.encode("nb", "other"), Catch::Contains("character at byte 1"));
  for (const char* wrong : {"ab\xff", "ab\xc3", "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80"})
    CHECK_THROWS_WITH(Tokenizer::of_characters(wrong, "f"), Catch::Contains("f: byte 2 is not UTF-8"));
  CHECK_THROWS_WITH(Tokenizer::of_characters("", "f"), Catch::Contains("is empty"));
  for (const char* wrong :
       {R"({"kind": 3})", R"({"kind": 3, "characters": "ab"})", R"(["characters", "ab"])"})
    CHECK_THROWS_AS(Tokenizer::from_json(wrong, "t.json"), InputError);
  const Tokenizer bytes = Tokenizer::of_bytes();
  CHECK(bytes.decode(bytes.encode("a\xff", "f")) == "a\xff");
  // Rows that a model has for more tokens are no text.
  for (const Tokenizer& one : {tokenizer, bytes}) CHECK(one.decode(std::vector{320, 0, -1}).size() == 1);
  CHECK(Tokenizer::from_json(bytes.json(), "t.json").size() == 256);
}

TEST_CASE("windows follow from seed and step, and stay in the text", "[language_model]") {
  std::vector<std::int32_t> tokens(50);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
  const auto batches = random_windows(tokens, 3, 10, 7, "text");
  std::vector<bool> begun(tokens.size());
  for (int step = 0; step < 200; ++step) {
    const auto windows = batches->step(step);
    REQUIRE(windows.size() == 33);
    for (std::size_t i = 0; i < 33; i += 11) {
      begun[static_cast<std::size_t>(windows[i])] = true;
      CHECK(windows[i + 10] == windows[i] + 10);
    }
    CHECK(windows == random_windows(tokens, 3, 10, 7, "text")->step(step));
  }
  for (std::size_t i = 0; i < begun.size(); ++i) CHECK(begun[i] == (i < 40));
  CHECK(batches->step(0) != random_windows(tokens, 3, 10, 8, "text")->step(0));
  CHECK_NOTHROW(random_windows({1, 2, 3}, 1, 2, 0, "text")->step(0));
  CHECK_THROWS_WITH(random_windows({1, 2, 3}, 1, 3, 0, "text"), Catch::Contains("fewer than the 4"));
  CHECK_THROWS_WITH(random_windows({1}, 1, 3, 0, "text"), Catch::Contains("has 1 token, fewer"));
  CHECK_THROWS_WITH(random_windows({}, 1, 3, 0, "text"), Catch::Contains("is empty"));
}

TEST_CASE("batches of a file are taken as they are, and checked", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "batches.safetensors";
  const auto write = [&](const std::vector<std::int64_t>& values, const Shape& shape,
                         const DtypeInfo& dtype) {
    io::SafetensorsWriter writer(file);
    writer.declare("tokens", dtype, shape);
    writer.write(std::as_bytes(std::span(values))
                     .first(static_cast<std::size_t>(shape.elements() * dtype.bytes_per_block)));
    writer.commit();
  };
  constexpr DtypeInfo i64{"i64", 1, 8};
  write({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Shape{2, 2, 3}, i64);
  const auto batches = batches_of_file(file, 2, 12);
  CHECK(batches->batch() == 2);
  CHECK(batches->context() == 2);
  CHECK(batches->step(1) == std::vector<std::int32_t>{6, 7, 8, 9, 10, 11});
  CHECK_THROWS_WITH(batches_of_file(file, 3, 12), Catch::Contains("2 steps, fewer than 3"));
  CHECK_THROWS_WITH(batches_of_file(file, 2, 11), Catch::Contains("holds 11 at place 11"));
  write({0, 1, 2, 3}, Shape{2, 2}, i64);
  CHECK_THROWS_WITH(batches_of_file(file, 1, 12), Catch::Contains("I64 [steps, batch, context + 1]"));
  write({0, 1, 2, 3}, Shape{1, 2, 2}, DtypeInfo{"i32", 1, 4});
  CHECK_THROWS_WITH(batches_of_file(file, 1, 12), Catch::Contains("I32"));
  for (const char* text : {"", "hello", "a text that is longer than the length of a header"}) {
    std::ofstream(file, std::ios::binary) << text;
    CHECK_THROWS_WITH(batches_of_file(file, 1, 12),
                      Catch::Contains("is not a safetensors file: give one that has 'tokens'"));
  }
}

TEST_CASE("configs that are not known are refused by their keys", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  const auto refused = [&](const std::string& json, const std::string& key) {
    io::write_file(file, json);
    CHECK_THROWS_WITH(LanguageModelConfig::load(file), Catch::Contains("key '" + key + "'"));
  };
  refused(R"({"model_type": "bert"})", "model_type");
  refused(R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 10, "n_layer": 1, "n_head": 3})", "n_head");
  refused(R"({"model_type": "gpt2", "activation_function": "relu"})", "activation_function");
  refused(R"({"model_type": "gpt2", "activation_function": null})", "activation_function");
  refused(R"({"model_type": "llama", "hidden_act": "gelu"})", "hidden_act");
  refused(R"({"model_type": "llama", "hidden_act": null})", "hidden_act");
  refused(R"({"model_type": "llama", "attention_bias": 1})", "attention_bias");
  const std::string llama =
      R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, )";
  io::write_file(file, llama + R"("rope_scaling": null})");
  CHECK(LanguageModelConfig::load(file).rope_theta == 10000);
  refused(llama + R"("rope_scaling": {"rope_type": "llama3", "factor": 8}})", "rope_scaling.low_freq_factor");
  refused(llama + R"("rope_scaling": {"type": "linear"}})", "rope_scaling.factor");
  refused(llama + R"("rope_scaling": {"type": "linear", "factor": 0}})", "rope_scaling.factor");
  refused(llama + R"("rope_scaling": {"type": "linear", "factor": null}})", "rope_scaling.factor");
  refused(llama + R"("max_position_embeddings": 2147483647, "rope_scaling": {"type": "yarn", "factor": null,
                     "original_max_position_embeddings": 1}})",
          "rope_scaling.factor");
  io::write_file(file, llama + R"("max_position_embeddings": 10485760, "rope_scaling": {"type": "yarn",
                               "factor": 4, "original_max_position_embeddings": 2621440}})");
  CHECK(LanguageModelConfig::load(file).positions == 10485760);
  CHECK(LanguageModelConfig::load(file).rotary_scaling.original_positions == 2621440);
  refused(llama + R"("max_position_embeddings": 2147483648})", "max_position_embeddings");
  refused(R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 1,
           "n_positions": 1048577})",
          "n_positions");
  refused(llama + R"("rope_scaling": {"type": "longrope", "factor": 2}})",
          "rope_scaling.type");  // before transformers 4.43
  refused(llama + R"("rope_parameters": {"rope_type": "linear", "factor": 2, "partial_rotary_factor": 0.5}})",
          "rope_parameters.partial_rotary_factor");
  refused(llama + R"("rope_parameters": {"rope_type": "linear", "factor": 2}, "partial_rotary_factor": 0.5})",
          "partial_rotary_factor");
  refused(llama + R"("rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                     "high_freq_factor": 4}})",
          "rope_parameters.high_freq_factor");
  refused(llama + R"("rope_parameters": {"rope_type": "longrope"}})", "rope_parameters.rope_type");
  refused(llama + R"("rope_parameters": {"rope_type": "yarn"}})", "rope_parameters.factor");
  refused(llama + R"("rope_parameters": {"rope_type": "yarn", "factor": 2, "beta_slow": 64}})",
          "rope_parameters.beta_fast");
  refused(llama + R"("rope_parameters": {"rope_type": "yarn", "factor": 2, "rope_theta": 1}})",
          "rope_parameters.rope_theta");
  refused(R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 0})", "hidden_size");
  const std::string gpt2 =
      R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 2, )";
  refused(gpt2 + R"("num_attention_heads": 4})", "num_attention_heads");  // another name of n_head
  refused(gpt2 + R"("quantization_config": {"quant_method": "fp8"}})", "quantization_config");
  refused(llama + R"("is_causal": false})", "is_causal");
  CHECK_NOTHROW(config_of_text(llama + R"("is_causal": null})"));
  for (const char* key : {"bos_token_id", "pad_token_id"})
    for (const char* wrong : {"\"hello\"", "1.5", "[1]", "true"})
      refused(llama + "\"" + key + "\": " + wrong + "}", key);
  for (const char* wrong : {R"({"a": 1})", R"([3, "x"])", "[3.5]"})
    refused(llama + "\"eos_token_id\": " + wrong + "}", "eos_token_id");
  refused(llama + R"("pad_token_id": 8})", "pad_token_id");
  LanguageModelConfig config{.architecture = Architecture::llama, .heads = 4, .heads_kv = 3};
  CHECK_THROWS_AS(config.check(), InputError);
}

TEST_CASE("a GPT-2's sizes are read by either of their names", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  io::write_file(file, R"({"model_type": "gpt2", "vocab_size": 8, "hidden_size": 12, "num_hidden_layers": 3,
                           "num_attention_heads": 2, "max_position_embeddings": 40, "n_positions": 40})");
  const auto both = LanguageModelConfig::load(file);
  io::write_file(file, R"({"model_type": "gpt2", "vocab_size": 8, "hidden_size": 12, "num_hidden_layers": 3,
                           "num_attention_heads": 2, "max_position_embeddings": 40})");
  const auto config = LanguageModelConfig::load(file);
  CHECK(config.json() == both.json());
  CHECK(config.positions == 40);
  CHECK(config.width == 12);
  CHECK(config.inner == 48);
  CHECK(config.layers == 3);
  CHECK(config.heads == 2);
}

TEST_CASE("a config keeps how a GPT-2's scores are scaled, and does not speak of what is usual",
          "[language_model]") {
  const std::string gpt2 =
      R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 3, "n_head": 2)";
  const LanguageModelConfig usual = config_of_text(gpt2 + "}");
  CHECK(usual.score_scale(2) == 0.5);
  CHECK_THAT(usual.json(), !Catch::Contains("scale_attn"));  // checkpoints hold this text
  const LanguageModelConfig other = config_of_text(
      config_of_text(gpt2 + R"(, "scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true})")
          .json());
  CHECK(other.score_scale(0) == 1);
  CHECK(other.score_scale(3) == 0.25);
}

TEST_CASE("a config keeps its special tokens, and says what a run leaves out", "[language_model]") {
  const std::string gpt2 =
      R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 2, )";
  // Where GPT-2's config has no key, transformers drops a tenth.
  CHECK(config_of_text(gpt2 + R"("attn_pdrop": 0, "embd_pdrop": 0.0})").left_out ==
        std::vector<std::string>{"resid_pdrop"});
  const std::string llama =
      R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, )";
  CHECK(config_of_text(llama + R"("attention_dropout": 0.1})").left_out ==
        std::vector<std::string>{"attention_dropout"});
  CHECK(config_of_text(llama + R"("pad_token_id": -1})").padding == 7);
  const LanguageModelConfig special =
      config_of_text(llama + R"("bos_token_id": null, "eos_token_id": [3, 4], "pad_token_id": 5})");
  CHECK(special.padding == 5);
  CHECK(special.left_out.empty());
  CHECK(special.special_tokens == std::map<std::string, std::string>{{"bos_token_id", "null"},
                                                                     {"eos_token_id", "[3,4]"},
                                                                     {"pad_token_id", "5"}});
  CHECK(config_of_text(special.json()).special_tokens == special.special_tokens);
}

TEST_CASE("frequencies of rotary positions are scaled as a config says", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  const auto loaded = [&](const std::string& rope) {
    io::write_file(file, R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
                             "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 512)" +
                             rope + "}");
    return LanguageModelConfig::load(file).rotary_scaling;
  };
  CHECK(loaded("") == RotaryScaling{});
  const RotaryScaling linear{.kind = RotaryScalingKind::linear, .factor = 4};
  CHECK(loaded(R"(, "rope_scaling": {"type": "linear", "factor": 4})") == linear);
  CHECK(loaded(R"(, "rope_parameters": {"rope_type": "linear", "factor": 4.0})") == linear);
  const RotaryScaling llama3{.kind = RotaryScalingKind::llama3,
                             .factor = 8,
                             .low_frequency_factor = 1,
                             .high_frequency_factor = 4,
                             .original_positions = 256};
  const std::string rope =
      R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4)";
  CHECK(loaded(rope + R"(, "original_max_position_embeddings": 256})") == llama3);
  CHECK(loaded(rope + "}").original_positions == 512);  // the model's own
  // As transformers 5.23 takes them: a key beside the object goes before the object's, and of both objects
  // the older one is taken whole, but for an empty one.
  CHECK(loaded(rope + R"(}, "original_max_position_embeddings": 64)").original_positions == 64);
  CHECK(loaded(rope + R"(, "original_max_position_embeddings": 256}, "original_max_position_embeddings": 64)")
            .original_positions == 64);
  CHECK(loaded(R"(, "rope_scaling": {}, "rope_parameters": {"rope_type": "linear", "factor": 4})") == linear);
  CHECK(loaded(R"(, "rope_scaling": {"type": "linear", "factor": 4},
                  "rope_parameters": {"rope_type": "default", "rope_theta": 500})") == linear);
  CHECK(LanguageModelConfig::load(file).rope_theta == 10000);
  const RotaryScaling dynamic{.kind = RotaryScalingKind::dynamic, .factor = 4};
  CHECK(loaded(R"(, "rope_scaling": {"type": "dynamic", "factor": 4.0})") == dynamic);
  const RotaryScaling yarn{.kind = RotaryScalingKind::yarn,
                           .factor = 4,
                           .attention_factor = 1.1386294361119891,  // 0.1 ln(4) + 1
                           .original_positions = 256};
  const std::string yarn_rope = R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4)";
  CHECK(loaded(yarn_rope + R"(, "original_max_position_embeddings": 256, "beta_fast": null})") == yarn);
  CHECK(loaded(yarn_rope + "}").original_positions == 512);
  CHECK(loaded(yarn_rope + R"(, "attention_factor": 2})").attention_factor == 2);
  // Where the factor is null, max_position_embeddings over the first context's.
  CHECK(loaded(R"(, "rope_scaling": {"rope_type": "yarn", "factor": null,
                   "original_max_position_embeddings": 128})") ==
        RotaryScaling{.kind = RotaryScalingKind::yarn,
                      .factor = 4,
                      .attention_factor = yarn.attention_factor,
                      .original_positions = 128});
  // DeepSeek's.
  const RotaryScaling of_queries = loaded(
      R"(, "rope_parameters": {"rope_type": "yarn", "factor": 16, "mscale": 0.7, "mscale_all_dim": 1})");
  CHECK(of_queries.attention_factor == Approx(0.9348779926481438));
  for (const RotaryScaling& scaling : {RotaryScaling{}, linear, dynamic, llama3, yarn}) {
    const LanguageModelConfig config{.architecture = Architecture::llama, .rotary_scaling = scaling};
    io::write_file(file, config.json());
    CHECK(LanguageModelConfig::load(file).rotary_scaling == scaling);
  }

  // Waves of 2 pi, 136 and 2916 positions; transformers' inv_freq, which rounds to f32 up to eight times.
  const auto check = [&](const RotaryScaling& scaling, const std::vector<double>& expected) {
    const auto width = 2 * static_cast<std::int64_t>(expected.size());
    const std::vector<double> found = scaled(rotary_frequencies(width, 10000), 10000, scaling);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(found[i] == Approx(expected[i]).epsilon(8 * 0x1p-24));
  };
  check({}, {1.0, 0.04641588404774666, 0.002154434332624078});
  check(linear, {0.25, 0.011603971011936665, 0.0005386085831560194});
  check(dynamic, {1.0, 0.04641588404774666, 0.002154434332624078});
  check(llama3, {1.0, 0.017866387963294983, 0.0002693042915780097});
  check(yarn, {1.0, 0.029009927064180374, 0.0005386085831560194});
  check({.kind = RotaryScalingKind::yarn,
         .factor = 16,
         .beta_fast = 16,
         .beta_slow = 2,
         .truncate = false,
         .original_positions = 256},
        {1.0, 0.28535008430480957, 0.03833049535751343, 0.0019764236640185118, 0.0006249999860301614,
         0.00019764236640185118, 6.25000029685907e-05, 1.9764236640185118e-05});
  // A first context in which no pair turns once.
  check({.kind = RotaryScalingKind::yarn, .factor = 4, .original_positions = 1},
        {1.0, 0.011603971011936665, 0.0005386085831560194});
}

TEST_CASE("an activation is known by each of transformers' names for it", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  const auto written = [&](const std::string& json) {
    io::write_file(file, json);
    return LanguageModelConfig::load(file).json();
  };
  for (const char* name : {"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate"})
    CHECK_THAT(written(R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                           "activation_function": ")" +
                       std::string(name) + "\"}"),
               Catch::Contains(R"("activation_function": "gelu_new")"));
  for (const char* name : {"gelu", "gelu_python"})
    CHECK_THAT(written(R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 2,
                           "activation_function": ")" +
                       std::string(name) + "\"}"),
               Catch::Contains(R"("activation_function": "gelu")"));
  for (const char* name : {"silu", "swish"})
    CHECK_THAT(written(R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
                           "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_act": ")" +
                       std::string(name) + "\"}"),
               Catch::Contains(R"("hidden_act": "silu")"));
}

namespace {

const LanguageModelConfig smallest_gpt2{.vocabulary = 3,
                                        .positions = 2,
                                        .width = 2,
                                        .layers = 1,
                                        .heads = 1,
                                        .heads_kv = 1,
                                        .head_width = 2,
                                        .inner = 2,
                                        .tied = false};

}  // namespace

TEST_CASE("a tensor of a dtype that is not known is refused by file and name", "[language_model]") {
  const testing::TemporaryFolder folder;
  const std::vector<ParameterFacts> facts = parameters_of(smallest_gpt2);
  io::SafetensorsWriter writer(folder.path() / "model.safetensors");
  for (const ParameterFacts& one : facts)
    writer.declare(one.name, DtypeInfo{"i64", 1, 8}, one.stored_shape());
  for (const ParameterFacts& one : facts)
    writer.write(std::as_bytes(
        std::span<const double>(std::vector<double>(static_cast<std::size_t>(one.shape.elements())))));
  writer.commit();
  CHECK_THROWS_WITH(read_values(folder.path(), smallest_gpt2),
                    Catch::Contains(folder.path().string() + "/model.safetensors: tensor '" +
                                    facts.front().name + "': has dtype I64"));
}

TEST_CASE("weights in f64, and those of a model without a head, are read", "[language_model]") {
  const testing::TemporaryFolder folder;
  LanguageModelConfig config = smallest_gpt2;
  config.tied = true;
  for (const Architecture architecture : {Architecture::gpt2, Architecture::llama}) {
    config.architecture = architecture;
    const std::vector<ParameterFacts> facts = parameters_of(config);
    io::SafetensorsWriter writer(folder.path() / "model.safetensors");
    for (const ParameterFacts& one : facts)
      writer.declare(one.name.substr(one.name.find('.') + 1), DtypeInfo{"f64", 1, 8}, one.stored_shape());
    for (const ParameterFacts& one : facts)
      writer.write(std::as_bytes(std::span<const double>(
          std::vector<double>(static_cast<std::size_t>(one.shape.elements()), 1.0 / 3))));
    writer.commit();
    const ParameterValues values = read_values(folder.path(), config);
    REQUIRE(values.size() == facts.size());
    for (const std::vector<f32>& of_one : values) CHECK(of_one.back() == 1.0f / 3);
    CHECK(unread_tensors(folder.path(), config).empty());
  }
}

TEST_CASE("tensors that are no parameters of the model are named", "[language_model]") {
  const testing::TemporaryFolder folder;
  const auto unread = [&](bool bare, const std::vector<std::string>& more) {
    std::vector<std::string> names = more;
    for (const ParameterFacts& one : parameters_of(smallest_gpt2))
      names.push_back(bare && one.name.starts_with("transformer.") ? one.name.substr(12) : one.name);
    io::SafetensorsWriter writer(folder.path() / "model.safetensors");
    for (const std::string& name : names) writer.declare(name, dtype_info<f32>, Shape{1});
    const f32 value = 1;
    for (std::size_t i = 0; i < names.size(); ++i) writer.write(std::as_bytes(std::span(&value, 1)));
    writer.commit();
    return unread_tensors(folder.path(), smallest_gpt2);
  };
  // Buffers are of no interest: older files have them, transformers computes them.
  CHECK(unread(false, {"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias",
                       "model.layers.0.self_attn.rotary_emb.inv_freq"})
            .empty());
  CHECK(unread(true, {"h.0.attn.bias"}).empty());
  CHECK(unread(false, {"transformer.h.1.ln_1.weight", "score.weight"}) ==
        std::vector<std::string>{"score.weight", "transformer.h.1.ln_1.weight"});
  // Of a tensor that is there under both of its names one is read.
  CHECK(unread(false, {"ln_f.weight"}) == std::vector<std::string>{"ln_f.weight"});
}

TEST_CASE("a new model's config names no token that ends a text", "[language_model]") {
  const testing::TemporaryFolder folder;
  for (const Architecture architecture : {Architecture::gpt2, Architecture::llama}) {
    LanguageModelConfig config = smallest_gpt2;
    config.architecture = architecture;
    const auto json = nlohmann::json::parse(config.json());
    // Without the keys transformers would take its own tokens.
    for (const char* key : {"bos_token_id", "eos_token_id"}) {
      REQUIRE(json.contains(key));
      CHECK(json[key].is_null());
    }
  }
}

TEST_CASE("weights in fp8 are read with the scales that lie beside them", "[language_model]") {
  const testing::TemporaryFolder folder;
  const std::vector<ParameterFacts> facts = parameters_of(smallest_gpt2);
  const auto is_scaled = [](const ParameterFacts& one) { return one.name.ends_with("mlp.c_fc.weight"); };
  io::SafetensorsWriter writer(folder.path() / "model.safetensors");
  for (const ParameterFacts& one : facts) {
    const DtypeInfo& dtype = is_scaled(one) ? dtype_info<fp8_e4m3> : dtype_info<f32>;
    writer.declare(one.name, dtype, one.stored_shape());
    if (is_scaled(one)) writer.declare(one.name + "_scale", dtype_info<f32>, Shape{});
  }
  for (const ParameterFacts& one : facts) {
    const auto count = static_cast<std::size_t>(one.shape.elements());
    const f32 scale = 0.25f;
    if (is_scaled(one)) {
      writer.write(
          std::as_bytes(std::span<const fp8_e4m3>(std::vector<fp8_e4m3>(count, convert<fp8_e4m3>(3.0f)))));
      writer.write(std::as_bytes(std::span(&scale, 1)));
    } else {
      writer.write(std::as_bytes(std::span<const f32>(std::vector<f32>(count, 0.5f))));
    }
  }
  writer.commit();
  const ParameterValues values = read_values(folder.path(), smallest_gpt2);
  REQUIRE(values.size() == facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i)
    CHECK(values[i].front() == (is_scaled(facts[i]) ? 0.75f : 0.5f));
}

TEST_CASE("a head that differs from the embeddings is no tied one", "[language_model]") {
  const testing::TemporaryFolder folder;
  const LanguageModelConfig config = smallest_gpt2;
  const auto write = [&](f32 first_of_head) {
    const std::vector<ParameterFacts> facts = parameters_of(config);
    io::SafetensorsWriter writer(folder.path() / "model.safetensors");
    for (const ParameterFacts& one : facts) writer.declare(one.name, dtype_info<f32>, one.stored_shape());
    for (const ParameterFacts& one : facts) {
      std::vector<f32> values(static_cast<std::size_t>(one.shape.elements()), 0.5f);
      if (one.name == "lm_head.weight") values.front() = first_of_head;
      writer.write(std::as_bytes(std::span(values)));
    }
    writer.commit();
  };
  LanguageModelConfig tied = config;
  tied.tied = true;
  write(0.5f);
  CHECK(read_values(folder.path(), tied).size() + 1 == read_values(folder.path(), config).size());
  write(0.25f);
  CHECK_NOTHROW(read_values(folder.path(), config));
  CHECK_THROWS_WITH(read_values(folder.path(), tied), Catch::Contains("'tie_word_embeddings' to false"));
}

TEST_CASE("options of training out of range are refused", "[language_model]") {
  CHECK_THROWS_AS((TrainingOptions{.steps = 0}.check()), InputError);
  CHECK_THROWS_AS((TrainingOptions{.clip = 0.0}.check()), InputError);
  CHECK_THROWS_AS((TrainingOptions{.steps = 3, .warmup = 4}.check()), InputError);
  CHECK_THROWS_WITH(training_policy("f33"), Catch::Contains("name one of f32"));
}

TEST_CASE("the embedding of a Llama's padding token learns nothing where it is read", "[training]") {
  const auto changed_rows = [](const LanguageModelConfig& config) {
    const ParameterValues first = initial_values(parameters_of(config), 1);
    Trainer trainer(config, {.steps = 2, .adamw = {.lr = 1e-2, .weight_decay = 0}}, first);
    // 1 fills up, 3 does not occur.
    const auto batches = random_windows({0, 1, 2, 1, 1, 0, 2, 1, 0, 2, 2, 1, 0}, 2, 8, 1, "tokens");
    while (!trainer.done()) trainer.step(*batches);
    const std::vector<f32>& before = first.front();
    const std::vector<f32> after = trainer.model().values().front();
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < config.vocabulary; ++row)
      if (const std::int64_t begin = row * config.width;
          !std::equal(before.begin() + begin, before.begin() + begin + config.width, after.begin() + begin))
        rows.push_back(row);
    return rows;
  };
  LanguageModelConfig llama{.architecture = Architecture::llama,
                            .vocabulary = 4,
                            .positions = 8,
                            .width = 8,
                            .layers = 1,
                            .heads = 2,
                            .heads_kv = 1,
                            .head_width = 4,
                            .inner = 16,
                            .tied = false};
  CHECK(changed_rows(llama) == std::vector<std::int64_t>{0, 1, 2});
  llama.padding = 1;
  CHECK(changed_rows(llama) == std::vector<std::int64_t>{0, 2});
  llama.tied = true;  // a head's gradient reaches every row
  CHECK(changed_rows(llama) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a model learns the text that ships, under every policy but naive f16", "[training]") {
  for (const TrainingPolicy& policy : training_policies()) {
    CAPTURE(policy.name);
    const Tokenizer tokenizer = Tokenizer::of_characters(shipped_text(), "shipped");
    const LanguageModelConfig config{.architecture = Architecture::llama,
                                     .vocabulary = tokenizer.size(),
                                     .positions = 16,
                                     .width = 32,
                                     .layers = 1,
                                     .heads = 2,
                                     .heads_kv = 1,
                                     .head_width = 16,
                                     .inner = 48,
                                     .tied = true};
    const auto batches = random_windows(tokenizer.encode(shipped_text(), "shipped"), 8, 16, 1, "shipped");
    Trainer trainer(config, {.policy = policy.name, .steps = 200, .adamw = {.lr = 1e-2}},
                    initial_values(parameters_of(config), 1));
    std::vector<double> losses;
    const std::size_t enough = policy.name == "naive-f16" ? 3 : 200;
    while (losses.size() < enough) losses.push_back(trainer.step(*batches).loss);
    if (policy.name == "naive-f16") {
      CHECK_FALSE(std::isfinite(losses.back()));
      continue;
    }
    const double first = losses.front(), last = std::accumulate(losses.end() - 20, losses.end(), 0.0) / 20;
    CHECK(first == Approx(std::log(static_cast<double>(tokenizer.size()))).epsilon(0.05));
    CHECK(last < 0.8 * first);  // what knows the frequencies of characters, and no more, comes to 0.75
    const auto text = sample_tokens(trainer.model(), batches->step(0), 5, 16, 0.8, 3);
    CHECK(text.size() == 5);
    CHECK(text == sample_tokens(trainer.model(), batches->step(0), 5, 16, 0.8, 3));
  }
}

}  // namespace precast::language_model
