// compare in parts: what each leaves in its file, and that they are the whole.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace fs = std::filesystem;
using program::content;
using program::refused;
using program::run;
using program::Scratch;
using program::small_flux;
using program::Words;

namespace {

Words compare(const std::string& output, const Words& more) {
  return program::with(
      {"compare", "--model", small_flux, "--prompt", "a star", "--width", "16", "--height", "16", "--steps",
       "1", "--max-sequence-length", "8", "--policies", "quality,fast,memory", "--output", output},
      more);
}

/// The text of settings in a picture.
std::string settings_in(const fs::path& picture) {
  for (const auto& text : precast::image::read_image(picture).texts)
    if (text.key == "parameters") return text.value;
  return "";
}

}  // namespace

TEST_CASE("compare: parts, merged, are the whole", "[compare]") {
  const Scratch scratch;
  const auto in = [&](const char* name) { return (scratch.path() / name).string(); };
  const auto whole = run(compare(in("whole.png"), {"--json", "--quiet"}));
  INFO(whole.err);
  REQUIRE(whole.code == 0);
  // The second part has two policies, none of them the reference.
  for (const auto& [shard, file] : {std::pair("1/3", "1.json"), {"2/3", "2.json"}, {"3/3", "3.json"}}) {
    const auto part = run(compare(in(file), {"--shard", shard, "--layers"}));
    INFO(part.err);
    REQUIRE(part.code == 0);
    CHECK(part.out.empty());
    const nlohmann::json json = nlohmann::json::parse(content(in(file)));
    CHECK(json["policies"] == nlohmann::json{"quality", "fast", "memory"});
    REQUIRE(json["rows"].size() == 1);
    CHECK(json["rows"][0]["policy"] == json["policies"][static_cast<std::size_t>(shard[0] - '1')]);
    CHECK(json["rows"][0]["layers"].size() > 10);
  }
  const auto merged = run({"compare", "--merge", in("3.json"), in("1.json"), in("2.json"), "--output",
                           in("merged.png"), "--report", in("page.html"), "--json"});
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  const nlohmann::json one = whole.json(), parts = merged.json();
  for (const char* key : {"prompt", "seed", "model", "reference"}) CHECK(parts[key] == one[key]);
  REQUIRE(parts["policies"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (const char* key : {"name", "policy", "psnr", "mse", "non_finite", "advice"})
      CHECK(parts["policies"][i][key] == one["policies"][i][key]);
  CHECK(settings_in(in("merged.png")) == settings_in(in("whole.png")));
  CHECK_THAT(settings_in(in("merged.png")), Catch::Contains("Policies: quality | fast | memory"));
  const auto sheet = precast::image::read_image(in("whole.png")).image,
             of_parts = precast::image::read_image(in("merged.png")).image;
  CHECK(sheet.width == of_parts.width);
  CHECK(sheet.height == of_parts.height);
  CHECK_THAT(content(in("page.html")), Catch::Contains("transformer_blocks.0"));
  // The kind of picture has a quality, which the parts did not know of.
  const auto jpeg = run({"compare", "--merge", in("1.json"), in("2.json"), in("3.json"), "--output",
                         in("merged.jpg"), "--quality", "70"});
  INFO(jpeg.err);
  REQUIRE(jpeg.code == 0);
  CHECK_THAT(settings_in(in("merged.jpg")), Catch::Contains(", Quality: 70"));
  CHECK_THAT(jpeg.out, Catch::Contains("quality") && Catch::Contains("fast"));
}

TEST_CASE("compare: a part goes on from its file, and takes no other's", "[compare]") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "part.json").string();
  REQUIRE(run(compare(file, {"--shard", "1/2"})).code == 0);
  nlohmann::json json = nlohmann::json::parse(content(file));
  REQUIRE(json["rows"].size() == 2);
  json["rows"][0]["seconds"] = 12345;
  json["rows"].erase(1);
  scratch.file("part.json", json.dump());
  const auto resumed = run(compare(file, {"--shard", "1/2"}));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(resumed.err.find("quality") == std::string::npos);  // it was there
  json = nlohmann::json::parse(content(file));
  REQUIRE(json["rows"].size() == 2);
  CHECK(json["rows"][0]["seconds"] == 12345);
  CHECK(json["rows"][1]["policy"] == "memory");
  // A policy without the layers that are asked for is run again, and one that has them is not.
  const auto watched = run(compare(file, {"--shard", "1/2", "--layers"}));
  INFO(watched.err);
  REQUIRE(watched.code == 0);
  json = nlohmann::json::parse(content(file));
  REQUIRE(json["rows"].size() == 2);
  for (const nlohmann::json& row : json["rows"]) CHECK(row["layers"].size() > 10);
  const std::string before = content(file);
  REQUIRE(run(compare(file, {"--shard", "1/2", "--layers"})).code == 0);
  CHECK(content(file) == before);
  refused(compare(file, {"--shard", "1/2", "--seed", "1"}), 2, "a part of another comparison");
  refused(compare(file, {"--shard", "4/4"}), 2, "--shard 4/4 has none of the policies");
  refused(compare((scratch.path() / "part.png").string(), {"--shard", "1/2"}), 2, ".json");
  refused(compare(file, {"--shard", "1/2", "--report", "page.html"}), 2, "--report needs --merge");
  refused(compare(file, {"--shard", "1/2", "--merge", file}), 2, "--shard");
  refused(compare(file, {"--merge", file}), 2, "for measuring, which --merge does not do");
  refused(compare((scratch.path() / "sheet.png").string(), {"--layers"}), 2, "--layers needs --shard");
}

TEST_CASE("compare: parts that begin with different pictures are of different comparisons", "[compare]") {
  const Scratch scratch;
  const auto in = [&](const char* name) { return (scratch.path() / name).string(); };
  precast::image::Image picture{16, 16, std::vector<std::uint8_t>(std::size_t{3 * 16 * 16}, 90)};
  precast::image::write_image(in("start.png"), picture);
  const Words first{"--image", in("start.png"), "--strength", "1", "--shard", "1/2"};
  REQUIRE(run(compare(in("part.json"), first)).code == 0);
  CHECK(run(compare(in("part.json"), first)).code == 0);  // nothing is left to do
  picture.rgb.back() = 91;
  precast::image::write_image(in("start.png"), picture);
  refused(compare(in("part.json"), first), 2, "a part of another comparison");
  const Words second{"--image", in("start.png"), "--strength", "1", "--shard", "2/2"};
  REQUIRE(run(compare(in("other.json"), second)).code == 0);
  refused({"compare", "--merge", in("part.json"), in("other.json"), "--output", in("sheet.png")}, 1,
          "of different comparisons");
}

TEST_CASE("compare: a base and its refiner are compared together", "[compare]") {
  const Scratch scratch;
  const auto in = [&](const char* name) { return (scratch.path() / name).string(); };
  const std::string models = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/stable_diffusion/",
                    refiner = models + "refiner";
  const auto of = [&](const std::string& output, const Words& more) {
    return program::with({"compare", "--model", models + "sdxl", "--prompt", "a star", "--steps", "4",
                          "--policies", "quality,f16", "--output", output},
                         more);
  };
  const auto refined = run(of(in("both.png"), {"--json", "--refiner", refiner, "--refiner-start", "0.5"})),
             alone = run(of(in("base.png"), {"--json"}));
  INFO(refined.err);
  REQUIRE(refined.code == 0);
  REQUIRE(alone.code == 0);
  CHECK_THAT(settings_in(in("both.png")),
             Catch::Contains("Refiner") && Catch::Contains("Refiner switch at: 0.5"));
  CHECK(precast::image::read_image(in("both.png")).image.rgb !=
        precast::image::read_image(in("base.png")).image.rgb);
  // A part with a refiner is of another comparison than one without, and no output takes its place.
  REQUIRE(run(of(in("part.json"), {"--shard", "1/2"})).code == 0);
  refused(of(in("part.json"), {"--shard", "1/2", "--refiner", refiner}), 2, "a part of another comparison");
  refused(of(refiner + "/model_index.json", {"--refiner", refiner, "--shard", "1/2"}), 2, "model_index.json");
}

TEST_CASE("compare: parts that are no whole are refused in a line", "[compare]") {
  const Scratch scratch;
  const std::string first = (scratch.path() / "1.json").string(),
                    second = (scratch.path() / "2.json").string(),
                    sheet = (scratch.path() / "sheet.png").string();
  REQUIRE(run(compare(first, {"--shard", "1/2"})).code == 0);
  REQUIRE(run(compare(second, {"--shard", "2/2"})).code == 0);
  const auto merge = [&](const Words& files) {
    Words words{"compare", "--output", sheet, "--merge"};
    words.insert(words.end(), files.begin(), files.end());
    return words;
  };
  refused(merge({first}), 1, "no file has fast");
  refused(merge({first, first}), 2, "twice");
  const std::string copy = scratch.file("copy.json", content(first));
  refused(merge({first, copy, second}), 1, "both have quality");
  nlohmann::json json = nlohmann::json::parse(content(second));
  const auto changed = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json other = json;
    other[key] = value;
    return scratch.file("changed.json", other.dump());
  };
  refused(merge({first, changed("seed", 7)}), 1, "different comparisons");
  refused(merge({first, changed("inputs", "0123")}), 1, "different comparisons");
  refused(merge({first, changed("seed", -7)}), 1, "key 'seed'");
  refused(merge({first, changed("rows", 7)}), 1, "key 'rows'");
  refused(merge({first, changed("prompt", nlohmann::json())}), 1, "key 'prompt'");
  refused(merge({first, changed("policies", nlohmann::json{1})}), 1, "key 'policies[0]'");
  const auto changed_row = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json other = json;
    other["rows"][0][key] = value;
    return scratch.file("changed.json", other.dump());
  };
  refused(merge({first, changed_row("picture", "????")}), 1, "key 'rows[0].picture'");
  refused(merge({first, changed_row("picture", "AAAA")}), 1, "changed.json");
  refused(merge({first, changed_row("policy", "f33")}), 1, "key 'rows[0].policy'");
  refused(merge({first, changed_row("peak_bytes", -1)}), 1, "key 'rows[0].peak_bytes'");
  nlohmann::json wide = json;
  wide["width"] = 32;
  refused(merge({first, scratch.file("changed.json", wide.dump())}), 1, "key 'rows[0].picture'");
  const std::string text = content(second);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3})
    refused(merge({first, scratch.file("cut.json", text.substr(0, size))}), 1, "cut.json");
  CHECK_FALSE(fs::exists(sheet));
}
