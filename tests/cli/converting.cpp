// precast convert from the command line: models that draw the same, memory, interruptions, and what is
// refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include <catch2/catch.hpp>
#include <cli/running/latents_file.hpp>
#include <convert/value_type.hpp>
#include <support/golden.hpp>
#include <support/imatrix_file.hpp>
#include <support/skip.hpp>
#include <sys/stat.h>

#include <precast/io/safetensors_writer.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/memory/address_sanitizer.hpp>

#include "given.hpp"
#include "program.hpp"

using program::names_in;
using program::run;
using program::sanitized;
using program::Scratch;
using program::shapes_model;
using program::small_flux;
namespace fs = std::filesystem;
using precast::testing::write_imatrix;

namespace {

const std::string transformer = shapes_model + "/transformer/diffusion_pytorch_model.safetensors";

/// A safetensors file of a header and so many bytes of zeros, which take no room on the disk.
void write_zeros_behind(const std::string& header, std::int64_t bytes, const fs::path& file) {
  const std::uint64_t length = header.size();
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << header;
  stream.close();
  fs::resize_file(file, 8 + header.size() + static_cast<std::uintmax_t>(bytes));
}

/// A file of one matrix of so many rows of 4096 zeros of so many bytes. fp8 has a scale beside it.
void write_sparse(const fs::path& file, std::int64_t rows, const std::string& dtype = "BF16",
                  std::int64_t value_bytes = 2) {
  const std::int64_t bytes = rows * 4096 * value_bytes;
  const auto offsets = [](std::int64_t from, std::int64_t to) {
    return "\"data_offsets\":[" + std::to_string(from) + "," + std::to_string(to) + "]}";
  };
  std::string header = R"({"a.weight":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(rows) +
                       ",4096]," + offsets(0, bytes);
  if (value_bytes == 1)
    header += R"(,"a.weight_scale":{"dtype":"F32","shape":[],)" + offsets(bytes, bytes + 4);
  header += "}";
  write_zeros_behind(header, bytes + (value_bytes == 1 ? 4 : 0), file);
}

}  // namespace

TEST_CASE("convert says how many matrices were in blocks before") {
  const Scratch scratch;
  const fs::path file = scratch.path() / "one.safetensors";
  write_sparse(file, 32);
  const std::string first = (scratch.path() / "q8_0.gguf").string();
  REQUIRE(run({"convert", file.string(), first, "--type", "q8_0"}).code == 0);
  const auto again = run({"convert", first, (scratch.path() / "q4_0.gguf").string(), "--type", "q4_0"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.err, Catch::Contains("warning: 1 tensor of a quantised type is quantised again"));
}

TEST_CASE("convert: a model in f32 draws the same latents, bit for bit") {
  const Scratch scratch;
  const std::string out = scratch.path() / "model";
  const auto converted = run({"convert", shapes_model, out, "--type", "f32", "--json"});
  INFO(converted.err);
  REQUIRE(converted.code == 0);
  const auto json = converted.json();
  CHECK(json["after"]["types"].size() == 1);
  CHECK(json["after"]["bytes"] == 2 * json["before"]["bytes"].get<std::int64_t>());
  CHECK(json["files"].size() == 4);
  CHECK(names_in(scratch.path()) == std::set<std::string>{"model"});
  CHECK(names_in(out) == names_in(shapes_model));
  std::vector<std::string> latents;
  for (const std::string& model : {shapes_model, out}) {
    const std::string file = scratch.path() / "latents.safetensors";
    const auto made =
        run({"generate", "--model", model, "--prompt", "a large red circle", "--steps", "2", "--precision",
             "f32", "--save-latents", file, "--output", scratch.path() / "o.png"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    latents.push_back(program::content(file));
    latents.push_back(program::content(scratch.path() / "o.png"));
  }
  CHECK(latents[0] == latents[2]);
}

TEST_CASE("convert: a model in blocks draws as its values in f32 do") {
  const Scratch scratch;
  const std::string blocks = scratch.path() / "blocks", values = scratch.path() / "values";
  const auto converted = run({"convert", shapes_model, blocks, "--type", "q8_0", "--json"});
  INFO(converted.err);
  REQUIRE(converted.code == 0);
  CHECK(fs::exists(blocks + "/transformer/diffusion_pytorch_model.gguf"));
  CHECK(fs::exists(blocks + "/text_encoder_2/model.gguf"));
  CHECK(fs::exists(blocks + "/text_encoder/model.safetensors"));
  CHECK(fs::exists(blocks + "/vae/diffusion_pytorch_model.safetensors"));
  REQUIRE(run({"convert", blocks, values, "--type", "f32"}).code == 0);
  std::vector<precast::Tensor<precast::f32>> latents;
  for (const std::string& model : {shapes_model, blocks, values}) {
    const std::string file = scratch.path() / "latents.safetensors";
    const auto made =
        run({"generate", "--model", model, "--prompt", "a large red circle", "--steps", "2", "--precision",
             "f32", "--save-latents", file, "--output", scratch.path() / "o.png"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    latents.push_back(precast::cli::read_latents(file));
  }
  // Products of few rows scale sums of codes: in f32 that is another rounding, not another value.
  CHECK(precast::testing::relative_error(latents[1].values(), latents[2].values()) <=
        precast::testing::largest_error);
  CHECK(precast::testing::relative_error(latents[0].values(), latents[1].values()) >
        100 * precast::testing::largest_error);
}

TEST_CASE("convert: the report counts types, says what it did instead, and what stayed") {
  const Scratch scratch;
  const std::string out = scratch.path() / "out.gguf";
  const auto text = run({"convert", transformer, out, "--type", "q4_k"});
  INFO(text.err << text.out);
  REQUIRE(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("type") && Catch::Contains("bits per value"));
  CHECK_THAT(text.out,
             Catch::Contains("q4_k") && Catch::Contains("iq4_nl instead of q4_k, whose blocks do not "
                                                        "divide rows of 640"));
  // The halves of this bias change places, and are no whole blocks.
  const auto halves = run({"convert", small_flux + "/transformer/diffusion_pytorch_model.safetensors", out,
                           "--rule", "norm_out.linear.bias=q8_0"});
  CHECK(halves.code == 0);
  CHECK_THAT(halves.out, Catch::Contains("f32 instead of q8_0, whose blocks do not divide rows of"));
  // mxfp8 lies in tiles of 32 by 32: its blocks divide rows of 4096, and 33 of them are no whole tiles.
  const std::string tall = scratch.path() / "tall.safetensors";
  write_sparse(tall, 33, "F32", 4);
  const auto tiles = run({"convert", tall, scratch.path() / "tiles.safetensors", "--type", "mxfp8"});
  CHECK_THAT(tiles.out,
             Catch::Contains(
                 "f32 instead of mxfp8, which takes matrices of layers in tiles of 32 rows and 32 columns"));
  CHECK_THAT(text.out, Catch::Contains("kept precise, entry or exit layer") && Catch::Contains("before ") &&
                           Catch::Contains("after "));
  const auto converted = run({"convert", transformer, out, "--type", "q4_k", "--json"});
  REQUIRE(converted.code == 0);
  const auto json = converted.json();
  std::int64_t bytes = 0;
  for (const auto& [type, share] : json["after"]["types"].items())
    bytes += share["bytes"].get<std::int64_t>();
  CHECK(json["after"]["bytes"] == bytes);
  CHECK(fs::file_size(out) > static_cast<std::uintmax_t>(bytes));
  REQUIRE_FALSE(json["instead"].empty());
  CHECK(json["instead"][0]["instead_of"] == "q4_k");
  // A rule without a match is a warning, and the file is written.
  const auto warned = run({"convert", transformer, out, "--type", "q8_0", "--rule", "img_attn_nowhere=q4_0"});
  CHECK(warned.code == 0);
  CHECK_THAT(warned.err, Catch::Contains("--rule 'img_attn_nowhere=q4_0' matches no name of this model"));
  // A rule that means matrices may reach their biases.
  const auto reached = run({"convert", transformer, out, "--rule", "ff.net.2=q8_0"});
  CHECK(reached.code == 0);
  CHECK_THAT(reached.err, Catch::Contains("of one dimension, such as") && Catch::Contains("mlp.2.bias'"));
  const auto matrices = run({"convert", transformer, out, "--rule", "ff.net.2.weight=q8_0"});
  CHECK(matrices.code == 0);
  CHECK(matrices.err.find("of one dimension") == std::string::npos);
  // From a whole model to a file goes the transformer.
  const auto part = run({"convert", shapes_model, out, "--type", "q8_0"});
  CHECK(part.code == 0);
  CHECK_THAT(part.err, Catch::Contains("name a folder to convert all components"));
}

TEST_CASE("convert --dry-run says what a conversion would, and writes nothing") {
  const Scratch scratch;
  const std::string out = scratch.path() / "out.gguf";
  const std::vector<std::string> arguments{"convert", transformer, out, "--type", "q4_k", "--json"};
  auto dry = arguments;
  dry.emplace_back("--dry-run");
  const auto said = run(dry);
  INFO(said.err);
  REQUIRE(said.code == 0);
  CHECK(names_in(scratch.path()).empty());
  const auto done = run(arguments);
  REQUIRE(done.code == 0);
  auto expected = done.json(), json = said.json();
  CHECK(json["dry_run"] == true);
  CHECK(expected["dry_run"] == false);
  for (const char* key : {"dry_run", "seconds", "peak_resident_bytes"}) json.erase(key), expected.erase(key);
  CHECK(json == expected);
  const auto text = run({"convert", "--dry-run", shapes_model, scratch.path() / "folder/", "--type", "q8_0",
                         "--rule", "nowhere=q4_0"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("nothing was written"));
  CHECK_THAT(text.err, Catch::Contains("matches no name"));
  CHECK(names_in(scratch.path()) == std::set<std::string>{"out.gguf"});
  CHECK(run({"convert", "--dry-run", transformer, transformer}).code == 2);
}

TEST_CASE("convert: rules can stand in front of the files, several of them") {
  const Scratch scratch;
  const std::string out = scratch.path() / "out.safetensors";
  const auto converted = run({"convert", "--rule", "transformer_blocks\\.0=fp8_e4m3", "--rule",
                              "proj_mlp=fp8_e5m2", transformer, out, "--json"});
  INFO(converted.err);
  REQUIRE(converted.code == 0);
  const auto types = converted.json()["after"]["types"];
  CHECK(types.contains("fp8_e4m3"));
  CHECK(types.contains("fp8_e5m2"));
  CHECK(types.contains("bf16"));
}

TEST_CASE("convert: of a model's folder the transformer has its component's name, in a file as in a folder") {
  const Scratch scratch;
  for (const char* name : {"o.gguf", "o"}) {
    const auto converted = run({"convert", small_flux, scratch.path() / name, "--rule",
                                "^transformer\\.transformer_blocks\\.0.*weight=f16", "--json"});
    INFO(converted.err);
    REQUIRE(converted.code == 0);
    CHECK_THAT(converted.err, !Catch::Contains("changes nothing"));
    const nlohmann::json json = converted.json();
    CHECK(json["after"]["types"]["f16"]["tensors"].get<int>() > 0);
    const auto& files = json["files"];
    CHECK(std::ranges::any_of(files, [](const auto& file) { return file["component"] == "transformer"; }));
    CHECK(std::ranges::none_of(files, [](const auto& file) { return file["component"].is_null(); }));
  }
}

TEST_CASE("convert: a component without weights is told") {
  const Scratch scratch;
  const fs::path in = scratch.path() / "in";
  fs::copy(shapes_model, in, fs::copy_options::recursive);
  fs::remove(in / "vae" / "diffusion_pytorch_model.safetensors");
  const auto converted = run({"convert", in, scratch.path() / "out", "--type", "f16"});
  INFO(converted.err);
  CHECK(converted.code == 0);
  CHECK_THAT(converted.err, Catch::Contains("warning: vae/ has a config.json and no weights"));
  CHECK(converted.err.find("tokenizer") == std::string::npos);
  CHECK(converted.err.find("scheduler") == std::string::npos);
}

TEST_CASE("convert: an error in a file of IN names that file, wherever OUT is") {
  const Scratch scratch;
  const fs::path here = scratch.path() / "here";
  fs::create_directory(here);
  fs::copy(shapes_model, here / "model", fs::copy_options::recursive);
  {
    std::fstream file(here / "model" / "vae" / "diffusion_pytorch_model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4, std::ios::end).write("\0\0\x80\x7f", 4);  // the last value is inf
  }
  for (const char* out : {"out", "../out"}) {
    const auto refused = run({"convert", "model", out, "--type", "f16"}, "cd " + here.string() + ";");
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK_THAT(refused.err, Catch::Contains("error: model/vae/diffusion_pytorch_model.safetensors: tensor"));
  }
}

TEST_CASE("convert: memory stays under 512 MB whatever the size") {
  if (sanitized) return precast::testing::skip("a sanitizer takes memory of its own");
  const Scratch scratch;
  const fs::path big = scratch.path() / "big.safetensors";
  write_sparse(big, 160'000);  // 1.3 GB
  const auto converted =
      run({"convert", big, scratch.path() / "out.gguf", "--rule", "a=q4_0", "--quiet", "--json"});
  INFO(converted.err);
  REQUIRE(converted.code == 0);
  const auto json = converted.json();
  CHECK(json["before"]["bytes"] == 1'310'720'000);
  CHECK(json["peak_resident_bytes"].get<std::int64_t>() < 512'000'000);

  write_sparse(big, 40'000, "F8_E4M3", 1);  // which takes 655 MB in f32
  for (const auto& [out, type] : {std::pair("out.gguf", "q4_0"), {"out.safetensors", "int8_row"}}) {
    const auto scaled =
        run({"convert", big, scratch.path() / out, "--rule", std::string("a=") + type, "--quiet", "--json"});
    INFO(scaled.err);
    REQUIRE(scaled.code == 0);
    CHECK(scaled.json()["before"]["bytes"] == 163'840'004);
    CHECK(scaled.json()["peak_resident_bytes"].get<std::int64_t>() < 256'000'000);
  }

  write_sparse(big, 40'000, "F32", 4);  // 655 MB, all of which is read before the first scale is known
  for (const char* type : {"nvfp4", "fp8_e4m3_tensor"}) {
    const auto whole = run({"convert", big, scratch.path() / "out.safetensors", "--rule",
                            std::string("a=") + type, "--quiet", "--json"});
    INFO(whole.err);
    REQUIRE(whole.code == 0);
    CHECK(whole.json()["peak_resident_bytes"].get<std::int64_t>() < 256'000'000);
  }
}

TEST_CASE("convert: T5's two tables of embeddings are compared without both in memory") {
  if (sanitized) return precast::testing::skip("a sanitizer takes memory of its own");
  const Scratch scratch;
  const fs::path file = scratch.path() / "t5.safetensors";
  std::int64_t end = 0;
  std::string header;
  for (const auto& [name, rows] : {std::pair("encoder.block.0.layer.0.SelfAttention.q.weight", 32),
                                   {"encoder.embed_tokens.weight", 40'000},
                                   {"shared.weight", 40'000}}) {
    const std::int64_t begin = end;
    end += std::int64_t{rows} * 4096 * 2;
    header += (header.empty() ? "{\"" : ",\"") + std::string(name) + R"(":{"dtype":"BF16","shape":[)" +
              std::to_string(rows) + ",4096],\"data_offsets\":[" + std::to_string(begin) + "," +
              std::to_string(end) + "]}";
  }
  header += "}";
  write_zeros_behind(header, end, file);
  const auto planned = run({"convert", file, scratch.path() / "t5.gguf", "--dry-run", "--quiet", "--json"});
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(planned.json()["before"]["bytes"] == end);  // 656 MB
  CHECK(planned.json()["peak_resident_bytes"].get<std::int64_t>() < 256'000'000);
}

TEST_CASE("convert: interrupted or out of room, it leaves nothing half-written") {
  const Scratch scratch;
  const fs::path big = scratch.path() / "big.safetensors", out = scratch.path() / "out" / "o.gguf";
  fs::create_directory(out.parent_path());
  write_sparse(big, 2'000'000);  // 16 GB: nobody waits for its end
  const auto interrupted = program::run_until(program::files_in(out.parent_path(), 1), "INT",
                                              {"convert", big, out, "--type", "q2_k"});
  INFO(interrupted.err);
  CHECK(interrupted.code == 130);
  CHECK_THAT(interrupted.err, Catch::Contains("stopping after this step"));
  CHECK_THAT(interrupted.err, Catch::Contains("interrupted: nothing was written"));
  CHECK(names_in(out.parent_path()).empty());
  // Quiet, it says nothing but that.
  for (const auto& [signal, code] : {std::pair("INT", 130), {"TERM", 143}}) {
    const auto silent = program::run_until(program::files_in(out.parent_path(), 1), signal,
                                           {"convert", big, out, "--type", "q2_k", "--quiet"});
    INFO(silent.err);
    CHECK(silent.code == code);
    CHECK(silent.one_line_error());
  }
  const auto full = run({"convert", transformer, out, "--type", "q8_0"}, "ulimit -f 100;");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.one_line_error());
  CHECK_THAT(full.err, Catch::Contains(out.string()) && Catch::Contains("could not be written"));
  CHECK(names_in(out.parent_path()).empty());
  const auto folder =
      run({"convert", shapes_model, out.parent_path() / "model", "--type", "f32"}, "ulimit -f 100;");
  CHECK(folder.code == 1);
  CHECK(folder.one_line_error());
  CHECK_THAT(folder.err,
             Catch::Contains((out.parent_path() / "model" / "t").string()) && !Catch::Contains(".tmp"));
  CHECK(names_in(out.parent_path()).empty());
  // What is only copied, such as a tokenizer, is beyond the limit before any weight is.
  const auto copied =
      run({"convert", small_flux, out.parent_path() / "model", "--type", "f32"}, "ulimit -f 1;");
  INFO(copied.err);
  CHECK(copied.code == 1);
  CHECK(copied.one_line_error());
  CHECK_THAT(copied.err, Catch::Contains("could not be written: File too large") && !Catch::Contains(".tmp"));
  CHECK(names_in(out.parent_path()).empty());
  // Of a file whose beginning is within the limit, too.
  const auto readme =
      run({"convert", shapes_model, out.parent_path() / "model", "--type", "f32"}, "ulimit -f 1;");
  INFO(readme.err);
  CHECK(readme.code == 1);
  CHECK(readme.one_line_error());
  CHECK_THAT(readme.err, Catch::Contains("could not be written: File too large: raise the limit"));
  CHECK(names_in(out.parent_path()).empty());
#if !PRECAST_HAS_ADDRESS_SANITIZER  // UBSan, which comes with it, looks at memory through a pipe of its own
  const auto few_files = run({"convert", shapes_model, out.parent_path() / "model", "--type", "f32"},
                             "prlimit --nofile=5", "3>&- 4>&-");
  INFO(few_files.err);
  CHECK(few_files.code == 1);
  CHECK_THAT(few_files.err,
             Catch::Contains("Too many open files: raise the limit on open files (ulimit -n)"));
#endif
}

TEST_CASE("convert: what a killed conversion left of a folder is swept away, and nothing else") {
  const Scratch scratch;
  const fs::path &here = scratch.path(), left = here / ".precast-999999-0.tmp",
                 other = here / ".precast-x.tmp";
  fs::create_directories(left / "transformer");
  fs::create_directories(other);
  std::ofstream(left / "transformer" / "half") << "half";
  const auto converted = run({"convert", small_flux, (here / "new").string(), "--type", "bf16"});
  INFO(converted.err);
  REQUIRE(converted.code == 0);
  CHECK(names_in(here) == std::set<std::string>{".precast-x.tmp", "new"});
}

TEST_CASE("convert: an empty folder is taken by whatever name, but for the one that it runs in") {
  const Scratch scratch;
  const fs::path real = scratch.path() / "real", link = scratch.path() / "link";
  fs::create_directory(real);
  fs::create_directory_symlink("real", link);
  const auto inside = run({"convert", small_flux, ".", "--type", "bf16"}, "cd " + real.string() + ";");
  CHECK(inside.code == 1);
  CHECK(inside.one_line_error());
  CHECK_THAT(inside.err, Catch::Contains("is the current folder"));
  CHECK(names_in(scratch.path()) == std::set<std::string>{"link", "real"});
  // A name like a file's takes the slash that says folder.
  const fs::path named = scratch.path() / "model.new";
  CHECK(run({"convert", small_flux, named.string() + "/", "--type", "bf16"}).code == 0);
  CHECK(fs::remove_all(named) > 1);
  // What takes the place of a private folder is as private.
  const auto private_to_owner = fs::perms::owner_all;
  fs::permissions(real, private_to_owner);
  const auto linked = run({"convert", small_flux, link.string() + "/", "--type", "bf16"});
  INFO(linked.err);
  CHECK(linked.code == 0);
  CHECK(fs::is_symlink(link));
  CHECK(fs::exists(real / "transformer" / "config.json"));
  CHECK(fs::status(real).permissions() == private_to_owner);
  CHECK(names_in(scratch.path()) == std::set<std::string>{"link", "real"});
}

TEST_CASE("convert: a model's other components stay, and links back to it are left out") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "model", out = scratch.path() / "out";
  fs::copy(small_flux, model, fs::copy_options::recursive);
  const fs::path vae = model / "vae" / "diffusion_pytorch_model.safetensors";
  const std::string before = program::content(vae);
  fs::rename(vae, scratch.path() / "blob");
  fs::create_symlink(scratch.path() / "blob", vae);  // as in Hugging Face's cache
  const auto refused = run({"convert", model.string(), vae.string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("holds weights of a component of IN"));
  CHECK(program::content(vae) == before);
  fs::create_directory_symlink(".", model / "latest");
  fs::create_directory_symlink("..", model / "transformer" / "model");
  REQUIRE(run({"convert", model.string(), out.string(), "--type", "bf16"}).code == 0);
  CHECK(fs::exists(out / "model_index.json"));
  CHECK_FALSE(fs::exists(out / "latest"));
  CHECK_FALSE(fs::exists(out / "transformer" / "model"));
}

TEST_CASE("convert: configs say nothing of a quantisation that weights no longer have") {
  const Scratch scratch;
  const fs::path model = scratch.path() / "model", out = scratch.path() / "out",
                 part = scratch.path() / "part";
  fs::copy(small_flux, model, fs::copy_options::recursive);
  const auto config_in = [](const fs::path& folder) {
    return nlohmann::json::parse(program::content(folder / "config.json"));
  };
  const nlohmann::json plain = config_in(model / "transformer");
  nlohmann::json quantised = plain;
  quantised["quantization_config"] = {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}};
  scratch.file("model/transformer/config.json", quantised.dump());
  scratch.file("model/scheduler/config.json", quantised.dump());
  REQUIRE(run({"convert", model.string(), out.string(), "--type", "bf16"}).code == 0);
  CHECK(config_in(out / "transformer") == plain);
  CHECK(config_in(out / "scheduler") == quantised);  // no weights of it were converted
  REQUIRE(run({"convert", (model / "transformer").string(), part.string(), "--type", "bf16"}).code == 0);
  CHECK(config_in(part) == plain);
}

TEST_CASE("convert: what cannot be done is one line with the exit code of its kind") {
  const Scratch scratch;
  const std::string here = scratch.path();
  const std::string gguf = here + "/o.gguf", safetensors = here + "/o.safetensors";
  const std::string whole = program::content(transformer);
  const std::string truncated = scratch.file("truncated.safetensors", whole.substr(0, whole.size() / 2));
  const std::string header = scratch.file("header.safetensors", whole.substr(0, 100));
  const std::string empty = scratch.file("empty.gguf", "");
  const std::string no_gguf = scratch.file("none.gguf", "this is no GGUF file at all, as anybody can see");
  const std::string text = scratch.file("model.txt", "x"),
                    bad_plan = scratch.file("plan.json", "{\"types\": 3}");
  const std::string other_plan = scratch.file("plan2.json", R"({"types": {"a": "q9_k"}})");
  const std::string readonly = scratch.file("readonly.gguf", "x");
  REQUIRE(::chmod(readonly.c_str(), 0444) == 0);
  const std::string scaled = here + "/scaled.safetensors", integers = here + "/integers.safetensors",
                    unread = here + "/unread.gguf", part = here + "/part.gguf";
  {
    precast::io::SafetensorsWriter writer(scaled);
    writer.declare("a.scale_weight", precast::dtype_info<precast::f32>, precast::Shape{1});
    writer.write(std::vector<std::byte>(4));
    writer.commit();
    precast::io::SafetensorsWriter bytes(integers);
    bytes.declare("mask", {"u8", 1, 1}, precast::Shape{4});
    bytes.write(std::vector<std::byte>(4));
    bytes.commit();
    precast::io::GgufWriter other(unread);
    other.declare("a.weight", {"iq2_xxs", 256, 66}, precast::Shape{1, 256});
    other.write(std::vector<std::byte>(66));
    other.commit();
    precast::io::GgufWriter first(part);
    first.set("split.count", std::uint32_t{3});
    first.declare("a.weight", precast::dtype_info<precast::f32>, precast::Shape{1});
    first.write(std::vector<std::byte>(4));
    first.commit();
  }
  const std::string full = here + "/full", nothing = here + "/nothing", checkpoint = here + "/checkpoint";
  scratch.file("checkpoint/unet/diffusion_pytorch_model.bin", "x");
  fs::create_directories(full + "/x");
  fs::create_directories(nothing);
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string words;
  };
  const std::vector<Case> cases{
      {{}, 2, "in is required"},
      {{transformer}, 2, "out is required"},
      {{transformer, gguf, "more"}, 2, "argument too many"},
      {{transformer, ""}, 2, "out is empty"},
      {{"", gguf}, 2, "in is empty"},
      {{shapes_model, "-"}, 2, "weights are not written to standard output"},
      {{transformer, gguf, "--type", "q4"}, 2, "--type: there is no type 'q4'"},
      {{transformer, gguf, "--type", ""}, 2, "--type"},
      {{transformer, gguf, "--type"}, 2, "--type needs a value"},
      {{transformer, gguf, "--typ", "q4_0"}, 2, "did you mean --type"},
      {{transformer, gguf, "--type", "q4_0", "--type", "q8_0"}, 2, "--type is given twice"},
      {{transformer, gguf, "--biases", "nothing"}, 2, "--biases: there is no type"},
      {{transformer, gguf, "--rule", "img"}, 2, "has no '='"},
      {{transformer, gguf, "--rule", "=q8_0"}, 2, "no expression"},
      {{transformer, gguf, "--rule", "img="}, 2, "no type after"},
      {{transformer, gguf, "--rule", "(=q8_0"}, 2, "is not a regular expression"},
      {{transformer, gguf, "--rule", "img=q7_k"}, 2, "there is no type 'q7_k'"},
      {{transformer, gguf, "--rule", "a=q8_0", "--rule", "a=q4_0"},
       2,
       "has the expression of an earlier --rule"},
      {{transformer, gguf, "--layout", "comfy"}, 2, "--layout"},
      {{transformer, gguf, "--encoder", "best"}, 2, "--encoder"},
      {{transformer, gguf, "--plan", here + "/no.json"}, 1, "no.json"},
      {{transformer, gguf, "--plan", bad_plan}, 1, "plan.json"},
      {{transformer, gguf, "--plan", other_plan}, 1, "q9_k"},
      {{transformer, safetensors, "--type", "q4_k"}, 2, "safetensors has no q4_k: write .gguf"},
      {{transformer, safetensors, "--rule", "img=q8_0"}, 2, "safetensors has no q8_0"},
      {{transformer, gguf, "--type", "fp8_e4m3"}, 2, "GGUF has no fp8_e4m3"},
      {{transformer, gguf, "--type", "mxfp8"}, 2, "GGUF has no mxfp8"},
      {{transformer, transformer}, 2, "one and the same"},
      {{shapes_model, shapes_model}, 2, "one and the same"},
      {{shapes_model, shapes_model + "/transformer/../"}, 2, "one and the same"},
      {{shapes_model, shapes_model + "/inside"}, 2, "is inside IN"},
      {{shapes_model, transformer, "--type", "f16"}, 2, "holds weights of a component of IN"},
      {{shapes_model + "/transformer", transformer}, 2, "is a file that IN is read from"},
      {{transformer, here + "/o"}, 2, "ends neither in .safetensors nor in .gguf"},
      {{transformer, here + "/o.bin"}, 2, "ends neither in"},
      {{here + "/none.safetensors", gguf}, 1, "none.safetensors"},
      {{text, gguf}, 1, "model.txt: only 1 byte,"},
      {{nothing, gguf}, 1, "holds no weights"},
      {{nothing, here + "/new"}, 1, "holds no weights"},
      {{checkpoint, gguf}, 1, "unet: holds its weights as a PyTorch checkpoint"},
      {{checkpoint, here + "/new"}, 1, "unet: holds its weights as a PyTorch checkpoint"},
      {{checkpoint + "/unet", gguf}, 1, "unet: holds its weights as a PyTorch checkpoint"},
      {{checkpoint + "/unet", here + "/new"}, 1, "unet: holds its weights as a PyTorch checkpoint"},
      {{truncated, gguf}, 1, "truncated.safetensors"},
      {{header, gguf}, 1, "header.safetensors"},
      {{empty, safetensors}, 1, "empty.gguf"},
      {{no_gguf, safetensors}, 1, "is text that begins with 'this is no GGUF file"},
      {{scaled, gguf}, 1, "scaled fp8, and to no layer that convert reads"},
      {{unread, safetensors}, 1, "of type iq2_xxs"},
      {{part, safetensors},
       1,
       "part.gguf: is part 1 of 3 of a model, and its name does not end in -00001-of-00003.gguf"},
      {{integers, gguf},
       1,
       "tensor 'mask': is to be u8, which GGUF does not have: what is not of floating point keeps its type"},
      {{transformer, here + "/missing/o.gguf"}, 1, "create its folder"},
      {{shapes_model, here + "/missing/o.gguf"}, 1, "create its folder"},
      {{transformer, readonly}, 1, "read-only"},
      {{shapes_model, here + "/out.txt"}, 2, "looks like the name of a file"},
      {{small_flux + "/transformer", here + "/out.safetensor"}, 2, "or a slash at its end for a folder"},
      {{shapes_model, full, "--type", "f32"}, 1, "already exists, and is not an empty folder"},
      {{shapes_model, here + "/missing/model", "--type", "f32"}, 1, "create its parent folder"},
  };
  CHECK(cases.size() >= 40);
  const auto before = names_in(here);
  for (const Case& each : cases) {
    std::vector<std::string> arguments{"convert"};
    arguments.insert(arguments.end(), each.arguments.begin(), each.arguments.end());
    const auto refused = run(arguments);
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    INFO(line << "\n" << refused.code << " " << refused.err << refused.out);
    CHECK(refused.code == each.code);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(each.words));
    CHECK(names_in(here) == before);
  }
}

namespace {

/// A matrix of three kinds of columns, of which an importance weighs a few.
constexpr std::int64_t weighed_rows = 16, weighed_columns = 256;
std::vector<float> weighed_matrix() {
  std::vector<float> values;
  for (std::int64_t i = 0; i < weighed_rows * weighed_columns; ++i)
    values.push_back(std::sin(static_cast<float>(i) * 0.37f) * (i % 7 == 0 ? 3.0f : 0.4f));
  return values;
}
std::vector<float> column_weights() {
  std::vector<float> weights;
  for (std::int64_t column = 0; column < weighed_columns; ++column)
    weights.push_back(column % 16 == 3 ? 400.0f : 0.25f);
  return weights;
}

/// The file that was written before GGUF: little endian, the mean squares times the calls.
void write_old_imatrix(const fs::path& file, const std::string& name, const std::vector<float>& squares) {
  std::ofstream stream(file, std::ios::binary);
  const auto number = [&](std::int32_t value) {
    stream.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(1);
  number(static_cast<std::int32_t>(name.size()));
  stream << name;
  constexpr std::int32_t calls = 5;
  number(calls);
  number(static_cast<std::int32_t>(squares.size()));
  for (const float square : squares) {
    const float sum = square * calls;
    stream.write(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  number(calls);
}

/// The squared error of a converted matrix, each column times its weight.
double weighted_error(const fs::path& file) {
  const precast::io::GgufFile gguf(file);
  const precast::io::GgufTensor* tensor = gguf.lookup("blocks.0.weight");
  REQUIRE(tensor);
  const std::vector<float> wanted = weighed_matrix(), weights = column_weights();
  std::vector<float> values(wanted.size());
  precast::conversion::decode(tensor->type.info, tensor->bytes, values);
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    error +=
        static_cast<double>(weights[i % weights.size()]) * std::pow(double{values[i]} - double{wanted[i]}, 2);
  return error;
}

}  // namespace

TEST_CASE("convert: an importance makes the error that it weighs smaller, from either kind of file") {
  const Scratch scratch;
  const std::string in = scratch.path() / "a.safetensors", gguf = scratch.path() / "i.gguf",
                    dat = scratch.path() / "i.dat";
  precast::io::SafetensorsWriter writer(in);
  const std::vector<float> values = weighed_matrix();
  writer.declare("blocks.0.weight", precast::dtype_info<precast::f32>,
                 precast::Shape{weighed_rows, weighed_columns});
  writer.write(std::as_bytes(std::span(values)));
  writer.commit();
  write_imatrix(gguf, "model.diffusion_model.blocks.0.weight", column_weights());
  write_old_imatrix(dat, "blocks.0.weight", column_weights());
  for (const std::string type : {"q4_0", "q3_k", "iq4_nl"}) {
    INFO(type);
    const std::string plain = scratch.path() / "plain.gguf", weighed = scratch.path() / "weighed.gguf",
                      old = scratch.path() / "old.gguf";
    REQUIRE(run({"convert", in, plain, "--type", type, "--encoder", "search", "--quiet"}).code == 0);
    const auto converted = run({"convert", in, weighed, "--type", type, "--importance", gguf, "--quiet"});
    INFO(converted.err);
    REQUIRE(converted.code == 0);
    REQUIRE(run({"convert", in, old, "--type", type, "--importance", dat, "--quiet"}).code == 0);
    CHECK(weighted_error(weighed) < 0.9 * weighted_error(plain));
    CHECK(weighted_error(old) < 0.9 * weighted_error(plain));
  }
  const auto refused = [&](const std::vector<std::string>& more, int code, const std::string& words) {
    std::vector<std::string> line{"convert", in, scratch.path() / "no.gguf"};
    line.insert(line.end(), more.begin(), more.end());
    const auto outcome = run(line);
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.one_line_error());
    CHECK_THAT(outcome.err, Catch::Contains(words));
    CHECK_FALSE(fs::exists(scratch.path() / "no.gguf"));
  };
  refused({"--type", "q4_0", "--importance", gguf, "--encoder", "reference"}, 2, "--encoder search");
  refused({"--importance", gguf}, 2, "no matrix gets blocks");
  write_imatrix(gguf, "other.weight", column_weights());
  refused({"--type", "q4_0", "--importance", gguf}, 2, "has none of the 1 matrices");
  write_imatrix(gguf, "blocks.0.weight", std::vector<float>(32, 1.0f));
  refused({"--type", "q4_0", "--importance", gguf}, 1, "has 32 columns, and the matrix 256");
  std::vector<float> negative = column_weights();
  negative[5] = -1;
  write_imatrix(gguf, "blocks.0.weight", negative);
  refused({"--type", "q4_0", "--importance", gguf}, 1, "column 5 is negative");
  const std::string text = program::content(dat);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{9}, std::size_t{60}, std::size_t{700}})
    refused({"--type", "q4_0", "--importance", scratch.file("cut.dat", text.substr(0, size))}, 1, "cut.dat");
  refused({"--type", "q4_0", "--importance", in}, 1, "a.safetensors: is a safetensors file, of weights");
}

TEST_CASE("convert: a plan of another model is refused, and rules that change nothing are told") {
  const Scratch scratch;
  const std::string out = scratch.path() / "o.gguf";
  const std::string foreign =
      scratch.file("plan.json", R"({"types": {"layers.0": "q8_0", "layers.1": "q4_0"}})");
  const auto refused = run({"convert", transformer, out, "--plan", foreign});
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("none of its 2 layers") && Catch::Contains("layers.0") &&
                              Catch::Contains("a model that it does not name") &&
                              Catch::Contains(transformer));
  const std::string named =
      scratch.file("named.json", R"({"model": "another-9b", "types": {"layers.0": "q8_0"}})");
  CHECK_THAT(run({"convert", transformer, out, "--plan", named}).err,
             Catch::Contains("the model 'another-9b'") && Catch::Contains(transformer));
  CHECK_FALSE(fs::exists(out));
  const auto hidden =
      run({"convert", transformer, out, "--rule", "attn.*weight=q8_0", "--rule", "img_attn.qkv.weight=q4_0"});
  INFO(hidden.err);
  CHECK(hidden.code == 0);
  CHECK_THAT(hidden.err,
             Catch::Contains("'img_attn.qkv.weight=q4_0' matches only names that an earlier rule matches"));
}

TEST_CASE("convert: the plan and the importance that it reads are not written over") {
  const Scratch scratch;
  for (const char* option : {"--plan", "--importance"}) {
    const std::string file = scratch.file("given.gguf", R"({"types": {"transformer_blocks.0": "q8_0"}})");
    const auto refused = run({"convert", transformer, file, "--type", "q8_0", option, file});
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("is read by this command"));
    CHECK_THAT(program::content(file), Catch::StartsWith("{"));
  }
}
