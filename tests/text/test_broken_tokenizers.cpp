// Broken tokenizer files: each is refused in one line that names it, and none crashes.
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <nlohmann/json.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <support/temporary_folder.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

#include <precast/io/write_gguf.hpp>

using namespace precast;
using precast::testing::DamagedFolder;
using precast::testing::golden_model;
using precast::testing::read_text;
using precast::testing::refusal;
using precast::testing::write_text;

namespace {

void load(const std::filesystem::path& folder) {
  if (folder.filename() == "tokenizer")
    text::ClipTokenizer::load(folder);
  else
    text::T5Tokenizer::load(folder);
}

/// A folder of which one file is replaced must be refused with these words, in the name of that file or of
/// `blamed`.
void check_refusal(const std::string& source, const std::string& file, const std::string& content,
                   const std::string& words, const std::string& blamed = "") {
  const DamagedFolder folder(golden_model(source));
  write_text(folder.path() / file, content);
  const std::filesystem::path named = folder.path() / (blamed.empty() ? file : blamed);
  const std::string message = refusal(named, [&] { load((folder.path() / file).parent_path()); });
  INFO(message);
  CHECK(message.find(words) != std::string::npos);
}

void check_edit(const std::string& source, const std::string& file,
                const std::function<void(nlohmann::json&)>& change, const std::string& words) {
  nlohmann::json value = nlohmann::json::parse(read_text(golden_model(source) / file));
  change(value);
  check_refusal(source, file, value.dump(), words);
}

using Json = nlohmann::json;

}  // namespace

TEST_CASE("broken tokenizers: missing files") {
  const DamagedFolder folder(golden_model("dev_f32"));
  const std::filesystem::path clip = folder.path() / "tokenizer", t5 = folder.path() / "tokenizer_2";
  folder.remove("tokenizer/merges.txt");
  CHECK(refusal(clip, [&] { load(clip); }).find("neither tokenizer.json nor merges.txt") !=
        std::string::npos);
  folder.remove("tokenizer_2/spiece.model");
  CHECK(refusal(t5, [&] { load(t5); }).find("neither tokenizer.json nor spiece.model") != std::string::npos);
  folder.remove("tokenizer");
  CHECK(refusal(clip, [&] { load(clip); }).find("neither tokenizer.json nor vocab.json") !=
        std::string::npos);
}

TEST_CASE("broken tokenizers: CLIP's vocabulary and merges") {
  const std::string vocab = "tokenizer/vocab.json", merges = "tokenizer/merges.txt",
                    json = "tokenizer/tokenizer.json";
  check_refusal("dev_f32", vocab, "{\"a\":0,", "not valid JSON");
  check_refusal("dev_f32", vocab, "[1,2]", "must hold a JSON object");
  check_refusal("dev_f32", vocab, "{}", "has an empty vocabulary");
  check_refusal("dev_f32", vocab, R"({"a":-1})", "key 'a': must be an integer from 0 to");
  check_refusal("dev_f32", vocab, R"({"a":"0"})", "key 'a': must be an integer from 0 to");
  check_refusal("dev_f32", vocab, R"({"a":4294967296})", "key 'a': must be an integer from 0 to");
  check_refusal("dev_f32", vocab, R"({"a":0,"b":0})", "key 'b': has id 0, as another piece has");
  check_refusal("dev_f32", vocab, R"({"a":0,"a":1})", "key 'a' appears twice");
  check_refusal("dev_f32", vocab, R"({"a":0})", "is not in the vocabulary", merges);
  check_refusal("dev_f32", merges, "#version: 0.2\nt h e\n", "merge 2: 't h e' must be two pieces");
  check_refusal("dev_f32", merges, "th\n", "merge 1: 'th' must be two pieces");
  check_refusal("dev_f32", merges, "t \xe5\x86\x86\n", "is not in the vocabulary");
  check_edit(
      "dev_f16", json, [](Json& j) { j["model"]["type"] = "WordPiece"; }, "must be BPE for a CLIP tokenizer");
  check_edit(
      "dev_f16", json, [](Json& j) { j.erase("model"); }, "key 'model': is missing");
  check_edit(
      "dev_f16", json, [](Json& j) { j["model"].erase("merges"); }, "merges': is missing");
  check_edit(
      "dev_f16", json, [](Json& j) { j["model"]["merges"] = 3; }, "must be a list");
  check_edit(
      "dev_f16", json, [](Json& j) { j["model"]["merges"][0] = {"t"}; }, "must be a pair of strings");
  check_edit(
      "dev_f16", json,
      [](Json& j) {
        j["model"]["merges"][0] = {"t", "zzz"};
      },
      "'zzz' is not in the vocabulary");
  check_edit(
      "dev_f16", json, [](Json& j) { j["model"]["vocab"] = Json::array(); }, "vocab': must be an object");
  check_edit(
      "dev_f16", json, [](Json& j) { j["added_tokens"] = "x"; }, "added_tokens': must be a list");
  check_edit(
      "dev_f16", json, [](Json& j) { j["added_tokens"][0]["id"] = -5; },
      "key 'added_tokens[0].id': must be an integer");
  check_edit(
      "dev_f16", json, [](Json& j) { j["added_tokens"][0].erase("content"); },
      "key 'added_tokens[0].content': is missing");
}

TEST_CASE("broken tokenizers: T5's vocabulary") {
  const std::string spiece = "tokenizer_2/spiece.model", json = "tokenizer_2/tokenizer.json";
  const std::string good = read_text(golden_model("dev_f32") / spiece);
  check_refusal("dev_f32", spiece, "", "sentencepiece model");
  check_refusal("dev_f32", spiece, good.substr(0, good.size() / 2), "sentencepiece model");
  check_refusal("dev_f32", spiece, good.substr(0, good.size() - 1), "sentencepiece model");
  check_refusal("dev_f32", spiece, "version https://git-lfs.github.com/spec/v1\n", "git-LFS pointer");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["model"]["type"] = "BPE"; }, "must be Unigram for a T5 tokenizer");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["model"].erase("vocab"); }, "vocab': is missing");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["model"]["vocab"] = Json::object(); },
      "key 'model.vocab': must be a list");
  check_edit(
      "dev_fp8", json,
      [](Json& j) { j["model"]["vocab"].erase(j["model"]["vocab"].begin() + 2, j["model"]["vocab"].end()); },
      "holds 2 pieces");
  check_edit(
      "dev_fp8", json,
      [](Json& j) {
        j["model"]["vocab"][3] = {"a", "b"};
      },
      "key 'model.vocab[3]': must be a piece");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["model"]["vocab"][3] = 1; }, "key 'model.vocab[3]': must be a piece");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["model"]["vocab"][4] = j["model"]["vocab"][3]; }, "appears twice");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["normalizer"]["precompiled_charsmap"] = "%%%%"; }, "is not base64");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["normalizer"]["precompiled_charsmap"] = "////"; }, "table is broken");
  check_edit(
      "dev_fp8", json, [](Json& j) { j["normalizer"]["precompiled_charsmap"] = 1; }, "must be a string");
  check_edit(
      "dev_fp8", json,
      [](Json& j) {
        j["normalizer"] = {{"normalizers", 3}};
      },
      "must be a list");
}

TEST_CASE("broken tokenizers: the small files") {
  const std::string config = "tokenizer_2/tokenizer_config.json", map = "tokenizer_2/special_tokens_map.json";
  check_edit(
      "dev_f32", config, [](Json& j) { j["extra_ids"] = "100"; }, "key 'extra_ids': must be an integer");
  check_edit(
      "dev_f32", config, [](Json& j) { j["extra_ids"] = 1'000'000'000; },
      "key 'extra_ids': must be an integer");
  check_edit(
      "dev_f32", config, [](Json& j) { j["model_max_length"] = "512"; },
      "key 'model_max_length': must be a number");
  check_edit(
      "dev_f32", config, [](Json& j) { j["model_max_length"] = 0; },
      "key 'model_max_length': must be a number");
  check_edit(
      "dev_f32", config, [](Json& j) { j["pad_token"] = 0; }, "key 'pad_token': must be a token");
  check_edit(
      "dev_f32", config,
      [](Json& j) {
        j["added_tokens_decoder"] = {{"x", "<pad>"}};
      },
      "'x' is not a token id");
  check_edit(
      "dev_f32", config,
      [](Json& j) {
        j["added_tokens_decoder"] = {{"-1", "<pad>"}};
      },
      "'-1' is not a token id");
  check_edit(
      "dev_f32", config, [](Json& j) { j["split_special_tokens"] = true; },
      "key 'split_special_tokens': is true");
  for (const char* side : {"padding_side", "truncation_side"})
    for (const char* folder : {"tokenizer", "tokenizer_2"})
      check_edit(
          "dev_f32", std::string(folder) + "/tokenizer_config.json", [&](Json& j) { j[side] = "left"; },
          std::string("key '") + side + "': is 'left'");
  for (const char* key : {"padding_side", "truncation_side", "split_special_tokens", "added_tokens_decoder"})
    for (const char* folder : {"tokenizer", "tokenizer_2"})
      check_edit(
          "dev_f32", std::string(folder) + "/tokenizer_config.json", [&](Json& j) { j[key] = nullptr; },
          std::string("key '") + key + "': is null");
  for (const char* role : {"bos_token", "eos_token", "pad_token"})
    check_edit(
        "dev_f32", "tokenizer/tokenizer_config.json", [&](Json& j) { j[role] = nullptr; },
        std::string("key '") + role + "': is null");
  for (const auto& [folder, file, role] : {std::tuple("tokenizer", "tokenizer_config.json", "bos_token"),
                                           {"tokenizer", "tokenizer_config.json", "unk_token"},
                                           {"tokenizer_2", "special_tokens_map.json", "eos_token"},
                                           {"tokenizer_2", "special_tokens_map.json", "pad_token"}}) {
    const std::string path = std::string(folder) + "/" + file;
    Json settings = Json::parse(read_text(golden_model("dev_f32") / path));
    settings[role] = "";
    check_refusal("dev_f32", path, settings.dump(),
                  std::string(role) + " is empty: get the tokenizer's files again", folder);
  }
  for (const char* part : {"padding", "truncation"})  // counts where the config has no side
    check_edit(
        "dev_f16", "tokenizer/tokenizer.json",
        [&](Json& j) {
          j[part] = {{"direction", "Left"}};
        },
        "is 'Left'");
  check_edit(
      "dev_f32", map,
      [](Json& j) {
        j["eos_token"] = {{"lstrip", false}};
      },
      "key 'eos_token.content': is missing");
  check_edit(
      "dev_f32", map,
      [](Json& j) {
        j["eos_token"] = {{"content", "</s>"}, {"lstrip", 1}};
      },
      "must be true or false");
  check_refusal("dev_f32", map, "{", "not valid JSON");
}

TEST_CASE("broken tokenizers: damaged files are read or refused, and never crash") {
  struct Target {
    std::string source, file;
    int times;
  };
  const std::vector<Target> targets = {{"dev_f32", "tokenizer/merges.txt", 150},
                                       {"dev_f32", "tokenizer/vocab.json", 150},
                                       {"dev_f32", "tokenizer/tokenizer_config.json", 300},
                                       {"dev_f16", "tokenizer/tokenizer.json", 150},
                                       {"dev_f32", "tokenizer_2/spiece.model", 600},
                                       {"schnell_bf16", "tokenizer_2/spiece.model", 60},
                                       {"dev_fp8", "tokenizer_2/tokenizer.json", 200},
                                       {"dev_f32", "tokenizer_2/special_tokens_map.json", 200}};
  const std::string prompt = "a large RED circle \uff21\u3042 e\u0301 <extra_id_0></s><|endoftext|> \xff 12";
  std::mt19937 random(7);
  for (const Target& target : targets) {
    INFO(target.source << "/" << target.file);
    const DamagedFolder folder(golden_model(target.source));
    const std::string good = read_text(folder.path() / target.file);
    const std::filesystem::path place = (folder.path() / target.file).parent_path();
    int read = 0, refused = 0;
    for (int i = 0; i < target.times; ++i) {
      write_text(folder.path() / target.file, precast::testing::damaged(good, random));
      try {
        const std::size_t ids = place.filename() == "tokenizer"
                                    ? text::ClipTokenizer::load(place).encode(prompt, 77).size()
                                    : text::T5Tokenizer::load(place).encode(prompt, 77).size();
        CHECK(ids <= 77);
        ++read;
      } catch (const InputError& error) {
        ++refused;
        if (!precast::testing::is_one_line(error.what())) FAIL_CHECK(error.what());
      }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
  }
}

TEST_CASE("broken tokenizers: T5's in a GGUF file") {
  const precast::testing::TemporaryFolder folder;
  const auto file = folder.path() / "t5.gguf";
  const std::vector<std::string> texts{"<pad>", "</s>", "<unk>", "\u2581a"};
  const std::vector<f32> scores{0, 0, 0, -1};
  const std::vector<std::int32_t> types{3, 3, 2, 1};
  using Set = std::function<void(io::GgufWriter&)>;
  // Each value stands in for the key's own, or leaves it out.
  const auto written = [&](const std::map<std::string, Set>& instead) {
    io::GgufWriter writer(file);
    const std::map<std::string, Set> usual{
        {"model", [](auto& to) { to.set("tokenizer.ggml.model", "t5"); }},
        {"tokens", [&](auto& to) { to.set("tokenizer.ggml.tokens", std::span(texts)); }},
        {"scores", [&](auto& to) { to.set("tokenizer.ggml.scores", std::span(scores)); }},
        {"token_type", [&](auto& to) { to.set("tokenizer.ggml.token_type", std::span(types)); }}};
    for (const auto& [key, set] : usual)
      if (!instead.contains(key)) set(writer);
    for (const auto& [key, set] : instead)
      if (set) set(writer);
    writer.commit();
    return text::is_gguf_with_tokenizer(file);
  };
  REQUIRE(written({}));
  CHECK(text::T5Tokenizer::load(file).encode("a", 8) == std::vector<std::int32_t>{3, 1});
  CHECK_FALSE(written({{"model", nullptr}}));
  CHECK(refusal(file, [&] { load(file); }).find("neither tokenizer.json nor") != std::string::npos);

  const auto refused = [&](const std::string& key, const Set& set, const std::string& words) {
    REQUIRE(written({{key, set}}));
    const std::string message = refusal(file, [&] { load(file); });
    INFO(message);
    CHECK(message.find(words) != std::string::npos);
  };
  const auto value = [&](const std::string& key, auto given) -> Set {
    return [=](io::GgufWriter& to) { to.set("tokenizer.ggml." + key, given); };
  };
  const auto array = [&](const std::string& key, auto given) -> Set {
    return [=](io::GgufWriter& to) { to.set("tokenizer.ggml." + key, std::span(std::as_const(given))); };
  };
  refused("model", value("model", "llama"), "is llama, where T5's tokenizer has t5");
  refused("tokens", nullptr, "key 'tokenizer.ggml.tokens' is missing");
  refused("tokens", value("tokens", "t5"), "must be an array of strings");
  refused("tokens", array("tokens", std::vector<std::string>(3, "a")), "has 4 elements for 3 pieces");
  refused("scores", nullptr, "key 'tokenizer.ggml.scores' is missing");
  refused("scores", array("scores", std::vector<f32>(5)), "has 5 elements for 4 pieces");
  refused("scores", array("scores", std::vector<f32>(4, std::numeric_limits<f32>::quiet_NaN())),
          "has no score");
  refused("token_type", nullptr, "key 'tokenizer.ggml.token_type' is missing");
  refused("token_type", array("token_type", std::vector<f32>(4)), "must be a whole number");
  refused("token_type", array("token_type", std::vector<std::int32_t>(4, 5)), "holds 0 pieces");
  refused("space", value("add_space_prefix", false), "is false, where T5's tokenizer has true");
  refused("spaces", value("remove_extra_whitespaces", false), "is false, where T5's tokenizer has true");
  refused("bos", value("add_bos_token", true), "is true, where T5's tokenizer has false");
  refused("eos", value("add_eos_token", false), "is false, where T5's tokenizer has true");
  refused("unknown", value("unknown_token_id", std::uint32_t{0}), "is 0, where T5's tokenizer has 2");
  refused("end", value("eos_token_id", std::uint32_t{4}), "is 4, which is not the id of a piece");
  refused("padding", value("padding_token_id", std::int32_t{-1}), "is -1, which is not the id of a piece");
  refused("charsmap", array("precompiled_charsmap", std::vector<std::uint8_t>{9, 0, 0}), "normalis");
}
