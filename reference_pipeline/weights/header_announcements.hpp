// HeaderAnnouncements: the formats of layers that the headers of files announce.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <precast/io/component_source.hpp>

namespace precast::weights {

/// The objects `layers` of ComfyUI's `_quantization_metadata` in safetensors files, and the values
/// `comfy.gguf.quant.LAYER.weight` of GGUF files that molbal's ComfyUI-GGUF wrote, by the names of the
/// layers.
class HeaderAnnouncements {
 public:
  /// Throws InputError for what is no such object.
  explicit HeaderAnnouncements(const io::ComponentSource& component);
  HeaderAnnouncements(const HeaderAnnouncements&) = delete;
  HeaderAnnouncements& operator=(const HeaderAnnouncements&) = delete;

  /// The announcement of a layer of that name, or nullptr.
  const nlohmann::json* of(std::string_view layer) const {
    const auto found = by_name_.find(layer);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  /// The announcement of a layer that has that name without any part's prefix, or nullptr: a program that
  /// renamed the tensors may have left the header as it was.
  const nlohmann::json* of_any_prefix(std::string_view plain) const {
    const auto found = by_plain_name_.find(plain);
    return found == by_plain_name_.end() ? nullptr : found->second;
  }
  /// A layer with an announced format but no weight in the file under any prefix, or "".
  const std::string& without_weight() const { return without_weight_; }

 private:
  void read_safetensors(const io::SafetensorsFile& file);
  void read_gguf(const io::GgufFile& file);

  std::map<std::string, nlohmann::json, std::less<>> by_name_;
  std::map<std::string, const nlohmann::json*, std::less<>> by_plain_name_;
  std::string without_weight_;
};

}  // namespace precast::weights
