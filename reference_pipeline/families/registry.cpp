// The list of families, and the one that opens a folder.
#include <algorithm>
#include <string>

#include <families/registry.hpp>
#include <flux/family.hpp>

namespace precast::families {

namespace {

/// Precast's own families. Their models are in families/models.hpp.
std::vector<const Family*>& known() {
  static std::vector<const Family*> families{&flux::family()};
  return families;
}

std::string names() {
  std::string text;
  for (const Family* family : known()) text += (text.empty() ? "" : " and ") + std::string(family->name());
  return text;
}

}  // namespace

std::vector<const Family*> all_families() { return known(); }

Registration::Registration(const Family& family) : family_(&family) { known().push_back(family_); }
Registration::~Registration() { std::erase(known(), family_); }

io::Config model_index(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InputError(folder.string() +
                     ": there is no such model folder: give --model a folder that diffusers saved");
  return io::Config::load(folder / "model_index.json");
}

const Family& family_of(const std::filesystem::path& folder) {
  const io::Config index = model_index(folder);
  const std::string name = index.string("_class_name");
  for (const Family* family : known())
    if (family->recognises(name)) return *family;
  throw index.error("_class_name",
                    "is '" + name.substr(0, 60) + "', and only " + names() + " pipelines run here");
}

std::unique_ptr<Pipeline> open(const std::filesystem::path& folder, const ComponentChoices& choices,
                               const Backend& backend) {
  return family_of(folder).open(folder, choices, backend);
}

}  // namespace precast::families
