#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
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

/// The part of a name before its first number.
std::string group_of(const std::string& name) { return name.substr(0, name.find_first_of("0123456789")); }

/// The block that a layer or a matrix is in: its name up to the end of its first number.
std::string_view block_of(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  return name.substr(0, name.find_first_not_of(digits, std::min(name.find_first_of(digits), name.size())));
}

/// Groups in the order of the model, as far as files without an order show it: a group that directly
/// precedes another among the layers of a file, or among its missing layers, comes before it. Other groups
/// come in the order of the files.
std::vector<std::string> groups_in(std::span<const NamedCosts> files) {
  std::vector<std::string> groups;                           // as they are met
  std::set<std::pair<std::string, std::string>> neighbours;  // the first before the second
  const auto add = [&](const auto& layers, const auto& name_of) {
    std::optional<std::string> before;
    for (const auto& layer : layers) {
      std::string group = group_of(std::invoke(name_of, layer));
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
      if (before && *before != group) neighbours.emplace(*before, group);
      before = std::move(group);
    }
  };
  for (const NamedCosts& named : files) {
    add(named.file.layers, &LayerCost::name);
    add(named.file.missing, std::identity());
  }
  std::vector<std::string> sorted;
  while (!groups.empty()) {
    auto next = std::ranges::find_if(groups, [&](const std::string& group) {
      return std::ranges::none_of(groups, [&](const std::string& other) {
        return neighbours.contains({other, group});
      });
    });
    if (next == groups.end()) next = groups.begin();  // two files contradict each other
    sorted.push_back(*next);
    groups.erase(next);
  }
  return sorted;
}

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
  const std::vector<std::string> groups = groups_in(files);
  std::map<std::string_view, std::size_t> places;  // in the model
  for (const NamedCosts& named : files)
    if (merged.order.empty()) merged.order = named.file.order;
  for (const std::string& name : merged.order) places.emplace(name, places.size());
  const auto place_in_model = [&](const std::string& name) {
    const auto found = places.find(name);
    return found == places.end() ? places.size() : found->second;
  };
  const auto comes_before = [&](const std::string& a, const std::string& b) {
    if (place_in_model(a) != place_in_model(b)) return place_in_model(a) < place_in_model(b);
    const auto place = [&](const std::string& name) { return std::ranges::find(groups, group_of(name)); };
    if (place(a) != place(b)) return place(a) < place(b);
    return LayerOrder()(block_of(a), block_of(b));  // matrices of a block keep their order
  };
  std::ranges::stable_sort(merged.layers, comes_before, &LayerCost::name);
  std::ranges::stable_sort(merged.missing, comes_before);
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
