// Reads the headers' JSON.
#include <set>
#include <utility>

#include <weights/header_announcements.hpp>
#include <weights/layouts.hpp>

#include <precast/io/json_text.hpp>

namespace precast::weights {

HeaderAnnouncements::HeaderAnnouncements(const io::ComponentSource& component) {
  constexpr const char* key = "_quantization_metadata";
  for (const io::TensorFile& file : component.files()) {
    if (!file.safetensors()) continue;
    const auto& metadata = file.safetensors()->metadata();
    const auto found = metadata.find(key);
    if (found == metadata.end()) continue;
    nlohmann::json object = io::parse_json(found->second, file.path(), std::string("header, ") + key);
    if (!object.is_object() || !object.contains("layers") || !object["layers"].is_object())
      throw io::file_error(
          file.path(), std::string("header: ") + key + " must hold an object 'layers': get the file anew");
    for (auto& [name, said] : object["layers"].items()) by_name_.insert_or_assign(name, std::move(said));
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

}  // namespace precast::weights
