// Finds the embedded model beside the program or in the source tree.
#include <cstdlib>
#include <vector>

#include <cli/arguments.hpp>
#include <cli/model_path.hpp>
#include <families/hub_cache.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace fs = std::filesystem;

fs::path model_path(const std::optional<std::string>& given) {
  if (given && given->empty()) throw UsageError("--model is empty: name a model folder, or leave it out");
  if (given) return families::find_model(*given);
  // A setting that someone made on purpose is not silently passed over.
  if (const char* chosen = std::getenv("PRECAST_SHAPES"); chosen && *chosen) return chosen;
  std::vector<fs::path> places;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) places.push_back((program.parent_path() / PRECAST_SHAPES_FROM_PROGRAM).lexically_normal());
  places.emplace_back(PRECAST_SHAPES_IN_SOURCE);
  std::string looked;
  for (const fs::path& place : places) {
    if (fs::exists(place / "model_index.json", failed)) return place;
    looked += (looked.empty() ? "" : " and ") + io::shown(place);
  }
  throw InputError("the embedded model is neither in " + looked + ": name a model folder with --model");
}

std::string model_name(const fs::path& path, bool embedded) {
  if (embedded) return "shapes";
  if (const auto name = families::hub_name(path)) return io::printable(*name);
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = (whole.has_filename() ? whole : whole.parent_path()).filename();
  // The bare name is the embedded model's.
  return folder == "shapes" ? "./shapes" : io::printable(folder.string());
}

}  // namespace precast::cli
