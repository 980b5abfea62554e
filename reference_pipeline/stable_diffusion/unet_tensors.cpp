// Lists the tensors of a UNet.
#include <string>
#include <utility>
#include <vector>

#include <stable_diffusion/unet_tensors.hpp>

namespace precast::stable_diffusion {

namespace {

class Listing {
 public:
  explicit Listing(const UNetConfig& config) : config_(config) {}

  std::vector<UNetTensor> all() {
    const std::vector<UNetLevel>& levels = config_.levels;
    const std::int64_t first = levels.front().channels;
    conv("conv_in", config_.in_channels, first, 3);
    embedder("time_embedding", first);
    if (config_.guidance_channels > 0)
      linear_without_bias("time_embedding.cond_proj", config_.guidance_channels, first);
    if (config_.text_time) embedder("add_embedding", config_.text_time_width);

    std::vector<std::int64_t> skips{first};  // channels of what waits for the way up
    for (std::size_t i = 0; i < levels.size(); ++i) down(i, skips);
    const UNetLevel& deepest = levels.back();
    if (config_.middle != UNetConfig::Middle::absent)
      residual("mid_block.resnets.0", deepest.channels, deepest.channels);
    if (config_.middle == UNetConfig::Middle::attention) {
      transformer("mid_block.attentions.0", config_.middle_depth, deepest);
      residual("mid_block.resnets.1", deepest.channels, deepest.channels);
    }
    std::int64_t channels = deepest.channels;
    for (std::size_t i = 0; i < levels.size(); ++i) channels = up(i, channels, skips);
    norm("conv_norm_out", first);
    conv("conv_out", first, config_.out_channels, 3);
    return std::move(tensors_);
  }

 private:
  void down(std::size_t i, std::vector<std::int64_t>& skips) {
    const UNetLevel& level = config_.levels[i];
    const std::string place = "down_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j < level.layers; ++j) {
      residual(place + ".resnets." + std::to_string(j), skips.back(), level.channels);
      if (const auto depth = level.depth_down(j))
        transformer(place + ".attentions." + std::to_string(j), *depth, level);
      skips.push_back(level.channels);
    }
    if (i + 1 == config_.levels.size()) return;
    conv(place + ".downsamplers.0.conv", level.channels, level.channels, 3);
    skips.push_back(level.channels);
  }
  std::int64_t up(std::size_t i, std::int64_t channels, std::vector<std::int64_t>& skips) {
    const UNetLevel& level = config_.levels[config_.levels.size() - 1 - i];
    const std::string place = "up_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j <= level.layers; ++j) {
      residual(place + ".resnets." + std::to_string(j), channels + skips.back(), level.channels);
      if (const auto depth = level.depth_up(j))
        transformer(place + ".attentions." + std::to_string(j), *depth, level);
      skips.pop_back();
      channels = level.channels;
    }
    if (i + 1 < config_.levels.size()) conv(place + ".upsamplers.0.conv", channels, channels, 3);
    return channels;
  }

  void residual(const std::string& place, std::int64_t in, std::int64_t out) {
    norm(place + ".norm1", in);
    conv(place + ".conv1", in, out, 3);
    linear(place + ".time_emb_proj", config_.time_width, out);
    norm(place + ".norm2", out);
    conv(place + ".conv2", out, out, 3);
    if (in != out) conv(place + ".conv_shortcut", in, out, 1);
  }
  void transformer(const std::string& place, std::int64_t depth, const UNetLevel& level) {
    const std::int64_t inner = level.inner();
    norm(place + ".norm", level.channels);
    projection(place + ".proj_in", level.channels, inner);
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::string block = place + ".transformer_blocks." + std::to_string(k);
      norm(block + ".norm1", inner);
      attention(block + ".attn1", inner, inner);
      norm(block + ".norm2", inner);
      attention(block + ".attn2", inner, config_.context_width);
      norm(block + ".norm3", inner);
      linear(block + ".ff.net.0.proj", inner, 8 * inner);
      linear(block + ".ff.net.2", 4 * inner, inner);
    }
    projection(place + ".proj_out", inner, level.channels);
  }
  void attention(const std::string& place, std::int64_t inner, std::int64_t context) {
    linear_without_bias(place + ".to_q", inner, inner);
    linear_without_bias(place + ".to_k", context, inner);
    linear_without_bias(place + ".to_v", context, inner);
    linear(place + ".to_out.0", inner, inner);
  }
  void embedder(const std::string& place, std::int64_t in) {
    linear(place + ".linear_1", in, config_.time_width);
    linear(place + ".linear_2", config_.time_width, config_.time_width);
  }
  void projection(const std::string& place, std::int64_t in, std::int64_t out) {
    if (config_.linear_projection)
      linear(place, in, out);
    else
      conv(place, in, out, 1);
  }
  void linear_without_bias(const std::string& place, std::int64_t in, std::int64_t out) {
    tensors_.push_back({place + ".weight", {out, in}});
  }
  void linear(const std::string& place, std::int64_t in, std::int64_t out) {
    linear_without_bias(place, in, out);
    tensors_.push_back({place + ".bias", {out}});
  }
  void conv(const std::string& place, std::int64_t in, std::int64_t out, std::int64_t kernel) {
    tensors_.push_back({place + ".weight", {out, in, kernel, kernel}});
    tensors_.push_back({place + ".bias", {out}});
  }
  void norm(const std::string& place, std::int64_t size) {
    tensors_.push_back({place + ".weight", {size}});
    tensors_.push_back({place + ".bias", {size}});
  }

  const UNetConfig& config_;
  std::vector<UNetTensor> tensors_;
};

}  // namespace

std::vector<UNetTensor> unet_tensors(const UNetConfig& config) { return Listing(config).all(); }

std::int64_t unet_parameters(const UNetConfig& config) {
  std::int64_t count = 0;
  for (const UNetTensor& tensor : unet_tensors(config)) count += tensor.shape.elements();
  return count;
}

}  // namespace precast::stable_diffusion
