// Which type each tensor gets: rules, what stays precise, what divides rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <catch2/catch.hpp>
#include <convert/type_choice.hpp>
#include <formats/fitting.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/quant/largest_magnitude.hpp>

#include "weights_files.hpp"

namespace type_choices {
namespace {

using namespace precast;
using namespace precast::conversion;
using precast::testing::refusal_of;

ChosenType chosen(const TypeOptions& type_options, const std::string& name, const Shape& shape,
                  Container container = Container::gguf, const std::string& from = "bf16",
                  WeightsKind kind = WeightsKind::flux) {
  return chosen_type(type_options, {{{name}}, shape, *formats::find_type(from), true, kind}, container);
}

TypeOptions type_options(const std::string& type, const std::vector<std::string>& rules = {}) {
  return testing::to_type(type, rules).type_options;
}

}  // namespace

TEST_CASE("entry and exit layers, norms and biases stay precise in both namings") {
  for (const char* name :
       {"img_in.weight", "txt_in.weight", "time_in.in_layer.weight", "vector_in.out_layer.weight",
        "guidance_in.in_layer.weight", "final_layer.linear.weight", "final_layer.adaLN_modulation.1.weight",
        "x_embedder.weight", "context_embedder.weight", "time_text_embed.text_embedder.linear_1.weight",
        "proj_out.weight", "norm_out.linear.weight", "model.diffusion_model.img_in.weight",
        "transformer.x_embedder.weight", "diffusion_model.img_in.weight"}) {
    INFO(name);
    CHECK(chosen(type_options("q4_k"), name, {256, 256}).type.name == "bf16");
    CHECK(chosen(type_options("q4_k"), name, {256, 256}).kept_because == "entry or exit layer");
    CHECK(chosen(type_options("", {".*=q4_k"}), name, {256, 256}).type.name == "bf16");
    CHECK(chosen(type_options("q4_k", {"in|out|embed|layer=q8_0"}), name, {256, 256}).type.name == "q8_0");
  }
  for (const char* name : {"single_transformer_blocks.3.proj_out.weight", "single_blocks.3.linear2.weight",
                           "double_blocks.0.img_mlp.0.weight", "transformer_blocks.0.ff.net.0.proj.weight"}) {
    INFO(name);
    CHECK(chosen(type_options("q4_k"), name, {256, 256}).type.name == "q4_k");
    CHECK(chosen(type_options("", {".*=q4_k"}), name, {256, 256}).type.name == "q4_k");
  }
  for (const char* name :
       {"text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_embedding.weight",
        "positional_embedding", "shared.weight", "token_embd.weight", "model.embed_tokens.weight",
        "transformer.wte.weight", "transformer.wpe.weight", "wte.weight"}) {
    INFO(name);
    CHECK(chosen(type_options("q4_k"), name, {77, 256}, Container::gguf, "f16", WeightsKind::clip)
              .kept_because == "embedding");
  }
  CHECK(chosen(type_options("q4_k"), "lm_head.weight", {256, 256}, Container::gguf, "f16", WeightsKind::other)
            .kept_because == "entry or exit layer");
  for (const char* name : {"time_embed.0.weight", "label_emb.0.2.weight", "time_embedding.linear_1.weight",
                           "time_embedding.cond_proj.weight", "add_embedding.linear_2.weight",
                           "class_embedding.linear_1.weight", "model.diffusion_model.time_embed.2.weight"}) {
    INFO(name);
    const auto of_unet = [&](const TypeOptions& options) {
      return chosen(options, name, {256, 256}, Container::gguf, "f16", WeightsKind::other);
    };
    CHECK(of_unet(type_options("q4_k")).kept_because == "entry or exit layer");
    CHECK(of_unet(type_options("q4_k", {"embed|label=q8_0"})).type.name == "q8_0");
  }
  CHECK(chosen(type_options("q4_k"), "down_blocks.0.resnets.0.time_emb_proj.weight", {256, 256},
               Container::gguf, "f16", WeightsKind::other)
            .type.name == "q4_k");
  const char* scale = "double_blocks.0.img_attn.norm.query_norm.scale";
  CHECK(chosen(type_options("q4_k"), scale, {256}).type.name == "f32");
  CHECK(chosen(type_options("fp8_e4m3"), scale, {256}, Container::safetensors).type.name == "bf16");
  CHECK(chosen(type_options("q4_k", {"query_norm=q8_0"}), scale, {256}).type.name == "q8_0");
  CHECK(chosen(type_options("q4_k"), "a.bias", {256}).kept_because == "bias");
  TypeOptions with_biases = type_options("q4_k");
  with_biases.biases = formats::find_type("f16");
  CHECK(chosen(with_biases, "a.bias", {256}).type.name == "f16");
  CHECK(chosen(with_biases, "a.weight", {256}).type.name == "f32");
  CHECK(chosen(type_options("q4_k"), "x.weight", {256, 256, 1, 1}).kept_because == "convolution");
}

TEST_CASE("types of 16 bits and more are for all tensors") {
  for (const char* type : {"f32", "bf16", "f16"}) {
    CHECK(chosen(type_options(type), "img_in.weight", {64, 64}).type.name == type);
    CHECK(chosen(type_options(type), "a.norm.weight", {64}, Container::safetensors).type.name == type);
    CHECK(chosen(type_options(type), "a.bias", {64}).type.name == "f32");  // as other readers of GGUF expect
  }
}

TEST_CASE("of rules the first that is found counts, and keep is a type") {
  const char* name = "double_blocks.7.img_mlp.0.weight";
  CHECK(chosen(type_options("q4_k", {"txt=q8_0", "img_mlp=q6_k", "mlp=q2_k"}), name, {256, 256}).type.name ==
        "q6_k");
  CHECK(chosen(type_options("q4_k", {"blocks\\.7\\.=keep"}), name, {256, 256}).type.name == "bf16");
  CHECK(chosen(type_options("q4_k", {"a=b=q8_0"}), "a=b", {256, 256}).type.name == "q8_0");
  const MatchedRules matched =
      chosen(type_options("q4_k", {"nothing_of_this_name=q8_0", "img=q8_0", "mlp=q8_0"}), name, {256, 256})
          .matched;
  CHECK(matched.rules == std::set<std::size_t>{1, 2});
  CHECK(matched.deciding_rules == std::set<std::size_t>{1});
}

TEST_CASE("of a matrix that is put together, each part has its rule, and the most precise type counts") {
  const std::string qkv = "double_blocks.0.img_attn.qkv.weight", q = "transformer_blocks.0.attn.to_q.weight",
                    k = "transformer_blocks.0.attn.to_k.weight";
  const TensorFacts facts{
      {{qkv, q, "", q}, {qkv, k, "", k}}, {256, 256}, *formats::find_type("bf16"), true, WeightsKind::flux};
  const auto type = [&](const std::string& uniform, const std::vector<std::string>& rules, bool several,
                        const char* plan = nullptr) {
    TypeOptions asked = type_options(uniform, rules);
    if (plan) asked.plan = casting::parse_plan(plan, "p");
    const ChosenType chosen = chosen_type(asked, facts, Container::gguf);
    CHECK(chosen.matched.several_rules == (several && !plan));
    CHECK(chosen.matched.several_planned == (several && plan));
    return std::string(chosen.type.name);
  };
  CHECK(type("", {"to_q=q4_0", "to_k=q8_0"}, true) == "q8_0");
  CHECK(type("", {"to_q=q4_0"}, true) == "bf16");  // as the other part stays
  CHECK(type("q6_k", {"to_q=q4_0"}, true) == "q6_k");
  CHECK(type("q4_k", {"to_k=q6_k"}, false) == "q6_k");
  CHECK(type("q4_k", {"to_k=keep"}, false) == "bf16");
  CHECK(type("", {"qkv=q4_0", "to_k=q8_0"}, false) == "q4_0");
  CHECK(type("", {"to_.*weight=q4_0"}, false) == "q4_0");
  CHECK(type("q8_0", {}, false) == "q8_0");
  CHECK(type("q8_0", {}, true, R"({"types": {"transformer_blocks.0.attn.to_q": "q4_0"}})") == "q8_0");
  CHECK(type("", {}, true, R"({"types": {"transformer_blocks.0.attn.to_q": "q4_0"}})") == "bf16");
  CHECK(type("", {}, false, R"({"types": {"transformer_blocks.0": "q4_0"}})") == "q4_0");
}

TEST_CASE("a plan's layer covers the matrices and convolutions under it, after rules and before the type") {
  TypeOptions planned = type_options("q4_k", {"to_v=q8_0"});
  planned.plan =
      casting::parse_plan(R"({"types": {"blocks.1": "q6_k", "blocks.1.a": "q2_k", "gone": "f16"}})", "p");
  CHECK(chosen(planned, "blocks.1.b.weight", {256, 256}).type.name == "q6_k");
  CHECK(chosen(planned, "blocks.1.a.weight", {256, 256}).type.name == "q2_k");
  CHECK(chosen(planned, "blocks.1.a.bias", {256}).type.name == "f32");
  // No block divides rows of three values, and a plan counts on what stays.
  CHECK(chosen(planned, "blocks.1.conv.weight", {256, 256, 3, 3}).type.name == "bf16");
  CHECK(chosen(planned, "blocks.10.a.weight", {256, 256}).type.name == "q4_k");
  CHECK(chosen(planned, "blocks.1.to_v.weight", {256, 256}).type.name == "q8_0");
  CHECK(chosen(planned, "blocks.1.a.b.weight", {256, 256}).matched.layers ==
        std::set<std::string>{"blocks.1", "blocks.1.a"});
  // Of a matrix that is put together from several, the most precise of their types.
  const TensorFacts qkv{{{"qkv.weight", "blocks.1.a.weight"}, {"qkv.weight", "blocks.1.q.weight"}},
                        {256, 256},
                        *formats::find_type("bf16"),
                        true};
  CHECK(chosen_type(planned, qkv, Container::gguf).type.name == "q6_k");

  TypeOptions of_convolutions;
  of_convolutions.plan =
      casting::parse_plan(R"({"types": {"a": "fp8_e4m3", "b": "int8_row", "c": "mxfp8"}})", "p");
  const auto in_safetensors = [&](const char* name, const Shape& shape) {
    return chosen(of_convolutions, name, shape, Container::safetensors);
  };
  const Shape convolution{64, 64, 3, 3}, of_points{64, 64, 1, 1}, matrix{64, 64};
  for (const Shape& shape : {convolution, of_points, matrix})
    CHECK(in_safetensors("a.conv.weight", shape).type.name == "fp8_e4m3");
  for (const char* scaled : {"b.conv.weight", "c.conv.weight"}) {
    CHECK(in_safetensors(scaled, matrix).kept_because.empty());
    for (const Shape& shape : {convolution, of_points, Shape{64, 64, 32}}) {
      CHECK(in_safetensors(scaled, shape).type.name == "bf16");
      CHECK(in_safetensors(scaled, shape).instead_of);
    }
  }
  CHECK(in_safetensors("b.conv.weight", convolution).kept_because == "not a matrix of a layer");
  CHECK_FALSE(in_safetensors("b.conv.weight", convolution).undivided);
  CHECK(in_safetensors("b.conv.weight", convolution).matched.layers == std::set<std::string>{"b"});
}

TEST_CASE("rows that blocks do not divide get the smallest type that does and is no smaller") {
  const auto instead = [](const std::string& wanted, std::int64_t columns) {
    return std::string(chosen(type_options(wanted), "a.weight", {8, columns}).type.name);
  };
  CHECK(instead("q4_k", 640) == "iq4_nl");
  CHECK(instead("q2_k", 640) == "iq4_nl");
  CHECK(instead("q3_k", 128) == "iq4_nl");
  CHECK(instead("nvfp4", 96) == "iq4_nl");
  CHECK(instead("q5_k", 128) == "q5_0");
  CHECK(instead("q6_k", 128) == "q8_0");
  CHECK(instead("q4_k", 48) == "bf16");
  CHECK(instead("q8_0", 16) == "bf16");
  CHECK(chosen(type_options("q4_k"), "a.weight", {8, 640}).instead_of == formats::find_type("q4_k"));
  CHECK(chosen(type_options("q4_k"), "a.weight", {8, 640}).undivided == 640);
  CHECK(!chosen(type_options("q4_k"), "a.weight", {8, 512}).instead_of);
  CHECK(!chosen(type_options("q4_k"), "a.weight", {8, 512}).undivided);
  // Its blocks divide the rows; that 8 of them are no whole tiles is another reason.
  const ChosenType in_tiles = chosen(type_options("mxfp8"), "a.weight", {8, 512}, Container::safetensors);
  CHECK(in_tiles.instead_of == formats::find_type("mxfp8"));
  CHECK(!in_tiles.undivided);
  const ChosenType odd = chosen(type_options("mxfp8"), "a.weight", {32, 100}, Container::safetensors);
  CHECK(odd.instead_of == formats::find_type("mxfp8"));
  CHECK(odd.undivided == 100);
  // Of a bias that is put together, blocks are whole in its parts.
  const TypeOptions of_bias = type_options("", {"bias=q8_0"});
  TensorFacts halves{{{"final_layer.adaLN_modulation.1.bias"}}, {96}, *formats::find_type("bf16"), true};
  CHECK(chosen_type(of_bias, halves, Container::gguf).type.name == "q8_0");
  halves.values_in_run = 48;
  const ChosenType stays = chosen_type(of_bias, halves, Container::gguf);
  CHECK(stays.type.name == "f32");
  CHECK(stays.instead_of == formats::find_type("q8_0"));
  CHECK(stays.undivided == 48);
  for (const BlockFormat& format : block_formats)
    for (const std::int64_t columns : {32, 64, 96, 128, 224, 256, 640}) {
      if (columns % format.info.values_per_block == 0) continue;
      const auto other = formats::fitting_type(format.info, {32, columns});
      REQUIRE(other);
      CHECK(columns % other->values_per_block == 0);
      CHECK(formats::bits_per_value(*other) >= formats::bits_per_value(format.info));
    }
}

TEST_CASE("what stays as it is is held exactly by the file") {
  CHECK(chosen(type_options("q4_k"), "img_in.weight", {64, 64}, Container::gguf, "fp8_e4m3").type.name ==
        "f16");
  CHECK(
      chosen(type_options("fp8_e4m3"), "img_in.weight", {64, 64}, Container::safetensors, "q8_0").type.name ==
      "f32");
  CHECK(chosen(type_options("q4_k"), "img_in.weight", {64, 64}, Container::gguf, "q8_0").type.name == "q8_0");
}

TEST_CASE("rules that are none are refused in one line") {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"q4_k", "has no '='"},
           {"", "has no '='"},
           {"=q4_k", "no expression before"},
           {"img=", "no type after"},
           {"img=q4", "there is no type 'q4'"},
           {"img=q8_1", "there is no type 'q8_1'"},
           {"(=q4_k", "is not a regular expression"},
           {"[z-a]=q4_k", "is not a regular expression"},
           {"*=q4_k", "is not a regular expression: nothing precedes '*'"},
           {"a{2,1}=q4_k", "is not a regular expression"},
           {std::string(1001, '(') + "=q4_k", "more than 1000 characters"},
           {"a\nb(=q4_k", "a?b("}}) {
    const std::string said = refusal_of([&rule = text] { parse_rule(rule); });
    INFO(text.substr(0, 60) << " -> " << said);
    CHECK_THAT(said, Catch::Contains(words));
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("rules of expressions that are none, and of types that are none, are refused in one line") {
  const std::vector<std::string> expressions{
      "(",      ")",       "((a)",  "(a",         "a)",        "(a|b",    "(*)",
      "(+a)",   "(?",      "(?!",   "(?:",        "(?=a",      "(?<a>b)", "(a)\\2",
      "\\2(a)", "\\1",     "[",     "[a",         "[a-",       "[b-a]",   "[^",
      "[\\",    "[[.x",    "[[:",   "[[:alpha:]", "[[:none:]", "[[=",     "{1}",
      "a{",     "a{,2}",   "a{-1}", "a{1",        "a{1,",      "a{1,x}",  "a{99999999999}",
      "a|*",    "|*",      "^*",    "+",          "?",         "\\",      "\\c",
      "\\u12",  "\\u123g", "\\x",   "\\xg1",      "x(?#y)"};
  const std::vector<std::string> types{
      "q4",     "q8_1",      "q4_kk",          "q8_00",  "q4_k ", " q4_k", "q4-k",  "q4_K_S",
      "q4_k_m", "q5_k_s",    "iq1_s",          "iq2_xs", "iq3_s", "tq1_0", "f64",   "tf32",
      "i8",     "u8",        "bool",           "fp8",    "fp4",   "nf4",   "int8",  "int4",
      "e4m3",   "e5m2",      "float8_e4m3fn",  "bf16,",  "f17",   "half",  "keep ", "KEEP",
      "none",   "q4_k,q5_k", "fp8_e4m3_block", "mxfp6"};
  const auto refused = [](const std::string& rule, const std::string& words) {
    const std::string said = refusal_of([&] { parse_rule(rule); });
    INFO(rule << " -> " << said);
    CHECK_THAT(said, Catch::StartsWith("--rule '" + rule + "'") && Catch::Contains(words));
    CHECK(said.find('\n') == std::string::npos);
  };
  for (const std::string& expression : expressions)
    refused(expression + "=q8_0", "is not a regular expression");
  for (const std::string& type : types) refused("attn.*weight=" + type, "there is no type '" + type + "'");
  CHECK(expressions.size() + types.size() > 80);
}

TEST_CASE("rules whose expressions have many ways to match are matched in time that is bounded") {
  const std::string name = "model.diffusion_model.double_blocks.17.img_attn.norm.key_norm.weight";
  // Trying one way after the other, each of these takes days.
  for (const std::string expression :
       {"(.*)*x", "(([a-z._0-9])*)*Q", "(((((.*)*)*)*)*)*Q", "((a|aa|.)+)+Q$"}) {
    INFO(expression);
    CHECK(chosen(type_options("q4_k", {expression + "=q8_0"}), name, {256, 256}).type.name == "q4_k");
  }
  CHECK(chosen(type_options("q4_k", {"(.*)*weight$=q8_0"}), name, {256, 256}).type.name == "q8_0");
  CHECK_THAT(refusal_of([] { parse_rule("(.)\\1=q8_0"); }),
             Catch::Contains("is not a regular expression") && Catch::Contains("back-reference"));
}

TEST_CASE("the largest magnitude of values is told wherever it stands, and what is no number") {
  constexpr f32 infinity = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  CHECK(quant::largest_magnitude({}) == 0);
  for (const std::size_t count : {1u, 7u, 16u, 33u, 64u})
    for (std::size_t place = 0; place < count; ++place) {
      std::vector<f32> values(count, -0.25f);
      for (const f32 value : {1e-45f, -0.5f, 3e38f, -infinity}) {
        values[place] = value;
        CHECK(quant::largest_magnitude(values) == std::max(std::fabs(value), count > 1 ? 0.25f : 0.0f));
      }
      values[(place + 1) % count] = infinity;
      values[place] = -nan;
      CHECK(std::isnan(quant::largest_magnitude(values)));
    }
}

TEST_CASE("types that a kind of file does not have are refused before any work") {
  const auto refusal = [&](const std::string& type, Container container) {
    return refusal_of([&] { check_types(type_options(type), container); });
  };
  CHECK_THAT(refusal("q4_k", Container::safetensors),
             Catch::Contains("safetensors has no q4_k: write .gguf"));
  CHECK_THAT(refusal("fp8_e4m3", Container::gguf),
             Catch::Contains("GGUF has no fp8_e4m3: write .safetensors"));
  CHECK_THAT(refusal("mxfp8", Container::gguf), Catch::Contains("GGUF has no mxfp8"));
  CHECK(refusal("mxfp8", Container::safetensors).empty());
  CHECK_THAT(refusal("mxfp6_e2m3", Container::gguf),
             Catch::Contains("GGUF has no mxfp6_e2m3: write .safetensors"));
  CHECK(refusal("mxfp6_e2m3", Container::safetensors).empty());
  CHECK_THAT(refusal("mxfp4", Container::safetensors), Catch::Contains("safetensors has no mxfp4"));
  for (const Container container : {Container::safetensors, Container::gguf})
    CHECK(refusal("nvfp4", container).empty());
  CHECK_THAT(refusal("int8_row", Container::gguf),
             Catch::Contains("GGUF has no int8_row: write .safetensors"));
  CHECK(refusal("int8_row", Container::safetensors).empty());
  CHECK(refusal("q4_k", Container::gguf).empty());
  CHECK(refusal("fp8_e5m2", Container::safetensors).empty());

  // Neither kind of file would do: to name the other one would be no advice.
  casting::Plan both;
  both.types = {{"a", "q4_k"}, {"b", "fp8_e4m3"}, {"c", "bf16"}};
  TypeOptions planned;
  planned.plan = both;
  for (const Container container : {Container::safetensors, Container::gguf})
    CHECK_THAT(refusal_of([&] { check_types(planned, container); }),
               Catch::Contains("no file has both q4_k, which needs .gguf, and fp8_e4m3, which needs "
                               ".safetensors") &&
                   !Catch::Contains("write ."));
}

}  // namespace type_choices
