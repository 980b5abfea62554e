// PlacedSource: a component's parameters under our names, out of a folder or a file that may have others,
// some of them several in one tensor.
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

/// The values of a parameter of blocks as f32, for what changes their order.
nn::Parameter decoded(nn::Parameter blocks);

/// Opened weights. A family says where its components lie in a file, and which of its parameters each tensor
/// holds. Opening reads heads, no values. Neither moved nor copied.
class PlacedSource : public nn::ParameterSource {
 public:
  PlacedSource(const PlacedSource&) = delete;
  PlacedSource& operator=(const PlacedSource&) = delete;

  bool contains(std::string_view name) const override { return places_.contains(name); }
  /// Of a tensor that is several of ours, its rows, as they are stored. Throws InputError for one that is
  /// missing, by the name that the file has for it, or whose rows are not what its place says.
  nn::Parameter find(std::string_view name) const override;
  std::string description() const override { return tensors_.description(); }
  void taken(std::size_t bytes) const override { tensors_.taken(bytes); }

  /// The component's folder in a diffusers model: "text_encoder".
  const std::string& component() const { return found_.component; }
  Naming naming() const { return found_.naming; }
  const std::filesystem::path& path() const { return path_; }
  /// What progress counts to.
  std::size_t bytes_to_take() const { return tensors_.bytes_to_take(); }
  /// The names of all that `find` gives.
  std::vector<std::string> names() const;
  /// What a parameter is called in the file, or would be if it were there.
  std::string stored_name(std::string_view name) const;
  /// Tensors of the component that hold no parameter of ours, as they are stored.
  const std::vector<std::string>& unread() const { return unread_; }
  /// The shape of a parameter, nothing where it is not there.
  std::optional<Shape> shape(std::string_view name) const;
  /// "FILE: problem".
  InputError error(const std::string& problem) const { return io::file_error(path_, problem); }

 protected:
  /// `locate` says where the component lies in the file. Throws InputError, as it does.
  PlacedSource(const std::filesystem::path& path, io::TakenCallback on_taken,
               const std::function<FoundComponent(const io::ComponentSource&)>& locate)
      : path_(path),
        source_(path, std::move(on_taken)),
        found_(locate(source_)),
        tensors_(source_, found_.prefix) {}

  const io::ComponentSource& source() const { return source_; }
  /// What stands before the names of its tensors in the file.
  const std::string& prefix() const { return found_.prefix; }
  const WeightTensors& tensors() const { return tensors_; }
  /// That the tensor `stored` holds these parameters of ours.
  void place(const std::string& stored, std::vector<io::NamedRows> ours);
  /// The same of all tensors, by a table of the file's names and ours.
  void place_all(std::span<const io::NameLine> table);
  void add_unread(std::string stored) { unread_.push_back(std::move(stored)); }
  /// One more than the highest number that follows `stem` in names: how many blocks there are, if none lacks.
  std::int64_t end_of_blocks(std::string_view stem) const;
  /// Whether a parameter's name begins so.
  bool has_names_beginning(std::string_view start) const;
  /// What a parameter that is not there would be called behind the component's prefix.
  virtual std::string absent_name(std::string_view name) const;

 private:
  std::filesystem::path path_;
  io::ComponentSource source_;
  FoundComponent found_;
  WeightTensors tensors_;
  std::span<const io::NameLine> table_;
  std::int64_t levels_ = 0;                                   ///< what the table's '~' count to
  std::map<std::string, io::NamedRows, std::less<>> places_;  ///< by our names
  std::vector<std::string> unread_;
};

}  // namespace precast::weights
