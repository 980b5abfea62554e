// A Flux transformer whose linear weights are in blocks of a file's: the latents of the same model with the
// values of these blocks, in less memory. Products of its few rows (times, guidance, modulations) round
// nothing to operands and add in another order, so that latents differ as roundings do.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <support/block_source.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/random_model.hpp>

#include <precast/io/component_source.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Two blocks, wide enough for formats of 256 values.
flux::TransformerConfig two_blocks() {
  flux::TransformerConfig config;
  config.num_layers = 1;
  config.num_single_layers = 1;
  config.num_attention_heads = 4;
  config.joint_attention_dim = 512;
  config.pooled_projection_dim = 256;
  config.guidance_embeds = true;
  return config;
}

struct Run {
  HostTensor<f32> latents;
  std::int64_t weights = 0;    ///< bytes in use once it is loaded
  std::int64_t estimated = 0;  ///< the same in a dry run
};

/// Four steps, with more tokens than few rows are.
Run run(const PolicyChoice& choice, const flux::TransformerConfig& config,
        const nn::ParameterSource& source) {
  const flux::Models& models = flux::models_of(families::cpu_backend(), choice);
  const auto random = [](const Shape& shape) {
    HostTensor<f32> tensor(shape);
    const auto values = random_values<f32>(static_cast<std::size_t>(shape.elements()));
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      tensor.data()[i] = 50 * values[static_cast<std::size_t>(i)];
    return tensor;
  };
  Run result{random({6 * 8, config.in_channels})};
  const auto prompt = random({20, config.joint_attention_dim}),
             pooled = random({1, config.pooled_projection_dim});
  {
    DryRun dry;
    const auto described = models.transformer(config, source);
    result.estimated = dry.in_use();
  }
  const std::int64_t before = memory_use().in_use;
  const auto transformer = models.transformer(config, source);
  result.weights = memory_use().in_use - before;
  const flux::TransformerInput input{result.latents, prompt, pooled, 1, 3.5f, 6, 8};
  const std::vector<flux::DenoiseStep> steps{{1, -0.25f}, {0.75f, -0.25f}, {0.5f, -0.25f}, {0.25f, -0.25f}};
  transformer->denoise(result.latents, {input, steps}, [](std::int64_t) {});
  return result;
}

/// balanced and fast, where this build has them.
std::vector<PolicyChoice> presets() {
  std::vector<PolicyChoice> choices;
  for (const char* name : {"balanced", "fast"})
    if (path_compiled(preset_named(name)->choice)) choices.push_back(preset_named(name)->choice);
  return choices;
}

bool same(const HostTensor<f32>& a, const HostTensor<f32>& b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
}

/// Both ways of the same values give the same latents, within what docs/design.md promises of whole models,
/// and blocks take as many bytes less as they are smaller.
void check(const flux::TransformerConfig& config, const nn::ParameterSource& values,
           const BlockSource::Choose& choose) {
  for (const PolicyChoice& choice : presets()) {
    INFO(to_string(choice));
    BlockSource source(values, choose);
    const Run packed = run(choice, config, source);
    source.give(BlockSource::Give::values);
    const Run dense = run(choice, config, source);
    const auto distance = [](const Run& a, const Run& b) {
      return relative_error(a.latents.values(), b.latents.values());
    };
    if (choice.precision == precision_of<f32>) {
      CHECK(distance(packed, dense) <= largest_error);
    } else if (const PolicyChoice wide = preset_named("balanced")->choice; path_compiled(wide)) {
      const Run reference = run(wide, config, source);
      CHECK(distance(packed, reference) <= 1.1 * distance(dense, reference));
    }
    source.give(BlockSource::Give::blocks);
    CHECK(same(packed.latents, run(choice, config, source).latents));
    const Run before = run(choice, config, values);
    CHECK(distance(packed, before) > 2 * distance(packed, dense));
    // As memory is given out, in whole pages.
    std::int64_t less = 0;
    source.for_each_matrix([&](std::size_t count, std::size_t bytes) {
      less += static_cast<std::int64_t>(HostMemory::rounded(count * bytes_of(choice.precision))) -
              static_cast<std::int64_t>(HostMemory::rounded(bytes));
    });
    CHECK(less > dense.weights / 3);
    INFO(dense.weights << " bytes with values, " << packed.weights << " with blocks");
    CHECK(dense.weights - packed.weights == less);
    CHECK(packed.estimated == packed.weights);
    CHECK(dense.estimated == dense.weights);
  }
}

}  // namespace

TEST_CASE("a Flux transformer runs on weights in blocks as on their values") {
  const flux::TransformerConfig config = two_blocks();
  const RandomSource<bf16> values(tensors_of(config));
  const auto divides = [](std::string_view format, const Shape& shape) {
    return shape[1] % facts_of(format).values_per_block == 0 ? format : std::string_view("q8_0");
  };
  for (const std::string_view format : {"q8_0", "q4_k"}) {
    INFO(format);
    check(config, values, [&](std::string_view, const Shape& shape) { return divides(format, shape); });
  }
  // Mixed as files are: what enters and leaves in 16 bits, and each kind of layer in a format of its own.
  INFO("mixed");
  check(config, values, [&](std::string_view name, const Shape& shape) -> std::string_view {
    if (name.find("embed") != name.npos || name.starts_with("proj_out")) return "";
    if (name.find("attn") != name.npos) return divides("q5_k", shape);
    if (name.find("ff") != name.npos) return divides("iq4_xs", shape);
    return divides("q6_k", shape);
  });
}

TEST_CASE("the embedded model runs on weights in blocks as on their values") {
  const auto model =
      flux::ModelFolder::open(std::filesystem::path(PRECAST_SOURCE_DIR) / "reference_pipeline/shapes/model");
  const io::ComponentSource values(model.component("transformer"));
  check(model.transformer, values, [](std::string_view, const Shape& shape) {
    return std::string_view(shape[1] % 32 == 0 ? "q4_0" : "");
  });
}
