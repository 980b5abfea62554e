#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <casting/merge_costs.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include <precast/io/atomic_file.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::casting {

namespace {

[[noreturn]] void differ(const NamedCosts& a, const NamedCosts& b, const std::string& what) {
  throw InputError(io::printable(a.name) + " and " + io::printable(b.name) + " differ in " + what +
                   ": merge files of one measurement");
}

void add_layer(const NamedCosts& from, const LayerCost& layer,
               std::map<std::string, const NamedCosts*>& owners, std::vector<LayerCost>& layers) {
  auto found = std::ranges::find(layers, layer.name, &LayerCost::name);
  if (found == layers.end()) found = layers.insert(found, LayerCost{layer.name, layer.parameters, {}});
  const auto of_layer = " of layer '" + io::printable(layer.name) + "'";
  for (const auto& [type, cost] : layer.types) {
    TypeCost& merged = found->types[type];
    for (std::size_t i = 0; i < TypeCost::numbers().size(); ++i) {
      const auto number = TypeCost::numbers()[i];
      if (!(cost.*number)) continue;
      const NamedCosts*& owner = owners[layer.name + '\n' + type + '\n' + std::to_string(i)];
      if (owner && !same_number(merged.*number, cost.*number))
        differ(*owner, from, "the numbers" + of_layer + " in " + io::printable(type));
      if (!owner) owner = &from;
      merged.*number = cost.*number;
    }
  }
  if (!found->parameters) found->parameters = layer.parameters;
  if (layer.parameters && found->parameters != layer.parameters) {
    const auto& first = std::ranges::find_if(
        owners, [&](const auto& owner) { return owner.first.starts_with(layer.name + '\n'); });
    differ(first == owners.end() ? from : *first->second, from, "the parameters" + of_layer);
  }
}

/// Locks a file against other runs, from before it is read until it is replaced. Not valid where the file
/// does not exist or its file system has no locks.
io::FileDescriptor locked(const std::filesystem::path& path) {
  for (;;) {
    // Opened for writing, as network file systems require for locks.
    io::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid() || !file.lock()) return {};
    // If the previous holder has replaced the file, this lock is on the old one: try again.
    if (file.is_at(path)) return file;
  }
}

}  // namespace

CostFile merge_costs(std::span<const NamedCosts> files) {
  const NamedCosts& first = files.front();
  CostFile merged{first.file.model, first.file.samples, first.file.settings, {}, {}};
  const NamedCosts* estimated = nullptr;            // the first that has estimates
  std::map<std::string, const NamedCosts*> owners;  // of each number of a layer in a format
  for (const NamedCosts& named : files) {
    if (named.file.model != merged.model) differ(first, named, "\"model\"");
    if (named.file.samples != merged.samples) differ(first, named, "\"samples\"");
    if (named.file.settings != merged.settings) differ(first, named, "\"settings\"");
    if (named.file.has_estimates()) {
      if (!estimated) estimated = &named;
      if (named.file.estimates != estimated->file.estimates)
        differ(*estimated, named, "\"estimates\", which importance they were made from");
      merged.estimates = named.file.estimates;
    }
    for (const LayerCost& layer : named.file.layers) add_layer(named, layer, owners, merged.layers);
  }
  for (const NamedCosts& named : files)
    for (const std::string& name : named.file.missing)
      if (std::ranges::find(merged.layers, name, &LayerCost::name) == merged.layers.end() &&
          std::ranges::find(merged.missing, name) == merged.missing.end())
        merged.missing.push_back(name);
  for (const NamedCosts& named : files)
    if (merged.order.empty()) merged.order = named.file.order;
  std::map<std::string_view, std::size_t> places;  // in the model
  for (const std::string& name : merged.order) places.emplace(name, places.size());
  const auto place_of = [&](const std::string& name) {
    const auto found = places.find(name);
    return found == places.end() ? places.size() : found->second;
  };
  std::ranges::stable_sort(merged.layers, {}, [&](const LayerCost& layer) { return place_of(layer.name); });
  std::ranges::stable_sort(merged.missing, {}, place_of);
  return merged;
}

SharedCostFile::SharedCostFile(std::filesystem::path path) : path_(std::move(path)), known_(there()) {}

std::optional<CostFile> SharedCostFile::there() const {
  if (!io::is_there(io::followed_link(path_))) return std::nullopt;
  return read_cost_file(path_);
}

void SharedCostFile::write(const CostFile& all) {
  // A file that appears meanwhile is another run's, and is read before it is replaced.
  while (!write_once(all)) continue;
}

bool SharedCostFile::write_once(const CostFile& all) {
  const io::FileDescriptor lock = locked(path_);
  const std::optional<CostFile> now = there();
  if (now && now != known_) others_ = now;
  CostFile written = all;
  if (others_) {
    try {
      written = merge_costs(std::array{NamedCosts{"what was measured here", all},
                                       NamedCosts{"what another run has written", *others_}});
    } catch (const InputError& error) {
      throw io::file_error(path_, std::string("another run is writing it as well, and ") + error.what() +
                                      ", or give each its own --output");
    }
  }
  const std::string text = cost_file_text(written);
  try {
    io::write_file(path_, text, now ? io::OldFile::replaced : io::OldFile::kept);
  } catch (const InputError&) {
    if (now || !there()) throw;
    return false;
  }
  known_ = parse_cost_file(text, path_);  // not read from the file, which another run may have replaced
  return true;
}

}  // namespace precast::casting
