// Lists the tensors of a UNet.
#include <string>
#include <utility>
#include <vector>

#include <stable_diffusion/unet_stages.hpp>
#include <stable_diffusion/unet_tensors.hpp>

namespace precast::stable_diffusion {

namespace {

class Listing {
 public:
  explicit Listing(const UNetConfig& config) : config_(config) {}

  std::vector<UNetTensor> all() {
    const std::int64_t first = config_.levels.front().channels;
    conv("conv_in", config_.in_channels, first, 3);
    embedder("time_embedding", first);
    if (config_.guidance_channels > 0)
      linear_without_bias("time_embedding.cond_proj", config_.guidance_channels, first);
    if (config_.text_time) embedder("add_embedding", config_.text_time_width);

    for (const UNetStage& stage : stages_of(config_)) add(stage);
    norm("conv_norm_out", first);
    conv("conv_out", first, config_.out_channels, 3);
    return std::move(tensors_);
  }

 private:
  void add(const UNetStage& stage) {
    switch (stage.kind) {
      case UNetStage::Kind::residual:
        return residual(stage.place, stage.in_channels, stage.out_channels);
      case UNetStage::Kind::transformer:
        return transformer(stage.place, stage.depth, config_.levels[stage.level]);
      case UNetStage::Kind::halve:
      case UNetStage::Kind::enlarge:
        return conv(stage.place + ".conv", stage.in_channels, stage.out_channels, 3);
    }
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
