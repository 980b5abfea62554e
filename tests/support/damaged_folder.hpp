// DamagedFolder: a copy of a model folder in which a test damages one thing.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <support/temporary_folder.hpp>

namespace precast::testing {

/// A tensor as stored in a safetensors file.
struct RawTensor {
  std::string dtype;  ///< "F32"
  std::vector<std::int64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

/// Reads a well-formed file with independent code, to check the code under test against.
inline RawTensors read_raw(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  const auto header = nlohmann::json::parse(text.substr(sizeof length, length));
  RawTensors tensors;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = value["data_offsets"][0].get<std::size_t>(),
               end = value["data_offsets"][1].get<std::size_t>();
    tensors[name] = {value["dtype"], value["shape"],
                     text.substr(sizeof length + length + begin, end - begin)};
  }
  return tensors;
}

inline void write_raw(const std::filesystem::path& file, const RawTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::string whole(sizeof length, '\0');
  std::memcpy(whole.data(), &length, sizeof length);
  write_text(file, whole + text + data);
}

class DamagedFolder {
 public:
  explicit DamagedFolder(const std::filesystem::path& original) {
    std::filesystem::copy(original, path(), std::filesystem::copy_options::recursive);
  }

  std::filesystem::path path() const { return folder_.path() / "model"; }

  /// Changes a JSON file.
  void edit(std::string_view file, const std::function<void(nlohmann::json&)>& change) const {
    auto value = nlohmann::json::parse(read_text(path() / file));
    change(value);
    write_text(path() / file, value.dump());
  }
  /// Sets one key of a JSON file.
  void set(std::string_view file, const std::string& key, const nlohmann::json& value) const {
    edit(file, [&](nlohmann::json& json) { json[key] = value; });
  }
  void change_tensors(std::string_view file, const std::function<void(RawTensors&)>& change) const {
    RawTensors tensors = read_raw(path() / file);
    change(tensors);
    write_raw(path() / file, tensors);
  }
  void remove(std::string_view file) const { std::filesystem::remove_all(path() / file); }

 private:
  TemporaryFolder folder_;
};

}  // namespace precast::testing
