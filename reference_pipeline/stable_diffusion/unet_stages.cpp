#include <optional>
#include <utility>

#include <stable_diffusion/unet_stages.hpp>

namespace precast::stable_diffusion {

namespace {

class StageListing {
 public:
  explicit StageListing(const UNetConfig& config)
      : config_(config), skips_{config.levels.front().channels}, channels_(skips_.back()) {}

  std::vector<UNetStage> all() {
    for (std::size_t i = 0; i < config_.levels.size(); ++i) down(i);
    middle();
    for (std::size_t i = 0; i < config_.levels.size(); ++i) up(i);
    return std::move(stages_);
  }

 private:
  using Kind = UNetStage::Kind;

  void down(std::size_t i) {
    const UNetLevel& level = config_.levels[i];
    const std::string place = "down_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j < level.layers; ++j) {
      layer(place, j, i, level.depth_down(j));
      leave_skip();
    }
    if (i + 1 == config_.levels.size()) return;
    stages_.push_back({Kind::halve, place + ".downsamplers.0", i, channels_, channels_});
    leave_skip();
  }
  void middle() {
    const std::size_t deepest = config_.levels.size() - 1;
    if (config_.mid_block == UNetConfig::MidBlockType::absent) return;
    const bool attends = config_.mid_block == UNetConfig::MidBlockType::attention;
    layer("mid_block", 0, deepest, attends ? std::optional(config_.mid_block_depth) : std::nullopt);
    if (attends) layer("mid_block", 1, deepest, std::nullopt);
  }
  void up(std::size_t i) {
    const std::size_t of = config_.levels.size() - 1 - i;
    const UNetLevel& level = config_.levels[of];
    const std::string place = "up_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j <= level.layers; ++j) {
      channels_ += skips_.back();
      skips_.pop_back();
      const std::size_t residual = stages_.size();
      layer(place, j, of, level.depth_up(j));
      stages_[residual].takes_skip = true;
    }
    if (i + 1 < config_.levels.size())
      stages_.push_back({Kind::enlarge, place + ".upsamplers.0", of, channels_, channels_});
  }

  /// A residual block, followed by a transformer if there is a depth.
  void layer(const std::string& place, std::int64_t index, std::size_t of,
             std::optional<std::int64_t> depth) {
    const std::int64_t to = config_.levels[of].channels;
    const std::string number = std::to_string(index);
    stages_.push_back({Kind::residual, place + ".resnets." + number, of, channels_, to});
    channels_ = to;
    if (depth) stages_.push_back({Kind::transformer, place + ".attentions." + number, of, to, to, *depth});
  }
  void leave_skip() {
    stages_.back().leaves_skip = true;
    skips_.push_back(channels_);
  }

  const UNetConfig& config_;
  std::vector<std::int64_t> skips_;
  std::int64_t channels_;  ///< of the latest result
  std::vector<UNetStage> stages_;
};

}  // namespace

std::vector<UNetStage> stages_of(const UNetConfig& config) { return StageListing(config).all(); }

std::vector<std::int64_t> skips_before(const UNetConfig& config, const std::vector<UNetStage>& stages,
                                       std::size_t index) {
  std::vector<std::int64_t> skips{config.levels.front().channels};
  for (std::size_t i = 0; i < index; ++i) {
    if (stages[i].takes_skip) skips.pop_back();
    if (stages[i].leaves_skip) skips.push_back(stages[i].out_channels);
  }
  return skips;
}

}  // namespace precast::stable_diffusion
