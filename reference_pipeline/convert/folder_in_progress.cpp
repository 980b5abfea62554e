// A folder is written under another name, claimed by a lock, and renamed.
#include <cerrno>
#include <system_error>
#include <vector>

#include <convert/folder_in_progress.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/atomic_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/temporary_name.hpp>

namespace precast::conversion {

namespace fs = std::filesystem;

namespace {

/// An open folder; not valid where there is none.
io::FileDescriptor opened_folder(const fs::path& path) {
  return io::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// Removes the temporary folders whose writers are gone: those that nobody has claimed. Temporary files are
/// io's to remove.
void sweep_left_over_folders(const fs::path& parent) {
  std::error_code failed;
  std::vector<fs::path> left;
  for (fs::directory_iterator at(parent, failed), end; !failed && at != end; at.increment(failed))
    if (io::may_be_left_over(at->path())) left.push_back(at->path());
  for (const fs::path& path : left) {
    const io::FileDescriptor folder = opened_folder(path);
    if (folder.valid() && folder.try_lock()) fs::remove_all(path, failed);
  }
}

/// Waits until files written under a path are on the disk. File systems that cannot do so give errors, which
/// are ignored.
void sync(const fs::path& path) {
  const io::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.valid()) ::fsync(file.get());
}

/// Gives a folder the group, owner and permissions of another, as far as this user may.
void copy_ownership(int folder, const struct stat& old) {
  if (::fchown(folder, old.st_uid, old.st_gid) != 0 && ::fchown(folder, -1, old.st_gid) != 0) return;
  ::fchmod(folder, (old.st_mode & 07777) | S_IRWXU);
}

/// The name that a rename takes: of a folder that is there, without links and dots.
fs::path place_of(const fs::path& target) {
  std::error_code failed;
  fs::path place = fs::canonical(target, failed);
  if (failed) place = target.has_filename() ? target : target.parent_path();
  return place;
}

}  // namespace

FolderInProgress::FolderInProgress(const fs::path& target) : target_(target), place_(place_of(target)) {
  std::error_code failed;
  const bool is_there = io::is_there(place_);
  if (is_there && (!fs::is_directory(place_, failed) || !fs::is_empty(place_, failed) || failed))
    throw io::file_error(target_,
                         "already exists, and is not an empty folder: name another OUT, or remove it");
  if (is_there && fs::equivalent(place_, ".", failed))
    throw io::file_error(target_, "is the current folder, which cannot be replaced: name a new folder in it");
  const fs::path parent = place_.has_parent_path() ? place_.parent_path() : ".";
  sweep_left_over_folders(parent);
  path_ = parent / io::temporary_name();
  const bool made = fs::create_directory(path_, failed);
  if (made) claim_ = opened_folder(path_);
  if (!made || !claim_.valid() || !io::claim(claim_)) {
    const int error_number = failed ? failed.value() : errno;
    throw io::system_error(target_, "cannot be written", error_number,
                           error_number == ENOENT ? "create its parent folder, or choose another place"
                                                  : "choose another place");
  }
  if (is_there) check_replaceable();
}

FolderInProgress::~FolderInProgress() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

void FolderInProgress::keep() {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(path_, failed), end; !failed && at != end; at.increment(failed))
    sync(at->path());
  sync(path_);
  fs::rename(path_, place_, failed);
  if (failed == std::errc::directory_not_empty || failed == std::errc::file_exists ||
      failed == std::errc::not_a_directory)
    throw io::file_error(target_, "was made by another run meanwhile: name another OUT, or remove it");
  if (failed) throw io::system_error(target_, "could not be written", failed.value(), "choose another place");
  kept_ = true;
  sync(place_.has_parent_path() ? place_.parent_path() : ".");
}

/// Takes the place of the empty folder, and gives it back: that it cannot be taken, as where a disk is
/// mounted, would show only at the end. Both are as private as it was.
void FolderInProgress::check_replaceable() const {
  std::error_code failed, ignored;
  struct stat old {};
  ::stat(place_.c_str(), &old);
  fs::rename(path_, place_, failed);
  if (failed) {
    fs::remove(path_, ignored);
    throw io::system_error(target_, "cannot be replaced", failed.value(), "name a new folder in it");
  }
  fs::rename(place_, path_, failed);
  if (failed) throw io::system_error(target_, "cannot be written", failed.value(), "choose another place");
  fs::create_directory(place_, ignored);
  const io::FileDescriptor again = opened_folder(place_);
  for (const int folder : {claim_.get(), again.get()}) copy_ownership(folder, old);
}

}  // namespace precast::conversion
