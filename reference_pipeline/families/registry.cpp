// The list of families, and the one that opens a folder.
#include <algorithm>
#include <string>

#include <families/registry.hpp>

#include <precast/io/unset_keys.hpp>

namespace precast::families {

namespace {

std::vector<const Family*>& known() {
  static std::vector<const Family*> families = own_families();
  return families;
}

std::string names() {
  std::string text;
  for (const Family* family : known())
    text += (text.empty() ? "" : family == known().back() ? " and " : ", ") + std::string(family->name());
  return text;
}

/// The class that an index names. Throws InputError for a list, which has the folder's own code before it.
std::string pipeline_class(const io::Config& index) {
  const auto found = index.json().find("_class_name");
  if (found != index.json().end() && found->is_array() && !found->empty() && found->back().is_string())
    throw index.error("_class_name", "is '" + io::printable(found->back().get<std::string>(), 60) +
                                         "', whose code comes with the folder, and only " + names() +
                                         " pipelines run here");
  return index.string("_class_name");
}

}  // namespace

std::vector<const Family*> all_families() { return known(); }

Registration::Registration(const Family& family) : family_(&family) { known().push_back(family_); }
Registration::~Registration() { std::erase(known(), family_); }

io::FileError no_family(const io::Config& index) {
  const std::string name = pipeline_class(index);
  const std::string given = "is '" + io::printable(name, 60) + "', ";
  for (const Family* family : known())
    if (family->recognises(name))
      return index.error("_class_name",
                         given + "a model of the family " + std::string(family->name()) + ": open it as one");
  for (const Family* family : known())
    if (const std::string_view relative = family->relative(name); !relative.empty())
      return index.error("_class_name", given + std::string(relative) + ": give a plain " +
                                            std::string(family->name()) + " model");
  return index.error("_class_name", given + "and only " + names() + " pipelines run here");
}

io::Config model_index(const std::filesystem::path& folder) {
  std::error_code failed;
  const auto what = std::filesystem::status(folder, failed).type();
  if (what == std::filesystem::file_type::directory) {
    if (io::is_there(folder / "model_index.json"))
      return io::without_unset_keys(io::Config::load(folder / "model_index.json"));
    throw io::file_error(folder, "holds no model_index.json: name a folder that diffusers saved");
  }
  if (failed && what != std::filesystem::file_type::not_found)
    throw io::system_error(folder, "cannot be read", failed.value(), "check the path and its permissions");
  throw io::file_error(folder,
                       what == std::filesystem::file_type::not_found
                           ? "there is no such model folder or file: name a folder that diffusers saved"
                           : "is not a folder: name a folder that diffusers saved");
}

const Family& family_of(const std::filesystem::path& folder) {
  const io::Config index = model_index(folder);
  const std::string name = pipeline_class(index);
  for (const Family* family : known())
    if (family->recognises(name)) return *family;
  throw no_family(index);
}

bool has_models(const Family& family, const Backend& backend, const PolicyChoice& choice) {
  try {
    return family.has_models(backend.models(choice));
  } catch (const PathNotCompiled&) {
    return false;
  }
}

std::unique_ptr<Pipeline> open(const ModelFiles& files, const ComponentChoices& choices,
                               const Backend& backend) {
  if (files.is_folder_alone()) return family_of(files.model).open(files.model, choices, backend);
  // A folder without an index, of tokenizers alone, is enough if every component is given.
  const bool indexed = io::is_there(files.model / "model_index.json");
  if (indexed || !io::is_there(files.model)) {
    const Family& family = family_of(files.model);
    if (!family.opens_files())
      throw io::file_error(files.model, "is a " + std::string(family.name()) +
                                            " model, which is opened as a folder alone: leave out the files "
                                            "that take the place of its parts");
    return family.open_files(files, choices, backend);
  }
  // The file with the denoiser determines the family: the model itself, or the file given as "transformer".
  const auto given = files.components.find("transformer");
  const std::filesystem::path& denoiser = given == files.components.end() ? files.model : given->second;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(denoiser, ignored))
    for (const Family* family : known())
      if (family->opens_files() && family->knows_file(denoiser))
        return family->open_files(files, choices, backend);
  for (const Family* family : known())
    if (family->opens_files()) return family->open_files(files, choices, backend);
  throw io::file_error(files.model, "no family here opens files: give --model a folder");
}

}  // namespace precast::families
