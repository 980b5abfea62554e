// Helpers with which a family implements Blocks: listing the parameters of each block, and loading them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/blocks.hpp>
#include <families/request.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// A source that records the parameters found in it, in order, as a denoiser loads from it.
class ListingSource final : public nn::ForwardingSource {
 public:
  /// `source` must outlive this.
  explicit ListingSource(const nn::ParameterSource& source) : ForwardingSource(source) {}

  nn::Parameter find(std::string_view name) const override;

  /// The block at a place, with the parameters that were found below it.
  Block block(const std::string& place) const;

 private:
  mutable std::vector<BlockParameter> found_;
};

/// Throws RequestError where `recording.every` is below 1.
void require_recording(const Recording& recording);

/// Loads blocks and reports the progress of `stage`: `open` gets the callback for bytes taken and returns a
/// pointer to the weights, and `load` makes the blocks from it.
template <class Open, class Load>
std::unique_ptr<Blocks> load_blocks(std::string_view stage, const ProgressCallback& progress, Open&& open,
                                    Load&& load) {
  const auto taken = std::make_shared<std::pair<std::int64_t, std::int64_t>>();  // bytes taken, of how many
  auto source = open([=](std::size_t bytes) {
    taken->first += static_cast<std::int64_t>(bytes);
    if (progress && taken->first < taken->second) progress({stage, taken->first, taken->second});
  });
  const auto total = static_cast<std::int64_t>(source->bytes_to_take());
  taken->second = total;
  std::unique_ptr<Blocks> blocks = load(std::move(source));
  taken->second = 0;  // blocks loaded again later are not reported
  if (progress) progress({stage, total, total});
  return blocks;
}

}  // namespace precast::families
