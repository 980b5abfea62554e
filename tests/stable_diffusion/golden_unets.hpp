// The tiny UNets of tests/golden/make_unets.py, and what they are given.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/generated_weights.hpp>
#include <support/golden.hpp>

#include <precast/io/config.hpp>

namespace precast::testing {

/// One of them.
class GoldenUNet {
 public:
  GoldenUNet(const Golden& golden, std::string name)
      : golden_(golden),
        name_(std::move(name)),
        facts_(golden.fact("cases").at(name_)),
        config_(stable_diffusion::UNetConfig::from(io::Config(name_ + ".json", facts_.at("config")))) {}

  const std::string& name() const { return name_; }
  const nlohmann::json& facts() const { return facts_; }
  const stable_diffusion::UNetConfig& config() const { return config_; }
  /// How many inputs it is given.
  int draws() const { return static_cast<int>(facts_.at("timesteps").size()); }

  std::unique_ptr<GeneratedSource> source() const {
    std::map<std::string, Shape, std::less<>> shapes;
    for (const auto& [tensor, shape] : stable_diffusion::unet_tensors(config_)) shapes.emplace(tensor, shape);
    return std::make_unique<GeneratedSource>(name_, std::move(shapes));
  }
  /// What the model predicts of an input, [n * h * w, channels].
  HostTensor<f32> predict(const stable_diffusion::UNet& unet, int draw) const {
    const HostTensor<f32> pixels = golden_.channels_last(key(draw, "latents"));
    const Shape& size = pixels.shape();
    return unet.predict(pixels.view().reshaped(Shape{1, size[0], size[1], size[2]}),
                        facts_.at("timesteps")[static_cast<std::size_t>(draw)].get<f32>(),
                        Inputs(*this, draw).conditionings);
  }
  /// What the blocks of a UNetModel start from on the way to that.
  template <class Model>
  families::BlockState state_before_blocks(const Model& unet, int draw) const {
    const HostTensor<f32> pixels = golden_.channels_last(key(draw, "latents"));
    const Shape& size = pixels.shape();
    const f32 timestep = facts_.at("timesteps")[static_cast<std::size_t>(draw)].get<f32>();
    const HostTensor<f32> time(Shape{1, 1}, std::span(&timestep, 1));
    const Inputs inputs(*this, draw);
    return unet.state_before_blocks(unet.prepare(inputs.conditionings), inputs.conditionings,
                                    pixels.view().reshaped(Shape{1, size[0], size[1], size[2]}), time);
  }
  /// What diffusers predicts of it in a dtype, pixel by pixel as `predict` has it.
  HostTensor<f32> expected(int draw, std::string_view dtype) const {
    const HostTensor<f32> planes = golden_.tensor(key(draw, dtype));
    const Shape& given = golden_.shape(key(draw, dtype));
    HostTensor<f32> pixels(Shape{given[0], given[2], given[3], given[1]});
    const std::int64_t area = given[2] * given[3];
    for (std::int64_t n = 0; n < given[0]; ++n)
      for (std::int64_t c = 0; c < given[1]; ++c)
        for (std::int64_t i = 0; i < area; ++i)
          pixels.data()[(n * area + i) * given[1] + c] = planes.data()[(n * given[1] + c) * area + i];
    return pixels;
  }
  /// How far diffusers' own is from its f32, draw by draw.
  std::vector<double> their_errors(std::string_view dtype) const {
    return facts_.at("errors").at(std::string(dtype) + "_from_f32");
  }

 private:
  /// Conditionings, and what they look at.
  struct Inputs {
    Inputs(const GoldenUNet& of, int draw) {
      const Shape given = of.golden_.shape(of.key(draw, "context"));
      context = of.golden_.tensor(of.key(draw, "context"));
      const bool has_pooled = of.golden_.has(of.key(draw, "pooled"));
      if (has_pooled) pooled = of.golden_.tensor(of.key(draw, "pooled"));
      const HostView<const f32> rows = context.view().reshaped(Shape{given[0] * given[1], given[2]});
      for (std::int64_t i = 0; i < given[0]; ++i) {
        stable_diffusion::Conditioning one;
        one.context = rows.rows_between(i * given[1], given[1]);
        if (has_pooled) one.pooled = std::as_const(pooled).view().rows_between(i, 1);
        one.time_ids = of.facts_.at("time_ids").get<std::vector<f32>>();
        // Pipelines of diffusers embed the scale less 1.
        if (of.facts_.contains("guidance")) one.guidance = of.facts_.at("guidance").get<f32>() - 1;
        conditionings.push_back(one);
      }
    }
    HostTensor<f32> context, pooled;
    std::vector<stable_diffusion::Conditioning> conditionings;
  };

  std::string key(int draw, std::string_view what) const {
    return name_ + "." + std::to_string(draw) + "." + std::string(what);
  }

  const Golden& golden_;
  std::string name_;
  nlohmann::json facts_;
  stable_diffusion::UNetConfig config_;
};

/// All of them. `golden` must outlive them.
inline std::vector<GoldenUNet> golden_unets(const Golden& golden) {
  std::vector<GoldenUNet> all;
  const nlohmann::json cases = golden.fact("cases");
  for (const auto& [name, facts] : cases.items()) all.emplace_back(golden, name);
  return all;
}

}  // namespace precast::testing
