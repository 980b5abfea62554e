#include <algorithm>

#include <cli/running/layer_peaks.hpp>

namespace precast::cli {

void LayerPeaks::on_op(const watch::OpRecord& record) {
  const auto [place, is_new] =
      places_.try_emplace(record.path + '\n' + std::string(record.function), layers_.size());
  if (is_new) layers_.push_back({record.path, std::string(record.function), 0, 0});
  LayerPeak& layer = layers_[place->second];
  layer.max_abs = std::max(layer.max_abs, record.max_abs);
  layer.non_finite += record.infinities + record.nans;
}

}  // namespace precast::cli
