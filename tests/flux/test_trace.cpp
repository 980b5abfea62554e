// The op table is what ran: each record of a run has the five dtypes that its component's policy gives its op
// class.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/dtype_names.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/watch/observer.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

class Collector final : public watch::Observer {
 public:
  void on_op(const watch::OpRecord& record) override { records.push_back(record); }
  std::vector<watch::OpRecord> records;
};

/// The op table of a policy by the names of its op classes.
using Table = std::map<std::string, DtypeNames>;

Table table_of(const PolicyChoice& choice) {
  return visit_policy<Table>(choice, [](auto path) {
    Table table;
    AllOpClasses::for_each([&](auto op) {
      table[std::string(decltype(op)::name)] =
          dtype_names<precisions<typename decltype(path)::policy, decltype(op)>>();
    });
    return table;
  });
}

std::string component_of(const watch::OpRecord& record) {
  return record.path.substr(0, record.path.find('.'));
}

/// The op classes that each component is made of.
const std::map<std::string, std::set<std::string>> used_classes{
    {"text_encoder", {"Matmul", "Attention", "Norm", "Pointwise"}},
    {"text_encoder_2", {"Matmul", "Attention", "Norm", "Pointwise"}},
    {"transformer", {"Matmul", "Attention", "Norm", "Pointwise", "Position"}},
    {"vae", {"Conv", "Matmul", "Attention", "Norm", "Pointwise"}}};

void check_run(const flux::ComponentChoices& choices) {
  INFO("transformer " << to_string(choices.denoiser) << ", text " << to_string(choices.text_encoder)
                      << ", vae " << to_string(choices.vae));
  const std::map<std::string, Table> tables{
      {"text_encoder", table_of(choices.text_encoder)},
      {"text_encoder_2", table_of(choices.of(families::Role::t5_encoder))},
      {"transformer", table_of(choices.denoiser)},
      {"vae", table_of(choices.vae)}};
  const Golden golden("dev_f32");
  Collector collector;
  {
    const watch::Watching watching(collector);
    flux::FluxPipeline(golden_model("dev_f32"), choices).generate(image_request_of(golden, 0));
  }
  std::map<std::string, std::set<std::string>> classes;
  std::size_t wrong = 0;
  for (const watch::OpRecord& record : collector.records) {
    const std::string component = component_of(record), op(record.op);
    classes[component].insert(op);
    const auto table = tables.find(component);
    const bool agrees =
        table != tables.end() && table->second.contains(op) && table->second.at(op) == record.dtypes;
    if (agrees) continue;
    ++wrong;
    UNSCOPED_INFO(record.path << " " << record.function << " (" << op
                              << "): " << Catch::StringMaker<DtypeNames>::convert(record.dtypes));
  }
  CHECK(wrong == 0);
  CHECK(classes == used_classes);
}

}  // namespace

TEST_CASE("under every policy a run's trace is the op table", "[watch]") {
  for (const PolicyChoice& choice : compiled_choices()) check_run(flux::ComponentChoices::all(choice));
}

TEST_CASE("with a policy for each component, each component's trace is its own table", "[watch]") {
  const std::vector<PolicyChoice> choices = compiled_choices();
  const std::size_t count = choices.size();
  for (std::size_t i = 0; i < count; ++i)
    check_run({choices[i], choices[(i + count / 3) % count], choices[(i + 2 * count / 3) % count],
               choices[(i + count / 2) % count]});
}

TEST_CASE("a record says where its op stands, what came out, and nothing is observed without an observer",
          "[watch]") {
  const Golden golden("dev_f32");
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  Collector collector;
  pipeline.generate(request_of(golden));
  CHECK(collector.records.empty());
  const flux::Result unwatched = pipeline.generate(request_of(golden));
  const flux::Result watched = [&] {
    const watch::Watching watching(collector);
    return pipeline.generate(request_of(golden));
  }();
  CHECK(std::equal(watched.latents.values().begin(), watched.latents.values().end(),
                   unwatched.latents.values().begin()));
  std::set<std::string> paths;
  for (const watch::OpRecord& record : collector.records) {
    paths.insert(record.path);
    INFO(record.path << " " << record.function);
    CHECK(record.infinities == 0);
    CHECK(record.nans == 0);
    CHECK(record.max_abs > 0);
    CHECK(record.shape.elements() > 0);
    CHECK(!record.function.empty());
  }
  for (const char* path :
       {"text_encoder.embeddings", "text_encoder.layers.1.mlp.fc2", "text_encoder.final_layer_norm",
        "text_encoder_2.block.0.layer.0.SelfAttention.q", "text_encoder_2.block.1.layer.1.DenseReluDense.wo",
        "transformer.time_text_embed.guidance_embedder.linear_1", "transformer.transformer_blocks.1.attn",
        "transformer.transformer_blocks.0.ff_context.net.2",
        "transformer.single_transformer_blocks.0.proj_mlp", "transformer.norm_out", "transformer.proj_out",
        "vae.decoder.mid_block.attentions.0", "vae.decoder.up_blocks.0.upsamplers.0.conv",
        "vae.decoder.conv_out"}) {
    INFO(path);
    CHECK(paths.contains(path));
  }
}
