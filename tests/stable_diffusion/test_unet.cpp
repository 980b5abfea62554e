// UNets under every policy against diffusers, and what is promised of them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <families/backend.hpp>
#include <stable_diffusion/golden_unets.hpp>
#include <stable_diffusion/models.hpp>
#include <stable_diffusion/released_unets.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/arrays.hpp>
#include <support/check_estimate.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/watch/trace.hpp>

using namespace precast;
using namespace precast::testing;
using stable_diffusion::Conditioning;
using stable_diffusion::UNetConfig;

namespace {

std::unique_ptr<stable_diffusion::Denoiser> model_of(const GoldenUNet& unet, const PolicyChoice& choice) {
  return stable_diffusion::models_of(families::cpu_backend(), choice).denoiser(unet.config(), *unet.source());
}

double error_of(const GoldenUNet& golden, const stable_diffusion::UNet& unet, int draw) {
  const HostTensor<f32> ours = golden.predict(unet, draw), theirs = golden.expected(draw, "f32");
  REQUIRE(ours.shape() == theirs.shape());
  return relative_error(ours.values(), theirs.values());
}

HostTensor<f32> ramp(const Shape& shape) {
  HostTensor<f32> values(shape);
  for (std::int64_t i = 0; i < values.elements() && !DryRun::active(); ++i)
    values.data()[i] = static_cast<f32>(i * 37 % 101) / 50.5f - 1;
  return values;
}

}  // namespace

TEST_CASE("in f32 UNets predict what diffusers predicts") {
  const Golden golden("unets");
  for (const GoldenUNet& unet : golden_unets(golden))
    for (const PolicyChoice& choice : f32_choices()) {
      const auto source = unet.source();
      const auto model =
          stable_diffusion::models_of(families::cpu_backend(), choice).denoiser(unet.config(), *source);
      CHECK(source->all_taken());
      for (int draw = 0; draw < unet.draws(); ++draw) {
        const double error = error_of(unet, model->unet(), draw);
        CAPTURE(unet.name(), to_string(choice), draw, error);
        CHECK(error <= largest_error);
      }
    }
}

// One run's error is luck, by about 10%: all cases count together.
TEST_CASE("in bf16 and f16 UNets err at most 1.1 times as much as diffusers") {
  const Golden golden("unets");
  for (const PolicyChoice& choice : compiled_choices()) {
    if (choice.precision == precision_of<f32>) continue;
    std::vector<double> ratios;
    for (const GoldenUNet& unet : golden_unets(golden)) {
      const auto model = model_of(unet, choice);
      std::vector<double> ours;
      for (int draw = 0; draw < unet.draws(); ++draw) ours.push_back(error_of(unet, model->unet(), draw));
      ratios.push_back(root_mean_square(ours) /
                       root_mean_square(unet.their_errors(to_string(choice.precision))));
    }
    const double together = root_mean_square(ratios);
    CAPTURE(to_string(choice), ratios, together);
    CHECK(together <= 1.1);
    CHECK(together > 0.05);  // not f32 under another name
  }
}

TEST_CASE("a UNet's prediction has the same bits on any number of threads, under every policy") {
  const Golden golden("unets");
  for (const GoldenUNet& unet : golden_unets(golden))
    for (const PolicyChoice& choice : compiled_choices()) {
      INFO(unet.name() << " under " << to_string(choice));
      const auto model = model_of(unet, choice);
      const auto with_threads = [&](int count) {
        const Threads threads(count);
        return unet.predict(model->unet(), 1);
      };
      CHECK(same_bits(with_threads(2), with_threads(1)));
    }
}

TEST_CASE("conditionings side by side are those one after the other") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "sd15");
  const auto model = model_of(unet, f32_choices().front());
  const HostTensor<f32> latents = ramp({1, 12, 16, 4}), negative = ramp({9, 24});
  HostTensor<f32> prompt = ramp({9, 24});
  for (f32& value : prompt.values()) value *= value;
  const std::vector<Conditioning> both{{.context = negative.view()}, {.context = prompt.view()}};
  const HostTensor<f32> together = model->unet().predict(latents, 333, both);
  REQUIRE(together.shape() == Shape{2, 12, 16, 4});
  for (std::int64_t i = 0; i < 2; ++i) {
    const HostTensor<f32> alone = model->unet().predict(latents, 333, both[static_cast<std::size_t>(i)]);
    const auto part = together.view().rows_between(i * 12 * 16, 12 * 16);
    CHECK(relative_error(part.values(), alone.values()) <= largest_error);
  }
  CHECK(relative_error(together.view().rows_between(0, 192).values(),
                       together.view().rows_between(192, 192).values()) > 1e-3);
}

TEST_CASE("an embedded guidance changes what a UNet predicts, and may be left out") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "lcm");
  const auto model = model_of(unet, f32_choices().front());
  const HostTensor<f32> latents = ramp({1, 8, 8, 4}), context = ramp({5, 12});
  const auto with = [&](std::optional<f32> guidance) {
    return model->unet().predict(latents, 99, Conditioning{.context = context.view(), .guidance = guidance});
  };
  CHECK(relative_error(with(6.5f).values(), with(1.0f).values()) > 1e-3);
  CHECK(relative_error(with(std::nullopt).values(), with(1.0f).values()) > 1e-3);
}

TEST_CASE("what does not fit a UNet is one line") {
  const Golden golden("unets");
  const GoldenUNet plain(golden, "sd15"), with_text(golden, "sdxl");
  const auto model = model_of(plain, compiled_choices().front()),
             sdxl = model_of(with_text, compiled_choices().front());
  const HostTensor<f32> latents = ramp({1, 8, 8, 4}), context = ramp({5, 24}), other = ramp({6, 24}),
                        wide = ramp({5, 18}), pooled = ramp({1, 14});
  const Conditioning good{.context = context.view()};
  const auto complaint = [](const stable_diffusion::UNet& unet, HostView<const f32> pixels,
                            const std::vector<Conditioning>& conditionings) {
    try {
      unet.predict(pixels, 10, conditionings);
      return std::string();
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
  };
  CHECK(complaint(model->unet(), latents, {good}) == "");
  const std::vector<std::pair<std::string, std::string>> complaints{
      {complaint(model->unet(), ramp({1, 8, 8, 9}), {good}), "[1, 8, 8, 9]"},
      {complaint(model->unet(), ramp({8, 8, 4}), {good}), "[8, 8, 4]"},
      {complaint(model->unet(), ramp({3, 8, 8, 4}), {good, good}), "2 conditionings"},
      {complaint(model->unet(), ramp({1, 0, 8, 4}), {good}), "[1, 0, 8, 4]"},
      {complaint(model->unet(), latents, {}), "no conditioning"},
      {complaint(model->unet(), latents, {{.context = wide.view()}}), "[tokens, 24]"},
      {complaint(model->unet(), latents, {good, {.context = other.view()}}), "[6, 24] differ"},
      {complaint(model->unet(), latents, {good, {.context = context.view(), .guidance = 1.0f}}), "guidance"},
      {complaint(sdxl->unet(), latents, {{.context = wide.view()}}), "addition_embed_type"},
      {complaint(sdxl->unet(), latents, {{.context = wide.view(), .pooled = pooled.view()}}), "0 time ids"},
  };
  for (const auto& [message, says] : complaints) {
    CHECK_THAT(message, Catch::Contains(says));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("the estimate of a UNet is what it takes") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "sd21");
  for (const PolicyChoice& choice : compiled_choices()) {
    INFO(to_string(choice));
    const auto load = [&] { return model_of(unet, choice); };
    const auto run = [&](const stable_diffusion::Denoiser& model) {
      const HostTensor<f32> context = ramp({11, 20}), latents = ramp({1, 33, 31, 4});
      model.unet().predict(latents, 7, Conditioning{.context = context.view()});
    };
    check_estimate("unet", load, run);
  }
}

TEST_CASE("a UNet of a released model's size loads without weights to count its memory") {
  const UNetConfig config = released_unet("1.5").parsed();
  for (const PolicyChoice& choice : compiled_choices()) {
    const DryRun dry;
    const nn::AbsentParameters absent;
    const auto model = stable_diffusion::models_of(families::cpu_backend(), choice).denoiser(config, absent);
    const std::int64_t weights = dry.in_use(), bytes = static_cast<std::int64_t>(bytes_of(choice.precision));
    const std::int64_t parameters = stable_diffusion::unet_parameters(config);
    CAPTURE(to_string(choice), weights);
    CHECK(weights >= parameters * bytes);
    CHECK(weights < parameters * bytes + parameters / 100);  // biases, which are held in f32
    const HostTensor<f32> context = ramp({77, 768}), latents = ramp({1, 64, 64, 4});
    model->unet().predict(latents, 500, Conditioning{.context = context.view()});
    CHECK(dry.peak() - weights > 64 * 64 * 2560 * bytes);  // a widened feed-forward layer, if nothing else
  }
}

TEST_CASE("a UNet's ops are reported by their places in the file", "[watch]") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "sdxl");
  for (const PolicyChoice& choice : compiled_choices()) {
    const auto model = model_of(unet, choice);
    watch::Trace trace;
    {
      const watch::Watching watching(trace);
      unet.predict(model->unet(), 0);
    }
    const auto has = [&](const std::string& path) {
      return std::ranges::any_of(trace.records(), [&](const auto& record) { return record.path == path; });
    };
    for (const char* path :
         {"unet.conv_in", "unet.time_embedding.linear_1", "unet.add_embedding.linear_2",
          "unet.down_blocks.0.resnets.1.conv2", "unet.down_blocks.0.downsamplers.0.conv",
          "unet.down_blocks.2.attentions.1.transformer_blocks.2.attn2.to_k",
          "unet.mid_block.attentions.0.transformer_blocks.0.ff.net.0.proj",
          "unet.mid_block.resnets.1.time_emb_proj", "unet.up_blocks.1.upsamplers.0.conv",
          "unet.up_blocks.2.resnets.2.conv_shortcut", "unet.conv_norm_out", "unet.conv_out"}) {
      CAPTURE(path);
      CHECK(has(path));
    }
    for (const auto& record : trace.records()) CHECK(record.infinities + record.nans == 0);
  }
}
