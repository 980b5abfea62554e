// A family of one linear layer, which joins the registry without a line outside of this file.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <families/registry.hpp>
#include <families/toy_family.hpp>
#include <sampling/torch_random.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/write_safetensors.hpp>
#include <precast/nn/linear.hpp>
#include <precast/policy/presets.hpp>

namespace precast::testing {

namespace {

using Layer = nn::Linear<presets::Quality>;

/// Colours are a linear layer of three channels of noise.
class ToyPipeline final : public families::Pipeline {
 public:
  ToyPipeline(std::filesystem::path folder, const families::ComponentChoices& choices)
      : folder_(std::move(folder)), choices_(choices) {}

  families::Result generate(const families::Request& request, const families::ProgressCallback& progress,
                            const families::PictureCallback& on_picture) const override {
    families::Result result(with_defaults(request));
    result.estimate = check(request);
    result.prompts = request.prompts;
    result.sampler = "Toy";
    const io::ComponentSource source(folder_ / "linear");
    const Layer layer(nn::ParameterPath(source), 3, 3);
    const int width = result.used.width, height = result.used.height;
    sampling::TorchGenerator generator(request.seed);
    result.latents = generator.randn(Shape{std::int64_t{width} * height, 3});
    if (progress) progress({"denoise", 1, 1});
    const Tensor<f32> colours = layer(result.latents);
    image::Image picture{width, height, {}};
    for (const f32 value : colours.values())
      picture.rgb.push_back(static_cast<std::uint8_t>(std::lround(255 / (1 + std::exp(-value)))));
    result.images.push_back(std::move(picture));
    if (on_picture) on_picture(result);
    return result;
  }
  families::MemoryEstimate check(const families::Request& request) const override {
    io::ComponentSource{folder_ / "linear"};
    return estimate(request);
  }
  families::MemoryEstimate estimate(const families::Request&) const override {
    return {{{"linear", 12 * 4, 64 * 64 * 3 * 4}}};
  }
  families::ResolvedRequest with_defaults(const families::Request& request) const override {
    return {request, {.steps = 1, .width = 16, .height = 8}};
  }
  std::vector<families::NamedTokens> tokens(const std::string& text) const override {
    return {{"bytes", {text.begin(), text.end()}}};
  }
  const families::ComponentChoices& choices() const override { return choices_; }
  const families::Family& family() const override { return toy_family(); }

 private:
  std::filesystem::path folder_;
  families::ComponentChoices choices_;
};

class ToyFamily final : public families::Family {
 public:
  std::string_view name() const override { return "Toy"; }
  std::span<const std::string_view> pipeline_classes() const override {
    static constexpr std::string_view name = "ToyPipeline";
    return {&name, 1};
  }
  std::span<const families::ComponentInfo> components() const override {
    static constexpr families::ComponentInfo linear{"linear", families::Role::denoiser};
    return {&linear, 1};
  }
  std::optional<families::ParameterAccounting> account(std::string_view class_name,
                                                       const std::filesystem::path&) const override {
    if (class_name != "ToyLinear") return std::nullopt;
    return families::ParameterAccounting{
        12, "linear, counted", {{"  parameters", "12"}}, {{"parameters", 12}}};
  }
  std::unique_ptr<families::Pipeline> open(const std::filesystem::path& folder,
                                           const families::ComponentChoices& choices,
                                           const families::Backend&) const override {
    return std::make_unique<ToyPipeline>(folder, choices);
  }
};

const families::Registration registration{toy_family()};

}  // namespace

const families::Family& toy_family() {
  static const ToyFamily toy;
  return toy;
}

void write_toy_model(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "linear");
  std::ofstream(folder / "model_index.json") << R"({"_class_name": "ToyPipeline"})";
  std::ofstream(folder / "linear" / "config.json") << R"({"_class_name": "ToyLinear"})";
  const std::vector<f32> identity{1, 0, 0, 0, 1, 0, 0, 0, 1}, zero{0, 0, 0};
  const Tensor<f32> weight(Shape{3, 3}, identity), bias(Shape{3}, zero);
  const std::array tensors{io::NamedTensor{"weight", weight}, io::NamedTensor{"bias", bias}};
  io::write_safetensors(folder / "linear" / "model.safetensors", tensors);
}

}  // namespace precast::testing
