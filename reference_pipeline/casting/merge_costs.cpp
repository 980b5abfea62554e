#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <casting/merge_costs.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <precast/io/atomic_file.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::casting {

namespace {

/// What stands before the first number of a name.
std::string group_of(const std::string& name) { return name.substr(0, name.find_first_of("0123456789")); }

/// The block that a layer or a matrix is in: its name as far as its first number.
std::string_view block_of(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  return name.substr(0, name.find_first_not_of(digits, std::min(name.find_first_of(digits), name.size())));
}

/// Groups in the order in which a model has them, as far as the files tell: one that a file has before
/// another comes before it.
std::vector<std::string> groups_in(std::span<const NamedCosts> files) {
  std::vector<std::string> groups;
  for (const NamedCosts& named : files) {
    auto place = groups.end();  // new ones go before the next known one, which is found from the back
    for (auto layer = named.file.layers.rbegin(); layer != named.file.layers.rend(); ++layer) {
      const std::string group = group_of(layer->name);
      const auto known = std::ranges::find(groups, group);
      place = known != groups.end() ? known : groups.insert(place, group);
    }
  }
  return groups;
}

[[noreturn]] void differ(const NamedCosts& a, const NamedCosts& b, const std::string& what) {
  throw InputError(io::printable(a.name) + " and " + io::printable(b.name) + " differ in " + what +
                   ": merge files of one measurement");
}

void add_layer(const NamedCosts& from, const LayerCost& layer,
               std::map<std::string, const NamedCosts*>& owners, std::vector<LayerCost>& layers) {
  const auto found = std::ranges::find(layers, layer.name, &LayerCost::name);
  if (found == layers.end()) {
    layers.push_back(layer);
    for (const auto& [type, cost] : layer.types) owners[layer.name + '\n' + type] = &from;
    return;
  }
  const auto of_layer = " of layer '" + io::printable(layer.name) + "'";
  for (const auto& [type, cost] : layer.types) {
    const NamedCosts*& owner = owners[layer.name + '\n' + type];
    const auto [place, is_new] = found->types.emplace(type, cost);
    if (!is_new && place->second != cost)
      differ(*owner, from, "the numbers" + of_layer + " in " + io::printable(type));
    if (is_new) owner = &from;
  }
  if (!found->parameters) found->parameters = layer.parameters;
  if (layer.parameters && found->parameters != layer.parameters) {
    const auto& first = std::ranges::find_if(
        owners, [&](const auto& owner) { return owner.first.starts_with(layer.name + '\n'); });
    differ(first == owners.end() ? from : *first->second, from, "the parameters" + of_layer);
  }
}

/// Keeps other runs from a file from before it is read until it was replaced, where it is there and its file
/// system has locks.
io::FileDescriptor locked(const std::filesystem::path& path) {
  for (;;) {
    // For writing, as locks of network file systems are.
    io::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid() || ::flock(file.get(), LOCK_EX) != 0) return {};
    // Whoever had the lock has replaced the file, which was waited for in vain then.
    struct stat own {
    }, named{};
    if (::fstat(file.get(), &own) != 0 || ::stat(path.c_str(), &named) != 0) return {};
    if (own.st_dev == named.st_dev && own.st_ino == named.st_ino) return file;
  }
}

}  // namespace

CostFile merge_costs(std::span<const NamedCosts> files) {
  const NamedCosts& first = files.front();
  CostFile merged{first.file.model, first.file.samples, first.file.settings, {}, {}};
  const NamedCosts* estimated = nullptr;            // the first that has estimates
  std::map<std::string, const NamedCosts*> owners;  // of each layer and format
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
  std::ranges::stable_sort(merged.layers, [&](const LayerCost& a, const LayerCost& b) {
    const auto place = [&](const LayerCost& layer) {
      return std::ranges::find(groups, group_of(layer.name));
    };
    if (place(a) != place(b)) return place(a) < place(b);
    return LayerOrder()(block_of(a.name), block_of(b.name));  // matrices of a block stay as they are measured
  });
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
      throw io::file_error(path_, std::string("another run writes it as well, and ") + error.what() +
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
  known_ = parse_cost_file(text, path_);  // and not what is there now, which may be another run's already
  return true;
}

}  // namespace precast::casting
