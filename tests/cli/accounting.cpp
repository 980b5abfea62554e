// The accounting of a Flux transformer: Flux.1-dev's published numbers, and every tensor of the golden
// models.
#include <filesystem>

#include <catch2/catch.hpp>
#include <flux/accounting.hpp>

#include <precast/io/component_source.hpp>

using namespace precast;

TEST_CASE("Flux.1-dev is accounted for to the last digit") {
  flux::TransformerConfig config;  // 19 + 38 blocks, 24 heads x 128, joint 4096, pooled 768, in 64
  config.guidance_embeds = true;
  const flux::Accounting dev = flux::account(config);
  CHECK(dev.double_block_weights == 339'738'624);
  CHECK(dev.single_block_weights == 141'557'760);
  CHECK(dev.block_weights() == 11'834'228'736);
  CHECK(dev.quantisable() == 11'837'294'656);
  CHECK(dev.biases() == 3'065'920);
  CHECK(dev.block_biases == 3'035'136);
  CHECK(dev.entry_and_exit == 64'124'992);
  CHECK(dev.norm_scales == 19'456);
  CHECK(dev.parameters() == 11'901'408'320);
}

TEST_CASE("of two published counts of Flux.1-dev's block biases, one counts entry and exit twice") {
  flux::TransformerConfig config;
  config.guidance_embeds = true;
  const flux::Accounting dev = flux::account(config);
  const std::int64_t prose = 3'035'136, table = 3'065'920, never_cast = 64'144'448;
  CHECK(dev.entry_and_exit + dev.norm_scales == never_cast);
  CHECK(dev.block_biases == prose);
  CHECK(dev.block_biases + dev.entry_and_exit_biases == table);
  // Patched, with biases as the prose counts them, is the whole model; the table's rows are 30,784 more.
  CHECK(dev.block_weights() + prose + never_cast == dev.parameters());
  CHECK(dev.block_weights() + table + never_cast == dev.parameters() + dev.entry_and_exit_biases);
  CHECK(dev.quantisable() + never_cast == dev.parameters() + dev.entry_and_exit_biases);
  CHECK(100.0 * static_cast<double>(dev.quantisable()) /
            static_cast<double>(dev.quantisable() + never_cast) ==
        Approx(99.461).margin(0.0005));
  CHECK(100.0 * static_cast<double>(dev.block_weights()) /
            static_cast<double>(dev.quantisable() + never_cast) ==
        Approx(99.435).margin(0.0005));
}

TEST_CASE("Flux.1-schnell has no guidance embedder") {
  flux::TransformerConfig config;
  const flux::Accounting schnell = flux::account(config);
  CHECK(schnell.block_weights() == 11'834'228'736);
  CHECK(schnell.parameters() == 11'891'178'560);
}

TEST_CASE("the accounting of a config is what its weights hold") {
  int models = 0;
  for (const auto& model : std::filesystem::directory_iterator(PRECAST_SOURCE_DIR "/tests/golden/models")) {
    const auto folder = model.path() / "transformer";
    if (!std::filesystem::exists(folder / "config.json")) continue;
    INFO(folder.string());
    const auto config = flux::TransformerConfig::load(folder / "config.json");
    const flux::Accounting by_config = flux::account(config);
    const io::ComponentSource source(folder);
    std::int64_t block_weights = 0, block_biases = 0, norm_scales = 0, ends = 0, end_biases = 0;
    for (const io::TensorEntry* tensor : source.tensors()) {
      const std::int64_t count = tensor->shape.elements();
      const std::string_view name = tensor->name;
      const bool is_bias = name.ends_with(".bias");
      if (!name.starts_with("transformer_blocks.") && !name.starts_with("single_transformer_blocks.")) {
        ends += count;
        if (is_bias) end_biases += count;
      } else if (name.find(".norm_") != name.npos) {
        norm_scales += count;
      } else if (is_bias) {
        block_biases += count;
      } else {
        CHECK(flux::block_weight_shape(config, name) == tensor->shape);
        block_weights += count;
      }
    }
    CHECK(by_config.block_weights() == block_weights);
    CHECK(by_config.block_biases == block_biases);
    CHECK(by_config.norm_scales == norm_scales);
    CHECK(by_config.entry_and_exit == ends);
    CHECK(by_config.entry_and_exit_biases == end_biases);
    ++models;
  }
  CHECK(models >= 4);
}
