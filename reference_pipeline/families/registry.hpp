// The families that this program knows: those that come with Precast, and those that a program adds.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <families/family.hpp>
#include <families/model_files.hpp>

#include <precast/io/config.hpp>

namespace precast::families {

/// Precast's own families, listed in own_families/families.cpp: that folder may depend on all of them.
std::vector<const Family*> own_families();

/// All families, in the order in which they are tried.
std::vector<const Family*> all_families();

/// Adds a family for as long as this lives: `const Registration mine{my_family};` in a program's own file.
class Registration {
 public:
  explicit Registration(const Family& family);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  const Family* family_;
};

/// The model_index.json of a model folder. Throws InputError where there is no such folder or file.
io::Config model_index(const std::filesystem::path& folder);

/// The error that no family opens the folder of this model_index.json; it names the class in it.
io::FileError no_family(const io::Config& model_index);

/// The family of a model folder, by the class that its model_index.json names. Throws InputError.
const Family& family_of(const std::filesystem::path& folder);

/// Whether a backend has a family's models under a policy.
bool has_models(const Family& family, const Backend& backend, const PolicyChoice& choice);

/// Opens a model of any family: a folder, or files.
std::unique_ptr<Pipeline> open(const ModelFiles& files, const ComponentChoices& choices,
                               const Backend& backend);

}  // namespace precast::families
