// Tokenizers: the ids that transformers gives, for every form of the files.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <support/damaged_folder.hpp>
#include <support/golden.hpp>
#include <text/base64.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>
#include <text/tokenizer_unicode.hpp>
#include <text/tokenizer_unigram.hpp>

#include <precast/error.hpp>

using namespace precast;
using precast::testing::DamagedFolder;
using precast::testing::golden_model;
using Ids = std::vector<std::int32_t>;

namespace {

const std::filesystem::path golden = std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden";

}  // namespace

TEST_CASE("tokenizers: transformers' ids for every golden prompt and folder") {
  const nlohmann::json file =
      nlohmann::json::parse(precast::testing::read_text(golden / "expected/tokenizers.json"));
  const auto prompts = file.at("prompts").get<std::vector<std::string>>();
  REQUIRE(prompts.size() >= 200);
  for (const auto& [name, expected] : file.at("folders").items()) {
    const text::ClipTokenizer clip = text::ClipTokenizer::load(golden_model(name) / "tokenizer");
    const text::T5Tokenizer t5 = text::T5Tokenizer::load(golden_model(name) / "tokenizer_2");
    CHECK(clip.model_max_length() == expected.at("clip_length").get<std::int64_t>());
    CHECK(t5.model_max_length() == expected.at("t5_length").get<std::int64_t>());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      INFO(name << ", prompt " << i << ": " << prompts[i]);
      const Ids clip_ids = clip.encode(prompts[i], expected.at("clip_length").get<int>());
      const Ids t5_ids = t5.encode(prompts[i], expected.at("t5_length").get<int>());
      CHECK(clip_ids == expected.at("clip").at(i).get<Ids>());
      CHECK(t5_ids == expected.at("t5").at(i).get<Ids>());
    }
  }
}

TEST_CASE("tokenizers: T5's in a GGUF file gives the ids of the folder that it was made from") {
  const nlohmann::json file =
      nlohmann::json::parse(precast::testing::read_text(golden / "expected/tokenizers.json"));
  const text::T5Tokenizer gguf = text::T5Tokenizer::load(golden / "expected/one_level.tokenizer.gguf");
  const DamagedFolder folder(golden_model("one_level"));
  folder.edit("tokenizer_2/tokenizer_config.json", [](nlohmann::json& config) {
    config["extra_ids"] = 100;  // as T5's own, which the file has room for
    config["additional_special_tokens"] = nlohmann::json::array();
    for (int i = 0; i < 100; ++i)
      config["additional_special_tokens"].push_back("<extra_id_" + std::to_string(i) + ">");
  });
  folder.remove("tokenizer_2/special_tokens_map.json");
  const text::T5Tokenizer t5 = text::T5Tokenizer::load(folder.path() / "tokenizer_2");
  CHECK(gguf.model_max_length() == 512);
  CHECK(gguf.prompt_ids("", 512, 3) == t5.prompt_ids("", 512, 3));  // an end, and padding
  auto prompts = file.at("prompts").get<std::vector<std::string>>();
  prompts.insert(prompts.end(), {"<extra_id_0>a<extra_id_99> <extra_id_100>", "[PAD400]", "</s> <pad>"});
  for (const std::string& prompt : prompts) {
    INFO(prompt);
    CHECK(gguf.encode(prompt, 512) == t5.encode(prompt, 512));
  }
  CHECK(gguf.encode("<extra_id_99>", 512).front() + 99 == gguf.encode("<extra_id_0>", 512).front());
}

TEST_CASE("tokenizers: padding, lengths and text that is not UTF-8") {
  const text::ClipTokenizer clip = text::ClipTokenizer::load(golden_model("schnell_bf16") / "tokenizer");
  const text::T5Tokenizer t5 = text::T5Tokenizer::load(golden_model("schnell_bf16") / "tokenizer_2");
  CHECK(clip.prompt_ids("", 77, 3) == Ids{0, 1, 35});  // this folder pads with '!'
  CHECK(clip.encode("!!!", 77) == Ids{0, 35, 35, 35, 1});
  CHECK(t5.prompt_ids("", 64, 3) == Ids{1, 0, 0});
  CHECK(t5.encode("", 64) == Ids{1});
  CHECK(clip.encode("", 77) == Ids{0, 1});

  const std::string prompt = "a large red circle on a blue background, at the left";
  const Ids whole_clip = clip.encode(prompt, 1000);
  const Ids whole_t5 = t5.encode(prompt, 1000);
  for (int length = 2; length < 12; ++length) {
    Ids clip_start(whole_clip.begin(), whole_clip.begin() + length - 1);
    clip_start.push_back(1);
    CHECK(clip.encode(prompt, length) == clip_start);
    Ids t5_start(whole_t5.begin(), whole_t5.begin() + length - 1);
    t5_start.push_back(1);
    CHECK(t5.encode(prompt, length) == t5_start);
  }
  CHECK(t5.encode(prompt, 1) == Ids{1});
  CHECK_THROWS_AS(clip.encode(prompt, 1), InputError);
  CHECK_THROWS_AS(t5.encode(prompt, 0), InputError);

  for (const std::string broken :
       {"\xff", "a\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\xc0\x80"}) {
    std::string replaced;
    for (const char c : broken)
      replaced += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\ufffd";
    CHECK(clip.encode(broken, 77) == clip.encode(replaced, 77));
    CHECK(t5.encode(broken, 64) == t5.encode(replaced, 64));
  }
  CHECK(clip.encode(std::string("a\0b", 3), 77).size() > 3);
  CHECK(clip.encode(std::string(200'000, 'a'), 77).size() == 77);
  CHECK(t5.encode(std::string(200'000, 'a'), 64).size() == 64);
}

TEST_CASE("tokenizers: added tokens strip spaces, stand alone and follow the normaliser as their flags say") {
  const auto token = [](const char* content, bool left, bool right, bool alone, bool normalized) {
    return nlohmann::json{{"content", content},   {"lstrip", left},           {"rstrip", right},
                          {"single_word", alone}, {"normalized", normalized}, {"special", false}};
  };
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.edit("tokenizer/tokenizer_config.json", [&](nlohmann::json& config) {
    config["added_tokens_decoder"]["700"] = token("Bar", false, false, true, true);
    config["added_tokens_decoder"]["701"] = token("<Foo>", true, true, false, false);
  });
  const text::ClipTokenizer clip = text::ClipTokenizer::load(folder.path() / "tokenizer");
  const std::int32_t bar = 634,
                     foo = 635;  // the next after the vocabulary's 634, whatever the file calls them
  const auto body = [&](const std::string& prompt) {
    const Ids ids = clip.encode(prompt, 77);
    return Ids(ids.begin() + 1, ids.end() - 1);
  };
  const auto has = [&](const std::string& prompt, std::int32_t id) {
    const Ids ids = body(prompt);
    return std::ranges::find(ids, id) != ids.end();
  };
  CHECK(body("BAR") == Ids{bar});  // looked for after lower case
  CHECK(has("a bar.", bar));
  CHECK_FALSE(has("barn", bar));
  CHECK_FALSE(has("crowbar", bar));
  CHECK_FALSE(has("b\u0301ar", bar));
  CHECK(body(" \t<Foo>\u3000") == Ids{foo});
  CHECK_FALSE(has("<foo>", foo));
  CHECK(has("x<Foo>y", foo));
  // The config's list has these two normalised, so that they are found in any case.
  CHECK(body("<|ENDOFTEXT|>") == Ids{clip.encode("", 77).back()});
  // tokenizer.json has them as written only: in capitals, the text falls into pieces.
  const text::ClipTokenizer as_written = text::ClipTokenizer::load(golden_model("dev_f16") / "tokenizer");
  CHECK(as_written.encode("<|ENDOFTEXT|>", 77).size() > 3);
  CHECK(as_written.encode("<|endoftext|>", 77).size() == 3);
}

TEST_CASE("tokenizers: folders without the small files, and with an unlimited length") {
  const DamagedFolder folder(golden_model("dev_f32"));
  folder.set("tokenizer/tokenizer_config.json", "model_max_length", 1e30);
  CHECK_FALSE(text::ClipTokenizer::load(folder.path() / "tokenizer").model_max_length().has_value());
  const std::string prompt = "a large red circle, <extra_id_0> <|endoftext|>";
  const Ids clip = text::ClipTokenizer::load(folder.path() / "tokenizer").encode(prompt, 77);
  const Ids t5 = text::T5Tokenizer::load(folder.path() / "tokenizer_2").encode(prompt, 77);
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    folder.remove("tokenizer/" + std::string(name));
    folder.remove("tokenizer_2/" + std::string(name));
  }
  CHECK(text::ClipTokenizer::load(folder.path() / "tokenizer").encode(prompt, 77) == clip);
  CHECK(text::T5Tokenizer::load(folder.path() / "tokenizer_2").encode(prompt, 77) == t5);
}

TEST_CASE("unigram: the most probable pieces, the first of equals, unknowns as one") {
  const text::UnigramModel model(
      {{"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -2}, {"abc", -5}}, 2);
  const auto ids = [&](const std::string& word) {
    Ids result;
    model.append(word, result);
    return result;
  };
  CHECK(ids("") == Ids{});
  CHECK(ids("ab") == Ids{5});  // -2 both ways: the piece that was met first, from the left
  CHECK(ids("abc") == Ids{6});
  CHECK(ids("ba") == Ids{4, 3});
  CHECK(ids("a\u5186\u5186b") == Ids{3, 2, 4});
  CHECK(ids("\u5186") == Ids{2});
  CHECK(model.lookup("ab") == 5);
  CHECK_FALSE(model.lookup("abcd").has_value());
}

TEST_CASE("Unicode: lower case by character, NFC by the tables of Unicode 9, classes, graphemes") {
  CHECK(text::lower_case("\u0130I\u03a3\u1e9e") == "i\u0307i\u03c3\u00df");
  CHECK(text::composed("e\u0301 o\u0323\u0302") == "\u00e9 \u1ed9");
  CHECK(text::composed("\u212b") == "\u00c5");
  CHECK(text::composed("\u1100\u1161\u11a8") == "\uac01");
  CHECK(text::composed("z\u0301\u0323") == "\u1e93\u0301");
  CHECK(text::composed("z\u1ac6\u0334") == "z\u1ac6\u0334");  // a mark of Unicode 14 keeps its place
  CHECK(text::is_space(0x85));
  CHECK(text::is_space(0x3000));
  CHECK_FALSE(text::is_space(0x200b));
  CHECK(text::is_number(0xbd));
  CHECK(text::is_letter(0x6708));
  CHECK_FALSE(text::is_letter(0x301));
  // What Unicode 15.1, 16 and 17 brought, as the tokenizers library has it.
  CHECK(text::is_letter(0x2ebf0));
  CHECK(text::is_letter(0x13965));
  CHECK_FALSE(text::is_letter(0x143fb));
  CHECK(text::is_number(0x116da));
  CHECK(text::is_word(0x116da));
  CHECK_FALSE(text::is_number(0x116e4));
  CHECK(text::lower_case("\ua7cb\u1c89\U00010d52\U00016eb8") == "\u0264\u1c8a\U00010d72\U00016ed3");
  CHECK(text::graphemes("e\u0301\r\na").size() == 3);
  CHECK(text::graphemes("\U0001f468\u200d\U0001f469").size() == 1);
  CHECK(text::graphemes("").empty());
  // Marks of Unicode 16 and 17 belong to what they follow; between and behind them are none.
  CHECK(text::graphemes("\u03f4\u0897a\u1acf\u1addb\u1ae0\u0301\u1aeb").size() == 3);
  CHECK(text::graphemes("a\u1ade\u1adf").size() == 3);
}

TEST_CASE("Unicode: marks out of order take hardly longer than marks in order") {
  constexpr int pairs = 10'000;
  std::string mixed = "a", above, below;
  for (int i = 0; i < pairs; ++i) {
    mixed += "\u0301\u0316";
    above += "\u0301";
    below += "\u0316";
  }
  const auto clocks = [](const std::string& text, const std::string& result) {
    const std::clock_t start = std::clock();
    CHECK((text::composed(text) == result));
    return std::clock() - start;
  };
  const std::string ordered = "\u00e1" + below + above.substr(2);
  const std::clock_t in_order = clocks("a" + below + above, ordered);
  CHECK(clocks(mixed, ordered) < 20 * in_order);  // by swapping neighbours: hundreds of times as long
}

TEST_CASE("base64: standard, padded, and nothing else") {
  CHECK(text::decode_base64("") == "");
  CHECK(text::decode_base64("Zm9vYg==") == "foob");
  CHECK(text::decode_base64("Zm9vYmE=") == "fooba");
  CHECK(text::decode_base64("+/+/") == "\xfb\xff\xbf");
  CHECK_FALSE(text::decode_base64("Zm9").has_value());
  CHECK_FALSE(text::decode_base64("Zm 9").has_value());
  CHECK_FALSE(text::decode_base64("Z=9v").has_value());
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(text::decode_base64(text::encode_base64(std::as_bytes(std::span(bytes)))) == bytes);
    bytes += static_cast<char>(i * 89);
  }
  CHECK(text::encode_base64(std::as_bytes(std::span(std::string_view("foob")))) == "Zm9vYg==");
}

TEST_CASE("tokenizers: tokens of added_tokens.json follow the normaliser, unless they are special") {
  const DamagedFolder folder(golden_model("dev_f32"));
  const std::string config = "tokenizer/tokenizer_config.json";
  precast::testing::write_text(folder.path() / "tokenizer/added_tokens.json", R"({"<Mine>": 634})");
  const auto middle = [&](const std::string& prompt) {
    const Ids ids = text::ClipTokenizer::load(folder.path() / "tokenizer").encode(prompt, 77);
    return Ids(ids.begin() + 1, ids.end() - 1);
  };
  CHECK(middle("<Mine>").size() > 1);  // the config lists all added tokens
  folder.edit(config, [](nlohmann::json& json) { json["added_tokens_decoder"] = nlohmann::json::object(); });
  CHECK(middle("<Mine>").size() > 1);
  folder.edit(config, [](nlohmann::json& json) { json.erase("added_tokens_decoder"); });
  CHECK(middle("<Mine>") == Ids{634});
  CHECK(middle("<mine>") == Ids{634});
  folder.edit(config, [](nlohmann::json& json) { json["additional_special_tokens"] = {"<Mine>"}; });
  CHECK(middle("<Mine>") == Ids{634});
  CHECK(middle("<mine>").size() > 1);
}

TEST_CASE("tokenizers: special tokens that have names of a model's own are looked for in texts") {
  const DamagedFolder folder(golden_model("dev_f32"));
  const nlohmann::json vocabulary =
      nlohmann::json::parse(precast::testing::read_text(folder.path() / "tokenizer/vocab.json"));
  const auto middle = [&] {
    return text::ClipTokenizer::load(folder.path() / "tokenizer").encode("#", 77).at(1);
  };
  const auto inside = vocabulary.at("#").get<std::int32_t>(),
             at_the_end = vocabulary.at("#</w>").get<std::int32_t>();
  CHECK(middle() == at_the_end);
  const std::string config = "tokenizer/tokenizer_config.json", map = "tokenizer/special_tokens_map.json";
  const auto check_added = [&](const std::string& file, const std::string& key, const nlohmann::json& value) {
    INFO(file << ": " << key << ": " << value);
    const std::string whole = precast::testing::read_text(folder.path() / file);
    folder.edit(file, [&](nlohmann::json& json) { json[key] = value; });
    CHECK(middle() == inside);
    precast::testing::write_text(folder.path() / file, whole);
  };
  const nlohmann::json listed{{"number", "#"}}, token{{"content", "#"}, {"__type", "AddedToken"}};
  for (const char* key :
       {"extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"}) {
    check_added(config, key, listed);
    check_added(config, key, {{"number", token}});
  }
  check_added(config, "number_token", "#");
  check_added(config, "number_token", token);
  for (const nlohmann::json& no_token : {nlohmann::json(true), nlohmann::json(), nlohmann::json{{"a", 1}}}) {
    folder.edit(config, [&](nlohmann::json& json) { json["add_number_token"] = no_token; });
    CHECK(middle() == at_the_end);
  }
  folder.edit(config, [](nlohmann::json& json) { json.erase("added_tokens_decoder"); });
  check_added(map, "extra_special_tokens", listed);
  check_added(map, "number_token", "#");
}
