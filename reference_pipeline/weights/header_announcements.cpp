// Reads the headers' JSON.
#include <set>
#include <utility>

#include <weights/header_announcements.hpp>
#include <weights/layouts.hpp>

#include <precast/io/config.hpp>

namespace precast::weights {

HeaderAnnouncements::HeaderAnnouncements(const io::ComponentSource& component) {
  for (const io::TensorFile& file : component.files()) {
    if (file.safetensors()) read_safetensors(*file.safetensors());
    if (file.gguf()) read_gguf(*file.gguf());
  }
  if (by_name_.empty()) return;
  for (const auto& [name, said] : by_name_) by_plain_name_.emplace(without_prefix(name), &said);
  std::set<std::string_view> weights;
  constexpr std::string_view ending = ".weight";
  for (const io::TensorEntry* entry : component.tensors())
    if (entry->name.ends_with(ending))
      weights.insert(
          without_prefix(std::string_view(entry->name).substr(0, entry->name.size() - ending.size())));
  for (const auto& [name, said] : by_name_)
    if (without_weight_.empty() && !weights.contains(without_prefix(name))) without_weight_ = name;
}

void HeaderAnnouncements::read_safetensors(const io::SafetensorsFile& file) {
  constexpr const char* key = "_quantization_metadata";
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return;
  const io::Config layers =
      io::Config::of_part(found->second, file.path(), std::string("header, ") + key).object("layers");
  for (const auto& [name, said] : layers.json().items()) by_name_.insert_or_assign(name, said);
}

void HeaderAnnouncements::read_gguf(const io::GgufFile& file) {
  constexpr std::string_view before = "comfy.gguf.quant.", ending = ".weight";
  for (const io::GgufValue& value : file.values()) {
    std::string_view layer = value.key();
    if (!layer.starts_with(before)) continue;
    layer.remove_prefix(before.size());
    const std::string where = "key '" + io::printable(value.key()) + "'";
    if (!layer.ends_with(ending))
      throw io::file_error(file.path(), where + " names no weight of a layer: get the file again");
    layer.remove_suffix(ending.size());
    nlohmann::json said = io::parse_json(value.text(), file.path(), where);
    // Its oldest files announce a rotation that was not applied to what they store.
    if (said.is_object() && said.value("weight_rotated", nlohmann::json()) != true) said.erase("convrot");
    by_name_.insert_or_assign(std::string(layer), std::move(said));
  }
}

}  // namespace precast::weights
