// PlacedSource: a component's parameters under diffusers' or transformers' names (Naming::ours), from a
// folder or a file that may use other names and hold several parameters in one tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weights/layouts.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/error.hpp>
#include <precast/io/component_source.hpp>
#include <precast/io/message.hpp>
#include <precast/io/name_table.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::weights {

/// Our parameters that lie in the tensor that is stored as `name`, as io::our_rows has them; where the table
/// has a norm's scale that ends in "scale", of one that ends in "weight", too, as some programs call it.
std::vector<io::NamedRows> our_rows_in(std::span<const io::NameLine> table, std::string_view name,
                                       std::int64_t levels = 0);

/// The values of a parameter in blocks as f32, for operations that change their order.
nn::Parameter decoded(nn::Parameter blocks);

/// Opened weights. A family says where its components are in a file, and which of its parameters each
/// tensor holds. Opening reads headers, no values. Neither movable nor copyable.
class PlacedSource : public nn::ParameterSource {
 public:
  PlacedSource(const PlacedSource&) = delete;
  PlacedSource& operator=(const PlacedSource&) = delete;

  bool contains(std::string_view name) const override { return places_.contains(name); }
  /// A parameter as stored; its rows only, from a tensor that holds several. Throws InputError for a
  /// parameter that is missing, by its name in the file, or whose rows are not as its place says.
  nn::Parameter find(std::string_view name) const override;
  std::string description() const override { return tensors_.description(); }
  void taken(std::size_t bytes) const override { tensors_.taken(bytes); }

  /// The component's folder in a diffusers model: "text_encoder".
  const std::string& component() const { return found_.component; }
  Naming naming() const { return found_.naming; }
  const std::filesystem::path& path() const { return path_; }
  /// The total of progress.
  std::size_t bytes_to_take() const { return tensors_.bytes_to_take(); }
  /// The names of all parameters that `find` returns.
  std::vector<std::string> names() const;
  /// The name of a parameter in the file, or the name that it would have there.
  std::string stored_name(std::string_view name) const;
  /// Stored names of the component's tensors that hold no parameter of Precast's modules.
  const std::vector<std::string>& unread() const { return unread_; }
  /// The shape of a parameter; nothing where it is missing.
  std::optional<Shape> shape(std::string_view name) const;
  /// "FILE: problem".
  io::FileError error(const std::string& problem) const { return io::file_error(path_, problem); }

 protected:
  /// `locate` finds the component in the file. Throws InputError, as `locate` does.
  PlacedSource(const std::filesystem::path& path, io::TakenCallback on_taken,
               const std::function<FoundComponent(const io::ComponentSource&)>& locate)
      : path_(path),
        source_(path, std::move(on_taken)),
        found_(locate(source_)),
        tensors_(source_, found_.prefix) {}

  const io::ComponentSource& source() const { return source_; }
  /// The prefix of the names of its tensors in the file.
  const std::string& prefix() const { return found_.prefix; }
  const WeightTensors& tensors() const { return tensors_; }
  /// Records that the tensor `stored` holds these parameters.
  void place(const std::string& stored, std::vector<io::NamedRows> ours);
  /// Places all tensors by a table of the file's names and Naming::ours.
  void place_all(std::span<const io::NameLine> table);
  void add_unread(std::string stored) { unread_.push_back(std::move(stored)); }
  /// One more than the highest number after `stem` in names: the number of blocks, if none is missing.
  std::int64_t end_of_blocks(std::string_view stem) const;
  /// Whether any parameter's name begins with `start`.
  bool has_names_beginning(std::string_view start) const;
  /// The name, behind the component's prefix, that a missing parameter would have.
  virtual std::string absent_name(std::string_view name) const;

 private:
  std::filesystem::path path_;
  io::ComponentSource source_;
  FoundComponent found_;
  WeightTensors tensors_;
  std::span<const io::NameLine> table_;
  std::int64_t levels_ = 0;                                   ///< the number that the table's '~' count to
  std::map<std::string, io::NamedRows, std::less<>> places_;  ///< by our names
  std::vector<std::string> unread_;
};

}  // namespace precast::weights
