// FolderInProgress: a folder that appears whole or not at all.
#pragma once

#include <filesystem>

#include <precast/io/mapped_file.hpp>

namespace precast::conversion {

/// A folder under a temporary name beside its place, which is removed unless it is kept. Folders that killed
/// writers left beside it are removed as well.
class FolderInProgress {
 public:
  /// Throws InputError where something is at the place that is no empty folder, and where it cannot be
  /// written or replaced.
  explicit FolderInProgress(const std::filesystem::path& target);
  FolderInProgress(const FolderInProgress&) = delete;
  FolderInProgress& operator=(const FolderInProgress&) = delete;
  ~FolderInProgress();

  /// The temporary folder.
  const std::filesystem::path& path() const { return path_; }
  /// Gives it its name. Throws InputError where the system does not.
  void keep();

 private:
  void check_replaceable() const;

  std::filesystem::path target_, place_, path_;
  io::FileDescriptor claim_;  ///< which says that somebody writes it
  bool kept_ = false;
};

}  // namespace precast::conversion
