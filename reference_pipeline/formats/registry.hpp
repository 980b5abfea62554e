// The number formats that this program stores weights in: those that come with Precast, and those that a
// program adds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <formats/stored_format.hpp>

#include <precast/io/file_dtypes.hpp>

namespace precast::formats {

/// Every format that files can hold, by falling number of bits: scalars, then blocks where they are equal,
/// then what was added.
const std::vector<StoredFormat>& all_formats();

/// The format of that name, or nullptr. It is valid until a format is added or removed.
const StoredFormat* format_named(std::string_view name);
/// The format of that name in either letter case ("Q4_K"), or nullptr.
const StoredFormat* format_in_either_case(std::string_view name);
/// The block of the format of that name, in either letter case; nothing where there is none.
std::optional<DtypeInfo> find_type(std::string_view name);
/// "q4_k, q4_0": the names of all formats, for messages.
std::string format_list();

/// The formats that were added; ops do not read them.
const std::vector<StoredFormat>& added_formats();
bool is_added(const DtypeInfo& type);

/// Adds a format for as long as this lives, with its name in safetensors files. `Registration`
/// (formats/registration.hpp) makes one of a dtype. Throws Error for a name that is taken, in either case.
class AddedFormat {
 public:
  explicit AddedFormat(StoredFormat format);
  ~AddedFormat();
  AddedFormat(const AddedFormat&) = delete;
  AddedFormat& operator=(const AddedFormat&) = delete;

 private:
  std::string name_;
  io::AddedFileDtype in_files_;
};

}  // namespace precast::formats
