// Every key that a command prints as JSON stands in the page of docs that tells of the command.
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;

namespace {

/// Keys whose members are named by the user's data: layers, formats, components, presets, reasons.
const std::set<std::string> named_by_data{"types",        "dtypes", "formats",    "blocks",     "config",
                                          "memory",       "kept",   "components", "texts",      "policies",
                                          "below_normal", "ops",    "gradients",  "op_classes", "metadata"};

/// The keys of an object and of all in it, but for those that data name.
void add_keys(const nlohmann::json& value, bool names, std::set<std::string>& keys) {
  if (value.is_array())
    for (const nlohmann::json& one : value) add_keys(one, true, keys);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    if (names) keys.insert(key);
    // A config's keys are its model's, and columns of a table those of its experiment.
    if (key != "config" && key != "table") add_keys(member, !names || !named_by_data.contains(key), keys);
  }
}

}  // namespace

TEST_CASE("every key of --json is told in the docs of its command", "[casting][watch]") {
  const Scratch scratch;
  const auto at = [&](const std::string& name) { return (scratch.path() / name).string(); };
  struct Case {
    std::string page;
    std::vector<std::string> words;
  };
  const std::vector<std::string> small{"--prompt", "a", "--steps", "1"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), small.begin(), small.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const auto& [page, words] : std::vector<Case>{
           {"convert", {"convert", "shapes", at("q4.gguf"), "--type", "q4_k"}},
           {"files", {"inspect", "shapes"}},
           {"files", {"inspect", at("q4.gguf")}},
           {"casting", with({"record"}, {"--output", at("s.safetensors"), "--importance", at("i.gguf")})},
           {"plan",
            {"cost", "--samples", at("s.safetensors"), "--types", "q8_0,q4_0", "--importance", at("i.gguf"),
             "--output", at("c.json")}},
           {"plan",
            {"plan", "--cost", at("c.json"), "--bits", "6", "--verify", "--samples", at("s.safetensors")}},
           {"generate", with({"generate"}, {"--output", at("a.png")})},
           {"generate", {"info", at("a.png")}},
           {"generate", with({"compare"}, {"--policies", "f32,bf16", "--output", at("b.png")})},
           {"doctor", with({"doctor"}, {"--policies", "f32"})},
           {"autocast", {"autocast"}},
           {"experiments", {"experiment", "accumulation"}},
           {"getting_started", {"policy", "--preset", "memory"}},
           {"getting_started", {"formats"}},
           {"getting_started", {"formats", "0.1"}},
           {"train", program::train(scratch.path() / "out", {"--steps", "2"})},
           {"train", program::train_tiny({"--compare", "f32,bf16", "--steps", "2"})},
           {"cluster", program::train_tiny(
                           {"--predict-ranks", "1,2", "--link-latency", "5", "--link-bandwidth", "1GB"})}}) {
    std::vector<std::string> line = words;
    line.emplace_back("--json");
    const auto outcome = run(line);
    INFO(words.front() << ": " << outcome.err);
    REQUIRE(outcome.code == 0);
    std::set<std::string> keys;
    nlohmann::json json = outcome.json();
    if (words.front() == "info") json["settings"] = {};  // other programs' names
    add_keys(json, true, keys);
    if (words.front() == "formats" && words.size() > 1)
      for (const auto& [format, facts] : json["numbers"][0].items())
        if (facts.is_object()) keys.erase(format);
    CHECK(keys.size() >= 5);
    const std::string text = program::content(std::string(PRECAST_SOURCE_DIR) + "/docs/" + page + ".md");
    for (const std::string& key : keys) {
      INFO(key << " in docs/" << page << ".md");
      CHECK((text.find('`' + key + '`') != std::string::npos ||
             text.find('"' + key + '"') != std::string::npos));
    }
  }
}
