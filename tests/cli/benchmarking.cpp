// precast bench as a user runs it: its files, its shards, what does not fit, and Ctrl-C.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::Words;
namespace fs = std::filesystem;

namespace {

/// Cases of a moment each.
Words bench(const Words& more) {
  return program::with(
      {"bench", "lm", "--device", "cpu", "--sizes", "tiny", "--contexts", "16,24", "--warmup", "1", "--steps",
       "2", "--batch", "2", "--policies", "f32", "--threads", "2", "--quiet"},
      more);
}

nlohmann::json rows_of(const fs::path& file) { return nlohmann::json::parse(program::content(file))["rows"]; }

}  // namespace

TEST_CASE("bench lm writes a table in the shape of the source, as JSON, CSV and a page", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json", csv = scratch.path() / "lm.csv",
                 page = scratch.path() / "lm.html";
  const auto result = run(bench({"--variant", "llama,gpt2", "--json", json.string(), "--csv", csv.string(),
                                 "--output", page.string()}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(
      result.out.starts_with("| case | model | context_length | fwd avg (sec) | fwd std (sec) | back avg "));
  const auto rows = rows_of(json);
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) {
    CHECK(row["status"] == "ok");
    CHECK(row["device"] == "cpu");
    const double forward = row["fwd avg (sec)"], back = row["back avg (sec)"],
                 both = row["fwd & back avg (sec)"], optimizer = row["optimizer avg (sec)"];
    CHECK(forward > 0);
    CHECK(both == Approx(forward + back));
    CHECK(optimizer > 0);
    const double measured = row["memory (MiB)"], needed = row["needed (MiB)"];
    INFO("measured " << measured << " MiB, needed " << needed);
    CHECK(std::abs(measured - needed) < 0.1 * measured);
  }
  CHECK(rows[0]["variant"] == "llama");
  CHECK(rows[2]["variant"] == "gpt2");
  const std::string table = program::content(csv), html = program::content(page);
  CHECK(std::count(table.begin(), table.end(), '\n') == 5);
  CHECK_THAT(html, Catch::Contains("<svg") && Catch::Contains("Backward pass") && Catch::Contains("tiny"));
  CHECK_THAT(html, Catch::Contains("@page { size: landscape; }"));  // upright its columns do not fit
}

TEST_CASE("bench lm: what a case holds is the same whichever was measured before", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json";
  REQUIRE(run({"bench",      "lm",       "--device",  "cpu",     "--sizes", "tiny",    "--contexts",
               "16",         "--warmup", "1,2",       "--steps", "2",       "--batch", "2",
               "--policies", "f32",      "--threads", "2",       "--quiet", "--json",  json.string()})
              .code == 0);
  const auto rows = rows_of(json);
  REQUIRE(rows.size() == 2);
  for (const auto& row : rows)
    CHECK(row["memory (MiB)"].get<double>() == Approx(row["needed (MiB)"].get<double>()).epsilon(0.01));
}

TEST_CASE("bench lm: a case of few runs needs no more than it comes to hold", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json";
  for (const char* parts : {"forward,forward-backward,optimizer", "optimizer", "forward"}) {
    const auto measured =
        run({"bench",   "lm",       "--device",  "cpu",     "--sizes", "tiny",       "--contexts",
             "32",      "--warmup", "0",         "--steps", "1",       "--policies", "f32",
             "--parts", parts,      "--threads", "1",       "--quiet", "--json",     json.string()});
    INFO(parts << ": " << measured.err);
    REQUIRE(measured.code == 0);
    const auto row = rows_of(json).at(0);
    CHECK(row["memory (MiB)"].get<double>() == Approx(row["needed (MiB)"].get<double>()).epsilon(0.01));
  }
}

TEST_CASE("bench lm: values that a plot of powers of ten has no place for are counted beside it", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json", page = scratch.path() / "lm.html";
  REQUIRE(run(bench({"--json", json.string()})).code == 0);
  auto results = nlohmann::json::parse(program::content(json));
  const auto page_of = [&] {
    std::ofstream(json) << results.dump();
    REQUIRE(run({"bench", "lm", "--merge", json.string(), "--output", page.string(), "--quiet"}).code == 0);
    return program::content(page);
  };
  CHECK_THAT(page_of(), !Catch::Contains("Not in the plot"));
  results["rows"][0]["back avg (sec)"] = -0.001;
  CHECK_THAT(page_of(), Catch::Contains("Not in the plot, whose scale is of powers of ten: 1 value of 0 or "
                                        "below, which the table has."));
}

TEST_CASE("bench lm measures what is asked for alone", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json";
  REQUIRE(run(bench({"--parts", "forward", "--json", json.string()})).code == 0);
  for (const auto& row : rows_of(json)) {
    CHECK(row["fwd avg (sec)"].is_number());
    for (const char* column : {"back avg (sec)", "fwd & back avg (sec)", "optimizer avg (sec)"})
      CHECK(row[column] == "");
  }
}

TEST_CASE("bench lm: shards have every case once, and merge to one table", "[bench]") {
  const Scratch scratch;
  const std::string first = (scratch.path() / "1.json").string(),
                    second = (scratch.path() / "2.json").string(),
                    all = (scratch.path() / "all.json").string();
  const Words grid{"--variant", "llama,gpt2"};
  for (const auto& [shard, file] : {std::pair("1/2", first), {"2/2", second}}) {
    Words words = bench(grid);
    words.insert(words.end(), {"--shard", shard, "--json", file});
    REQUIRE(run(words).code == 0);
    CHECK(rows_of(file).size() == 2);
  }
  const auto merged = run({"bench", "lm", "--merge", second, first, "--json", all, "--quiet"});
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  const auto rows = rows_of(all);
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i]["case"] == i);
  CHECK(rows[0] == rows_of(first)[0]);
  CHECK(merged.err.empty());
  const auto part = run({"bench", "lm", "--merge", second, "--quiet"});
  INFO(part.err);
  CHECK(part.code == 0);
  CHECK_THAT(part.err, Catch::StartsWith("precast: warning: --merge: no file has the cases 0, 2 of 4"));
  const auto twice = run({"bench", "lm", "--merge", first, first});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("twice: give each file once"));
  const std::string copy = scratch.file("copy.json", program::content(first));
  const auto copied = run({"bench", "lm", "--merge", first, copy});
  CHECK(copied.code == 1);
  CHECK_THAT(copied.err, Catch::Contains("both have case 0"));
  const auto table = run({"bench", "lm", "--merge", scratch.file("table.csv", "case,seconds\n0,1\n")});
  CHECK(table.code == 1);
  CHECK_THAT(table.err, Catch::Contains("table.csv: is not JSON: give what precast bench wrote with --json"));
  const auto measuring = run({"bench", "lm", "--merge", first, second, "--shard", "1/2"});
  CHECK(measuring.code == 2);
  CHECK_THAT(measuring.err, Catch::Contains("--shard is for measuring"));
  for (const char* option : {"--csv", "--output"}) {
    const auto over = run({"bench", "lm", "--merge", first, second, option, first});
    CHECK(over.code == 2);
    CHECK_THAT(over.err, Catch::Contains("is read by this command"));
    CHECK(program::content(first) == program::content(copy));
  }
  const auto none = run(bench({"--shard", "3/3"}));
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("--shard 3/3 has none of the cases"));
}

TEST_CASE("bench lm refuses a size that does not fit, with the bytes that it needs", "[bench]") {
  const auto result = run({"bench", "lm", "--sizes", "2.7B", "--contexts", "8192", "--batch", "256",
                           "--policies", "f32", "--steps", "1"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err,
             Catch::Contains("needs ") && Catch::Contains("iB are free") &&
                 Catch::Contains("try smaller --sizes, --contexts or --batch, or --parts forward"));
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json";
  const auto some =
      run({"bench", "lm", "--sizes", "tiny", "--contexts", "16,1048576", "--batch", "64", "--policies", "f32",
           "--steps", "1", "--warmup", "0", "--parts", "forward", "--quiet", "--json", json.string()});
  INFO(some.err);
  REQUIRE(some.code == 0);
  CHECK(rows_of(json)[0]["status"] == "ok");
  CHECK_THAT(rows_of(json)[1]["status"].get<std::string>(), Catch::StartsWith("needs "));
  const fs::path csv = scratch.path() / "lm.csv";
  const auto none = run({"bench", "lm", "--sizes", "XL,2.7B", "--contexts", "8192", "--batch", "256",
                         "--policies", "f32", "--steps", "1", "--csv", csv.string()});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Catch::Contains("error: no case fits: try smaller --sizes"));
  for (const std::string& table : {none.out, program::content(csv)})
    CHECK_THAT(table, Catch::Contains("XL") && Catch::Contains("2.7B") && Catch::Contains("iB are free"));
}

#if !PRECAST_HAS_ADDRESS_SANITIZER  // whose own memory is beyond any limit
TEST_CASE("bench lm: a case for which memory runs out is a row, and the others are kept", "[bench]") {
  const Scratch scratch;
  const fs::path csv = scratch.path() / "lm.csv";
  // A limit that is not seen before it is reached.
  const auto some = run({"bench",     "lm", "--device", "cpu",   "--sizes",   "tiny,S", "--contexts", "8",
                         "--warmup",  "0",  "--steps",  "1",     "--batch",   "1",      "--policies", "f32",
                         "--threads", "1",  "--quiet",  "--csv", csv.string()},
                        "ulimit -d 600000;");
  INFO(some.out << some.err);
  REQUIRE(some.code == 0);
  CHECK_THAT(program::content(csv), Catch::Contains("\n0,tiny,8,") && Catch::Contains(",ok,f32,") &&
                                        Catch::Contains("\n1,S,8,") && Catch::Contains(",could not get "));
}
#endif

TEST_CASE("bench lm: a wrong word is one line that says what it takes", "[bench]") {
  for (const auto& [words, said] :
       {std::pair(Words{"--sizes", "XXL"}, "--sizes"),
        {Words{"--contexts", "0"}, "--contexts"},
        {Words{"--parts", "sideways"}, "--parts"},
        {Words{"--policies", "f33"}, "f33"},
        {Words{"--variant", "opt"}, "--variant"},
        {Words{"--warmup", "-1"}, "--warmup"},
        {Words{"--policies", "balanced,f32+flash"}, "which is listed already"},
        {Words{"--policies", "f32", "--policies", "f32"}, "f32 is f32, which is listed"},
        {Words{"--device", "tpu"}, "'tpu'"}}) {
    Words all{"bench", "lm"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = run(all);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Catch::Contains(said));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("bench lm that is ended leaves what was measured", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json", csv = scratch.path() / "lm.csv";
  const auto result = program::run_until(
      program::exists(json), "INT",
      {"bench", "lm", "--sizes", "tiny", "--contexts", "8,1048576,256", "--batch", "64", "--steps", "100",
       "--parts", "forward", "--policies", "f32", "--json", json.string(), "--csv", csv.string(), "--quiet"});
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK_THAT(result.err, Catch::Contains("interrupted: 1 of 2 cases were measured"));  // one does not fit
  CHECK(rows_of(json).size() == 2);
  CHECK(result.out.starts_with("| case | model |"));
  CHECK(fs::exists(csv));
}

TEST_CASE("bench lm: a disk that is full takes no measurement away", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "lm.json";
  const auto full = run(bench({"--json", json.string()}), "ulimit -f 2;");
  INFO(full.out << full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains("lm.json: could not be written"));
  CHECK(std::count(full.out.begin(), full.out.end(), '\n') == 4);
  CHECK_FALSE(fs::exists(json));
}

TEST_CASE("bench attention measures both passes, plain and flash, and what lies between them", "[bench]") {
  const Scratch scratch;
  const fs::path json = scratch.path() / "attention.json", page = scratch.path() / "attention.html";
  const auto result = run({"bench", "attention", "--device", "cpu", "--head-widths", "16,40", "--contexts",
                           "32,160", "--batch", "2", "--steps", "2", "--policies", "f32,bf16,f16", "--json",
                           json.string(), "--output", page.string(), "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto rows = rows_of(json);
  REQUIRE(rows.size() == 24);
  for (const auto& row : rows) {
    CHECK(row["status"] == "ok");
    CHECK(row["fwd avg (sec)"].get<double>() > 0);
    CHECK(row["back avg (sec)"].get<double>() > 0);
    // Queries, keys, values, the result and its gradient, and a logarithm for each row.
    const double rows_held = 2 * row["context_length"].get<double>();
    const double value_bytes = row["policy"] == "f32" ? 4 : 2;
    const double held = rows_held * (5 * row["head_width"].get<double>() * value_bytes + 4);
    CHECK(row["memory before back (MiB)"].get<double>() * 1048576 == Approx(held).epsilon(0.05));
  }
  // The axis names the contexts that were measured.
  CHECK_THAT(program::content(page), Catch::Contains("Memory held before the backward pass") &&
                                         Catch::Contains(">32</text>") && Catch::Contains(">160</text>") &&
                                         Catch::Contains("<td class=\"number\">160</td>"));

  const auto large = run({"bench", "attention", "--head-widths", "128", "--contexts", "1048576", "--batch",
                          "4096", "--policies", "f32", "--attention", "flash"});
  CHECK(large.code == 1);
  CHECK_THAT(large.err, Catch::Contains("needs ") && Catch::Contains("are free"));
  const auto wrong = run({"bench", "attention", "--sizes", "S"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--sizes applies to bench lm"));
}
