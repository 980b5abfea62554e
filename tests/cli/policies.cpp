// Which policy a command line means, and which preset `auto` takes.
#include <algorithm>
#include <array>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/auto_preset.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/policy_table.hpp>
#include <support/skip.hpp>

#include <precast/error.hpp>
#include <precast/policy/paths.hpp>

using namespace precast;
using namespace precast::cli;

namespace {

constexpr PolicyChoice fast = preset_named("fast")->choice;
constexpr PolicyChoice memory = preset_named("memory")->choice;
constexpr std::int64_t gib = std::int64_t{1} << 30;

/// All presets, f32 needing twice what the others need.
std::vector<Candidate> candidates(std::int64_t f32_bytes) {
  std::vector<Candidate> all;
  for (const NamedPreset& preset : named_presets)
    all.push_back({preset, preset.choice.precision == precision_of<f32> ? f32_bytes : f32_bytes / 2});
  return all;
}

std::string_view chosen(const Machine& machine, std::int64_t f32_bytes) {
  return choose_preset(machine, candidates(f32_bytes)).preset.name;
}

}  // namespace

TEST_CASE("a precision without a preset is a plain policy") {
  PolicyOptions options;
  options.precision = precision_of<f16>;
  CHECK_FALSE(options.automatic());
  CHECK(resolved(options, fast) == PolicyChoice{.precision = precision_of<f16>});
  options.added.upcast_attention = true;
  CHECK(resolved(options, fast) ==
        PolicyChoice{.precision = precision_of<f16>, .options = {.upcast_attention = true}});
}

TEST_CASE("a precision changes a preset and keeps its other options") {
  PolicyOptions options;
  options.preset = "fast";
  options.precision = precision_of<f16>;
  CHECK(resolved(options, {}) == PolicyChoice{.precision = precision_of<f16>, .options = {.flash = true}});
  options.preset = "memory";
  options.precision = precision_of<bf16>;
  options.no_flash = true;
  options.added.upcast_matmul = true;
  CHECK(resolved(options, {}) == PolicyChoice{.precision = precision_of<bf16>,
                                              .options = {.upcast_attention = true, .upcast_matmul = true}});
}

TEST_CASE("without preset and precision the machine decides") {
  PolicyOptions options;
  CHECK(options.automatic());
  CHECK(resolved(options, fast) == fast);
  options.preset = "auto";
  options.no_flash = true;
  CHECK(options.automatic());
  CHECK(resolved(options, fast) == PolicyChoice{.precision = precision_of<bf16>});
  options.no_flash = false;
  options.precision = precision_of<f16>;  // of what auto chose, whose other options stay
  CHECK(options.automatic());
  CHECK(resolved(options, fast) == PolicyChoice{.precision = precision_of<f16>, .options = {.flash = true}});
}

TEST_CASE("components take their own precision over the rest") {
  PolicyOptions options;
  options.preset = "memory";
  options.vae = precision_of<f32>;
  options.text = precision_of<bf16>;
  const families::ComponentChoices choices = resolved_components(options, {});
  CHECK(choices.denoiser == memory);
  CHECK(choices.vae == PolicyChoice{.precision = precision_of<f32>});  // f32 has nothing to cast up
  CHECK(choices.text_encoder ==
        PolicyChoice{.precision = precision_of<bf16>, .options = {.upcast_attention = true}});
  CHECK(policy_text(choices) == "transformer memory, text bf16+upcast-attention, vae quality");
}

TEST_CASE("each text encoder can have a precision of its own") {
  PolicyOptions options;
  options.preset = "quality";
  options.t5 = precision_of<bf16>;
  families::ComponentChoices choices = resolved_components(options, {});
  CHECK(choices.of(families::Role::text_encoder).precision == precision_of<f32>);
  CHECK(choices.of(families::Role::t5_encoder).precision == precision_of<bf16>);
  CHECK(policy_text(choices) == "transformer quality, clip quality, t5 bf16, vae quality");
  options.text = precision_of<f16>;
  options.clip = precision_of<f32>;
  options.t5.reset();
  choices = resolved_components(options, {});
  CHECK(choices.of(families::Role::text_encoder).precision == precision_of<f32>);
  CHECK(choices.of(families::Role::t5_encoder).precision == precision_of<f16>);
  options.clip.reset();
  options.t5 = precision_of<f16>;  // which --text-precision says too
  CHECK(policy_text(resolved_components(options, {})) == "transformer quality, text f16, vae quality");
}

TEST_CASE("policies have names that read back") {
  for (const char* name : {"quality", "balanced", "fast", "memory", "bf16", "f16", "f16+upcast-matmul+flash",
                           "bf16+upcast-attention+upcast-matmul", "f16+upcast-conv", "bf16+upcast-conv+flash",
                           "f16+upcast-attention+upcast-matmul+upcast-conv"})
    CHECK(policy_text(parse_policy(name)) == name);
  CHECK(parse_policy("f16+upcast-attention") == memory);
  CHECK(policy_text(parse_policy("f16+upcast-attention")) == "memory");
  CHECK(parse_policy("fast+no-flash") == PolicyChoice{.precision = precision_of<bf16>});
  for (const char* name : {"", "fp16", "fast+", "fast+x", "+flash", "auto"})
    CHECK_THROWS_AS(parse_policy(name), UsageError);
}

TEST_CASE("casts that no path has together are told with the cast to add") {
  const auto says = [](const std::string& text) {
    return Catch::Matchers::Message("no path casts up convolutions and " + text);
  };
  CHECK_THROWS_MATCHES(parse_policy("memory+upcast-conv"), UsageError,
                       says("attention but not linear layers: add --upcast-matmul (the nearest path is "
                            "f16+upcast-attention+upcast-matmul+upcast-conv)"));
  CHECK_THROWS_MATCHES(parse_policy("bf16+upcast-matmul+upcast-conv+flash"), UsageError,
                       says("linear layers but not attention: add --upcast-attention (the nearest path is "
                            "bf16+upcast-attention+upcast-matmul+upcast-conv+flash)"));
  CHECK(parse_policy("f32+upcast-matmul+upcast-conv") == PolicyChoice{precision_of<f32>});  // nothing to cast
  PolicyOptions options;
  options.precision = precision_of<f16>;
  options.added.upcast_conv = options.added.upcast_matmul = true;
  CHECK_FALSE(options.empty());
  CHECK_THROWS_AS(resolved(options, fast), UsageError);
  CHECK_THROWS_AS(resolved_components(options, fast), UsageError);
  options.added.upcast_attention = true;
  CHECK(resolved_components(options, fast).vae ==
        PolicyChoice{.precision = precision_of<f16>,
                     .options = {.upcast_attention = true, .upcast_matmul = true, .upcast_conv = true}});
  options.vae = precision_of<f32>;
  CHECK(resolved_components(options, fast).vae == PolicyChoice{precision_of<f32>});
}

TEST_CASE("auto takes fast where the CPU has bf16, balanced where it has not") {
  CHECK(chosen({64 * gib, true}, 2 * gib) == "fast");
  CHECK(chosen({64 * gib, false}, 2 * gib) == "balanced");
  CHECK(chosen({0, true}, 2 * gib) == "fast");  // memory unknown
}

TEST_CASE("auto takes what fits") {
  CHECK(chosen({30 * gib, false}, 48 * gib) == "fast");
  CHECK(chosen({30 * gib, true}, 48 * gib) == "fast");
  std::vector<Candidate> all = candidates(48 * gib);
  all[2].needed_bytes = 40 * gib;  // fast
  const AutoChoice choice = choose_preset({30 * gib, false}, all);
  CHECK(choice.preset.name == "memory");
  CHECK(choice.reason ==
        "this CPU has no native bf16; balanced and fast would not fit; it takes 24.0 GiB more, 30.0 GiB "
        "are free");
  const AutoChoice least = choose_preset({gib, true}, all);
  CHECK(least.preset.name == "memory");
  CHECK(least.reason == "it needs the least; it takes 24.0 GiB more, 1.0 GiB are free");
}

TEST_CASE("auto gives no reason of bf16 for what is chosen without it") {
  const Candidate plain_f32{*preset_named("quality"), gib};
  const auto chosen_beside = [&](std::string_view name) {
    return choose_preset({64 * gib, true}, std::array{plain_f32, Candidate{*preset_named(name), gib}});
  };
  const std::string memory_there = "; it takes 1.0 GiB more, 64.0 GiB are free";
  CHECK(chosen_beside("memory").preset.name == "memory");
  CHECK(chosen_beside("memory").reason == "its values take 2 bytes each" + memory_there);
  CHECK(chosen_beside("balanced").preset.name == "balanced");
  CHECK(chosen_beside("balanced").reason == "it stores no attention scores" + memory_there);
  CHECK(chosen_beside("fast").reason == "this CPU multiplies bf16 natively" + memory_there);
}

TEST_CASE("auto takes the only preset of a small build") {
  const std::array only{Candidate{*preset_named("memory"), gib}};
  CHECK(choose_preset({64 * gib, true}, only).preset.name == "memory");
  CHECK_THROWS_AS(choose_preset({64 * gib, true}, {}), PathNotCompiled);
}

TEST_CASE("bytes in words") {
  CHECK(in_bytes(0) == "0 B");
  CHECK(in_bytes(1023) == "1023 B");
  CHECK(in_bytes(1024) == "1.0 KiB");
  CHECK(in_bytes(12 << 20) == "12.0 MiB");
  CHECK(in_bytes(std::int64_t{24} << 30) == "24.0 GiB");
}

TEST_CASE("the printed table is the op table") {
  if (!path_compiled(memory)) return testing::skip("this build has no preset memory");
  const auto rows = op_rows(memory);
  REQUIRE(rows.size() == 9);
  const auto row = [&](std::string_view op) {
    return *std::find_if(rows.begin(), rows.end(), [&](const OpRow& r) { return r.op == op; });
  };
  CHECK(row("Attention") == OpRow{"Attention", {"f16", "f32", "f32", "f32", "f16"}});
  CHECK(row("Matmul") == OpRow{"Matmul", {"f16", "f16", "f32", "", "f16"}});
  CHECK(row("Pointwise") == OpRow{"Pointwise", {"f16", "as given", "", "f32", "f16"}});
  CHECK(policy_tables_json(memory)["ops"]["Matmul"]["inside"].is_null());
  CHECK(policy_tables_json(memory)["preset"] == "memory");
}

TEST_CASE("the tables of a policy have the rows of its gradients") {
  if (!path_compiled(memory)) return testing::skip("this build has no preset memory");
  const Json json = policy_tables_json(memory);
  CHECK(json["gradients"]["Matmul"]["operand"] == "f16");
  CHECK(json["gradients"]["Matmul"]["result"] == "f16");
  CHECK(json["gradients"]["Matmul"]["parameters"] == "f32");
  CHECK(json["gradients"]["Attention"]["operand"] == "f32");
  CHECK(json["gradients"]["Attention"]["parameters"].is_null());
  CHECK(json["master"] == "f32");
  const std::string text = policy_tables_text(memory);
  CHECK_THAT(text, Catch::Contains("gradient of") && Catch::Contains("parameters and moments in f32"));
}

TEST_CASE("a policy of training has its tables by name, compiled or not") {
  const auto table = [](std::string_view name) {
    return policy_tables_json(training_choice_named(name).value());
  };
  CHECK(table("amp-f16")["policy"] == "Policy<Storage<f32>, Compute<f16>, Activation<f32>>");
  CHECK(table("amp-f16")["scales_loss"] == true);
  CHECK(table("amp-f16")["product"] == "f16");
  CHECK(table("amp-f16")["parameter_product"] == "f16");
  CHECK_THAT(policy_tables_text(training_choice_named("amp-f16").value()),
             Catch::Contains("linear layers in training: results and gradients of inputs rounded to f16, of "
                             "parameters to f16"));
  CHECK(table("amp-bf16")["product"] == "f32");
  CHECK(table("amp-bf16")["parameter_product"] == "bf16");
  CHECK(table("amp-f16+flash")["ops"]["Attention"]["inside"] == "f32");
  CHECK(table("naive-f16")["master"] == "f16");
  CHECK(table("naive-f16")["gradients"]["Matmul"]["accumulate"] == "f16");
  CHECK(table("naive-f16")["scales_loss"] == false);
  CHECK(table("fp8")["gradients"]["Matmul"]["operand"] == "bf16");  // fp8_e4m3 has too little range
  CHECK(table("fast")["training"] == "bf16+flash");
}
