// Finds the parts of the input, and writes them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <convert/folder_in_progress.hpp>
#include <convert/model_conversion.hpp>
#include <convert/output_file.hpp>
#include <families/registry.hpp>
#include <families/request_error.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/atomic_file.hpp>
#include <precast/io/checkpoint.hpp>
#include <precast/io/find_weights.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/suffix.hpp>

namespace precast::conversion {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 11> weight_ends{".safetensors", ".gguf", ".bin",       ".msgpack",
                                                       ".h5",          ".onnx", ".onnx_data", ".pt",
                                                       ".pth",         ".ckpt", ".index.json"};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool holds_weights(const fs::path& folder) { return io::find_weights(folder).has_value(); }
bool holds_checkpoint(const fs::path& folder) { return io::find_checkpoint(folder).has_value(); }

/// The folder of a model's denoiser, whatever its family calls it. Its weights may be of a kind that is
/// refused when they are opened.
fs::path denoiser_folder(const fs::path& model) {
  for (const auto holds : {holds_weights, holds_checkpoint})
    for (const families::Family* family : families::all_families())
      for (const families::ComponentInfo& part : family->components())
        if (part.role == families::Role::denoiser && holds(model / part.name)) return model / part.name;
  if (holds_checkpoint(model)) return model;
  throw io::file_error(model,
                       "holds no weights: neither a component such as transformer/ does, nor the folder "
                       "itself");
}

/// Every file below a folder that holds no weights, hidden ones left out. `above` has the folders that this
/// one lies in: a link back to one of them is left out, or there were no end.
void list_other_files(const fs::path& root, const fs::path& below, std::vector<fs::path> above,
                      std::vector<fs::path>& files) {
  std::error_code failed;
  const fs::path here = fs::weakly_canonical(root / below, failed);
  if (std::ranges::find(above, here) != above.end()) return;
  above.push_back(here);
  std::vector<fs::path> folders;
  for (fs::directory_iterator at(root / below, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    if (at->is_directory(ignored))
      folders.push_back(below / name);
    else if (at->is_regular_file(ignored) && std::ranges::none_of(weight_ends, [&](std::string_view suffix) {
               return name.ends_with(suffix);
             }))
      files.push_back(below / name);
  }
  if (failed) throw io::system_error(root / below, "cannot be read", failed.value(), "check its permissions");
  for (const fs::path& folder : folders) list_other_files(root, folder, above, files);
}

/// A component's config without what it says of how its weights were quantised, which they no longer are: by
/// it diffusers and transformers would look for scales. Nothing where it says nothing of it.
std::optional<std::string> config_of_converted(const fs::path& config) {
  constexpr const char* of_weights = "quantization_config";
  try {
    nlohmann::json json = io::load_json(config);
    if (!json.is_object() || json.erase(of_weights) == 0) return std::nullopt;
    return io::indented_json(json) + "\n";
  } catch (const InputError&) {  // it is copied as it is
    return std::nullopt;
  }
}

/// Copies a file and its permissions. Throws InputError that names the one of the two that it failed at,
/// which std::filesystem does not tell apart.
void copy_with_permissions(const fs::path& from, const fs::path& to) {
  io::AtomicFile copy(to);
  const io::FileDescriptor file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid())
    throw io::system_error(from, "cannot be opened", errno,
                           errno == EMFILE || errno == ENFILE ? "raise the limit on open files (ulimit -n)"
                                                              : "check its permissions");
  std::vector<std::byte> piece(std::size_t{1} << 20);
  while (const ssize_t count = ::read(file.get(), piece.data(), piece.size())) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io::system_error(from, "cannot be read", errno, "check the disk that it is on");
    copy.write(std::span<const std::byte>(piece).first(static_cast<std::size_t>(count)));
  }
  copy.commit();
  struct stat facts {};
  if (::fstat(file.get(), &facts) == 0) ::chmod(to.c_str(), facts.st_mode & 07777);
}

/// "diffusion_pytorch_model" of all names that weights have in a folder.
std::string stem_of(const fs::path& weights) {
  const std::string name = weights.filename().string();
  return name.substr(0, name.find('.'));
}

/// A name with a suffix of letters alone, such as out.txt or out.safetensor, was meant to be a file's. Names
/// of models ("FLUX.1-dev") have none; a slash at the end, or a folder that is there, says what is meant.
void refuse_name_of_file(const fs::path& out) {
  const std::string suffix = io::suffix_of(out);
  const bool letters =
      suffix.size() > 1 && std::ranges::all_of(suffix.substr(1), [](char c) { return c >= 'a' && c <= 'z'; });
  if (letters && !is_folder(out))
    throw families::RequestError("OUT, " + io::shown(out) +
                                 ", looks like the name of a file, and ends neither in .safetensors nor in "
                                 ".gguf: give it one of these suffixes, or a slash at its end for a folder");
}

void refuse_same(const fs::path& in, const fs::path& out) {
  std::error_code ignored;
  const fs::path from = fs::weakly_canonical(in, ignored), to = fs::weakly_canonical(out, ignored);
  if (from == to || fs::equivalent(in, out, ignored))
    throw families::RequestError("IN and OUT are one and the same, " + io::shown(out) + ": name another OUT");
  const auto [end, rest] = std::ranges::mismatch(from, to);
  if (end == from.end() && is_folder(in) && !names_gguf(out) && !names_safetensors(out))
    throw families::RequestError("OUT, " + io::shown(out) + ", is inside IN: name a folder outside of it");
}

/// A file may lie in a model's folder, and take the place of none of its components' weights.
void refuse_component(const fs::path& model, const fs::path& out) {
  std::error_code ignored;
  // OUT may itself be a link, as each file of Hugging Face's cache is.
  const fs::path folder = fs::weakly_canonical(out.has_parent_path() ? out.parent_path() : ".", ignored);
  if (!io::is_there(out) || !fs::equivalent(folder.parent_path(), model, ignored) || !holds_weights(folder))
    return;
  if (families::is_file_of(io::ComponentSource(folder), out))
    throw families::RequestError("OUT, " + io::shown(out) +
                                 ", holds weights of a component of IN: name another OUT");
}

}  // namespace

ModelConversion::ModelConversion(const fs::path& in, const fs::path& out, const Settings& settings)
    : in_(in), out_(out), settings_(settings) {
  if (!io::is_there(in)) throw io::file_error(in, "does not exist: give a file of weights or a model folder");
  refuse_same(in, out);
  const bool from_folder = is_folder(in);
  to_folder_ = !names_gguf(out) && !names_safetensors(out);
  if (to_folder_ && !from_folder)
    throw families::RequestError(
        "OUT, " + io::shown(out) +
        ", ends neither in .safetensors nor in .gguf, and IN is a file: give OUT one of "
        "these suffixes");
  if (to_folder_) {
    refuse_name_of_file(out);
    // A folder is diffusers' own form, and keeps its names in every kind of file.
    if (!settings_.layout) settings_.layout = Layout::diffusers;
    add_folder();
  } else {
    check_types(settings_.type_options, names_gguf(out) ? Container::gguf : Container::safetensors);
    const bool whole_model = from_folder && !holds_weights(in);
    if (whole_model) refuse_component(in, out);
    const fs::path weights = whole_model ? denoiser_folder(in) : in;
    add_part(whole_model ? weights.filename().string() : "", weights, out);
    if (whole_model)
      warnings_.push_back("only the " + io::shown(parts_.front().input->path().filename()) + " goes into " +
                          io::shown(out) + ": name a folder to convert all components");
  }
  if (settings.layout &&
      std::ranges::none_of(parts_, [](const ModelPart& part) { return has_two_layouts(*part.input); }))
    warnings_.emplace_back(
        "--layout changes nothing: only Flux's transformer and T5 have names in two layouts");
  add_warnings();
}

void ModelConversion::add_folder() {
  std::vector<std::string> components;
  if (holds_weights(in_)) {
    components.emplace_back();
  } else {
    std::error_code failed;
    std::vector<std::string> empty;
    for (fs::directory_iterator at(in_, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (!is_folder(at->path()) || name.starts_with('.')) continue;
      if (holds_weights(at->path()))
        components.push_back(name);
      else if (io::is_there(at->path() / "config.json"))  // tokenizers and schedules have other names for it
        empty.push_back(name);
    }
    std::ranges::sort(components);
    std::ranges::sort(empty);
    for (const std::string& name : empty)
      warnings_.push_back(io::printable(name) + "/ has a config.json and no weights that are read: " +
                          io::shown(out_) + " will have none of it");
  }
  if (components.empty()) io::weights_file(denoiser_folder(in_));  // one of them says why
  for (const std::string& component : components) {
    const fs::path weights = io::weights_file(component.empty() ? in_ : in_ / component);
    add_part(component, weights, (component.empty() ? fs::path() : fs::path(component)) / stem_of(weights));
  }
  list_other_files(in_, "", {}, copies_);
}

void ModelConversion::add_part(const std::string& component, const fs::path& weights,
                               const fs::path& target) {
  auto input = std::make_unique<InputWeights>(weights);
  if (!to_folder_ && input->reads(out_))
    throw families::RequestError("OUT, " + io::shown(out_) +
                                 ", is a file that IN is read from: name another OUT");
  const WeightsKind kind = kind_of(*input);
  const bool is_small = !component.empty() && (kind == WeightsKind::clip || kind == WeightsKind::autoencoder);
  const auto planned = [&](Container container, const fs::path& file) {
    return std::make_unique<Conversion>(*input, file, container, settings_, component, is_small);
  };
  std::unique_ptr<Conversion> conversion;
  if (!to_folder_) {
    conversion = planned(names_gguf(target) ? Container::gguf : Container::safetensors, target);
  } else {
    // Blocks go to GGUF, but for those that it does not hold; what gets none stays where diffusers reads it.
    conversion = planned(Container::gguf, target.string() + ".gguf");
    bool has_gguf_blocks = false, has_other_blocks = false;
    for (const OutputTensor& tensor : conversion->tensors())
      if (is_block(tensor.chosen.type))
        (holds(Container::gguf, tensor.chosen.type) ? has_gguf_blocks : has_other_blocks) = true;
    if (has_other_blocks || !has_gguf_blocks)
      conversion = planned(Container::safetensors, target.string() + ".safetensors");
  }
  conversion->check_types();
  parts_.push_back({component, std::move(input), std::move(conversion)});
}

std::int64_t ModelConversion::values() const {
  std::int64_t values = 0;
  for (const ModelPart& part : parts_) values += part.conversion->values();
  return values;
}

void ModelConversion::write_parts(const fs::path& folder, const WrittenCallback& written) const {
  std::int64_t before = 0;
  for (const ModelPart& part : parts_) {
    const auto on_values = [&](std::int64_t values) {
      if (written) written(before + values);
    };
    const fs::path file = folder.empty() ? part.conversion->target() : folder / part.conversion->target();
    part.conversion->write(file, settings_, on_values);
    before += part.conversion->values();
  }
}

void ModelConversion::copy_others_to(const fs::path& folder) const {
  for (const fs::path& file : copies_) {
    std::error_code failed;
    fs::create_directories((folder / file).parent_path(), failed);
    if (failed) throw io::write_error(out_ / file, failed.value());
    const bool of_converted =
        file.filename() == "config.json" &&
        std::ranges::find(parts_, file.parent_path().string(), &ModelPart::component) != parts_.end();
    if (const auto text = of_converted ? config_of_converted(in_ / file) : std::nullopt)
      io::write_file(folder / file, *text);
    else
      copy_with_permissions(in_ / file, folder / file);
  }
}

void ModelConversion::write(const WrittenCallback& written) const {
  if (!to_folder_) return write_parts("", written);
  FolderInProgress folder(out_);
  std::int64_t bytes = 0;
  for (const ModelPart& part : parts_) bytes += part.conversion->bytes();
  check_room(out_, bytes);  // of all parts, before the first is written
  for (const ModelPart& part : parts_)
    if (std::error_code failed;
        !part.component.empty() && !fs::create_directory(folder.path() / part.component, failed) && failed)
      throw io::write_error(out_ / part.component, failed.value());
  try {
    copy_others_to(folder.path());
    write_parts(folder.path(), written);
  } catch (const io::FileError& failed) {
    // It may name a file of a folder that is gone when it is read.
    const fs::path& hidden = folder.path();
    if (std::ranges::mismatch(hidden, failed.path).in1 != hidden.end()) throw;
    throw io::file_error(out_ / failed.path.lexically_relative(hidden), failed.problem);
  }
  folder.keep();
}

}  // namespace precast::conversion
