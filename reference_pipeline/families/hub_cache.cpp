// Reads the layout of huggingface_hub's cache: models--x--y/{refs/<revision>,snapshots/<commit>,blobs}.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <families/hub_cache.hpp>
#include <pwd.h>
#include <unistd.h>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::families {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "models--";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The folder that ~ stands for, with or without HOME, as in Python's expanduser; never relative to the
/// working directory.
fs::path home_folder() {
  if (const char* named = std::getenv("HOME")) return *named ? named : "/";
  const passwd* const user = ::getpwuid(::getuid());
  return user && *user->pw_dir ? user->pw_dir : "/";
}

fs::path expand_home(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return home_folder() / path.substr(std::min<std::size_t>(path.size(), 2));
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool has_index(const fs::path& snapshot) { return io::is_there(snapshot / "model_index.json"); }

/// A name and a revision, as given on the command line.
struct HubName {
  std::string name, revision;  ///< "" where none was given
};

bool is_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '-' && part.find("--") == part.npos &&
         std::ranges::all_of(
             part, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_revision(std::string_view revision) {
  return !revision.empty() && revision.front() != '/' && revision.find("..") == revision.npos &&
         std::ranges::all_of(revision, [](unsigned char c) { return std::isgraph(c) && c != '\\'; });
}

/// Parses a text as a hub name; nothing where it can only be a path: sd/model.gguf is a missing file.
std::optional<HubName> parsed(const std::string& text) {
  if (text.ends_with(".safetensors") || text.ends_with(".gguf")) return std::nullopt;
  const std::size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  const std::size_t slash = name.find('/');
  if (slash == name.npos || !is_part(name.substr(0, slash)) || !is_part(name.substr(slash + 1)))
    return std::nullopt;
  if (at == text.npos) return HubName{name, ""};
  if (!is_revision(text.substr(at + 1))) return std::nullopt;
  return HubName{name, text.substr(at + 1)};
}

std::string folder_name(std::string name) {
  const std::size_t slash = name.find('/');
  if (slash != name.npos) name.replace(slash, 1, "--");
  return std::string(prefix) + name;
}

std::optional<std::string> name_of_folder(std::string_view folder) {
  if (!folder.starts_with(prefix)) return std::nullopt;
  std::string name(folder.substr(prefix.size()));
  const std::size_t between = name.find("--");
  if (between != name.npos) name.replace(between, 2, "/");
  return name;
}

/// The commit in refs/<revision>, or "". Throws InputError for a file that is there and cannot be read.
std::string commit_of(const fs::path& model, const std::string& revision) {
  const fs::path path = model / "refs" / revision;
  if (!io::is_there(path) || is_folder(path)) return "";
  const io::MappedFile file(path);
  constexpr std::string_view spaces = " \t\r\n";
  std::string_view commit =
      file.text().substr(std::min(file.text().find_first_not_of(spaces), file.text().size()));
  commit = commit.substr(0, commit.find_first_of(spaces));
  const bool plain = std::ranges::all_of(commit, [](unsigned char c) { return std::isalnum(c); });
  return plain ? std::string(commit) : "";
}

/// Throws InputError where a folder of the cache exists but cannot be read.
void refuse_unreadable(const fs::path& folder, const std::error_code& failed) {
  if (failed && failed != std::errc::no_such_file_or_directory && failed != std::errc::not_a_directory &&
      failed != std::errc::filename_too_long)
    throw io::system_error(folder, "cannot be read", failed.value(),
                           "check its permissions, and those of the folders that it lies in");
}

/// The snapshots with a model_index.json, the newest first. Throws InputError where they cannot be read.
std::vector<fs::path> snapshots(const fs::path& model) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(model / "snapshots", failed), end; !failed && entry != end;
       entry.increment(failed))
    if (is_folder(entry->path()) && has_index(entry->path())) found.push_back(entry->path());
  refuse_unreadable(model / "snapshots", failed);
  const auto time = [](const fs::path& path) {
    std::error_code ignored;
    return fs::last_write_time(path, ignored);
  };
  std::ranges::sort(found, [&](const fs::path& a, const fs::path& b) {
    return std::pair(time(a), a) > std::pair(time(b), b);
  });
  return found;
}

std::string how_to_fetch(const HubName& wanted) {
  return "hf download " + wanted.name + (wanted.revision.empty() ? "" : " --revision " + wanted.revision);
}

/// The snapshot, whose components' files are all there. Throws InputError. A link at the top that leads
/// nowhere is no error: people delete the one-file checkpoint there, which is not read.
fs::path whole_snapshot(const fs::path& snapshot, const HubName& wanted) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(snapshot, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry.depth() > 0 && entry->is_symlink(failed) && !entry->exists(failed))
      throw io::file_error(
          entry->path(),
          "is a link to a missing file: the model was downloaded in part: download it again with " +
              how_to_fetch(wanted));
  return snapshot;
}

/// The snapshot of a folder models--x--y. Throws InputError.
fs::path snapshot(const fs::path& model, const HubName& wanted) {
  if (wanted.revision.empty()) {
    const std::string main = commit_of(model, "main");
    if (!main.empty() && has_index(model / "snapshots" / main))
      return whole_snapshot(model / "snapshots" / main, wanted);
    const auto all = snapshots(model);
    if (!main.empty() && !all.empty())
      throw io::file_error(model,
                           "refs/main names snapshot " + io::printable(main) +
                               ", which is missing or was downloaded in part: download it again with " +
                               how_to_fetch(wanted) + ", or name " + wanted.name + "@" +
                               io::printable(all.front().filename().string()));
    if (!all.empty()) return whole_snapshot(all.front(), wanted);
    throw io::file_error(model,
                         "holds no snapshot with a model_index.json: it was downloaded in part, or is not a "
                         "diffusers model: download it with " +
                             how_to_fetch(wanted));
  }
  for (const std::string& commit : {wanted.revision, commit_of(model, wanted.revision)})
    if (!commit.empty() && has_index(model / "snapshots" / commit))
      return whole_snapshot(model / "snapshots" / commit, wanted);
  throw io::file_error(model, "holds no revision '" + io::printable(wanted.revision) +
                                  "': download it with " + how_to_fetch(wanted));
}

/// A model of the cache whose name ends in this one: "x/y" for "y"; "" where there is none.
std::string one_that_ends_in(const fs::path& cache, const std::string& name) {
  std::error_code failed;
  for (fs::directory_iterator entry(cache, failed), end; !failed && entry != end; entry.increment(failed))
    if (const auto whole = name_of_folder(entry->path().filename().string());
        whole && whole->ends_with("/" + name))
      return *whole;
  return {};
}

}  // namespace

fs::path hub_cache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string cache = variable(name); !cache.empty()) return expand_home(cache);
  if (const std::string home = variable("HF_HOME"); !home.empty()) return expand_home(home) / "hub";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return expand_home(cache) / "huggingface" / "hub";
  return expand_home("~/.cache/huggingface/hub");
}

fs::path find_model(const std::string& named) {
  fs::path path = named;
  if (is_folder(path)) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    const fs::path folder = whole.has_filename() ? whole : whole.parent_path();
    const auto name = name_of_folder(folder.filename().string());
    const bool is_model = name && (name->find('/') != name->npos || is_folder(path / "snapshots"));
    return is_model && !has_index(path) ? snapshot(path, {*name, ""}) : path;
  }
  if (io::is_there(path)) return path;
  const fs::path cache = hub_cache();
  auto wanted = parsed(named);
  if (const auto name = name_of_folder(named); !wanted && name && name->find('/') != name->npos)
    wanted = HubName{*name, ""};
  if (!wanted) {
    if (const std::string near = is_part(named) ? one_that_ends_in(cache, named) : ""; !near.empty())
      throw io::file_error(path, "there is no such folder: " + near + " is in Hugging Face's cache");
    return path;
  }
  const fs::path model = cache / folder_name(wanted->name);
  std::error_code failed;
  if (!fs::is_directory(model, failed)) {
    refuse_unreadable(model, failed);
    throw InputError("model " + named + " is neither a folder nor in Hugging Face's cache, " +
                     io::shown(cache) + ": download it with " + how_to_fetch(*wanted));
  }
  return snapshot(model, *wanted);
}

std::optional<std::string> hub_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  std::optional<std::string> name;
  fs::path model;
  std::vector<std::string> inside;  // of the model's folder
  for (const fs::path& part : whole) {
    if (name) {
      if (!part.empty()) inside.push_back(part.string());
      continue;
    }
    model /= part;
    name = name_of_folder(part.string());
    // Another folder may begin with the same letters.
    if (name && (name->find('/') == name->npos || !is_folder(model / "snapshots"))) name.reset();
  }
  if (!name || (!inside.empty() && inside.front() != "snapshots")) return std::nullopt;
  const std::string commit = inside.size() > 1 ? inside[1] : "";
  const auto names_the_commit = [&](const std::string& revision) {
    try {
      return commit_of(model, revision) == commit;
    } catch (const InputError&) {  // the snapshot is there without it
      return false;
    }
  };
  if (commit.empty() || names_the_commit("main")) return name;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(model / "refs", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string revision = entry->path().lexically_relative(model / "refs").string();
    if (names_the_commit(revision)) return *name + "@" + revision;
  }
  return *name + "@" + commit;
}

}  // namespace precast::families
