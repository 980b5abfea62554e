// LayerPeaks: the largest absolute value of each op, over all steps of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <precast/watch/observer.hpp>

namespace precast::cli {

/// An op of a model, over all of its runs.
struct LayerPeak {
  std::string path;      ///< "transformer.single_transformer_blocks.3.attn"
  std::string function;  ///< "linear"; a module may call several ops
  double max_abs = 0;    ///< the largest finite |x| of its results
  std::int64_t non_finite = 0;
};

/// Observes a run, and records each op once, in order of first execution.
class LayerPeaks final : public watch::Observer {
 public:
  void on_op(const watch::OpRecord& record) override;
  const std::vector<LayerPeak>& layers() const { return layers_; }

 private:
  std::vector<LayerPeak> layers_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace precast::cli
