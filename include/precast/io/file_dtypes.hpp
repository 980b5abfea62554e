// The dtypes that safetensors files hold, by the names that they have there: Precast's list, and what a
// program adds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>

namespace precast::io {

/// How the safetensors format writes a dtype, and what it is here.
struct FileDtype {
  std::string_view file_name;  ///< "BF16"
  DtypeInfo info;              ///< {"bf16", 1, 2}
  bool is_float = false;       ///< only these can become parameters
  bool is_unread = false;      ///< its numbers have fractions or parts, and nothing here decodes them

  friend constexpr bool operator==(const FileDtype&, const FileDtype&) = default;
};

namespace detail {

/// What files hold and nothing here computes with.
inline constexpr std::array<FileDtype, 17> foreign_file_dtypes = {{
    {"F64", {"f64", 1, 8}, true},
    {"I64", {"i64", 1, 8}},
    {"I32", {"i32", 1, 4}},
    {"I16", {"i16", 1, 2}},
    {"I8", {"i8", 1, 1}},
    {"U64", {"u64", 1, 8}},
    {"U32", {"u32", 1, 4}},
    {"U16", {"u16", 1, 2}},
    {"U8", {"u8", 1, 1}},
    {"BOOL", {"bool", 1, 1}},
    {"F8_E8M0", {"e8m0", 1, 1}},
    {"F8_E4M3FNUZ", {"f8_e4m3fnuz", 1, 1}, false, true},
    {"F8_E5M2FNUZ", {"f8_e5m2fnuz", 1, 1}, false, true},
    {"F6_E2M3", {"f6_e2m3", 4, 3}, false, true},
    {"F6_E3M2", {"f6_e3m2", 4, 3}, false, true},
    {"F4", {"f4", 2, 1}, false, true},
    {"C64", {"c64", 1, 8}, false, true},
}};

template <class... Ts, class... Entries>
consteval auto all_file_dtypes(DtypeList<Ts...>, BlockFormatList<Entries...>) {
  constexpr std::size_t own =
      (std::size_t{in_files<Ts>} + ...) + (std::size_t{in_files<typename Entries::format>} + ...);
  std::array<FileDtype, own + foreign_file_dtypes.size()> all{};
  std::size_t count = 0;
  const auto add = [&]<class T>() {
    if constexpr (in_files<T>) all[count++] = {dtype_traits<T>::safetensors_name, dtype_info<T>, true};
  };
  (add.template operator()<Ts>(), ...);
  (add.template operator()<typename Entries::format>(), ...);
  for (const FileDtype& other : foreign_file_dtypes) all[count++] = other;
  return all;
}

inline std::vector<FileDtype>& added_file_dtypes() {
  static std::vector<FileDtype> added;
  return added;
}

}  // namespace detail

/// Every dtype of Precast's that a file may hold. Only the scalars and blocks of dtype/ are computed with;
/// the others are listed. A block dtype that no other program has a place for is there under a name of
/// Precast's own.
inline constexpr auto file_dtypes = detail::all_file_dtypes(ScalarDtypes{}, BlockFormats{});

/// The dtype that files call by this name ("BF16"), one that was added among them; or nothing.
inline std::optional<FileDtype> file_dtype(std::string_view file_name) {
  const std::vector<FileDtype>& added = detail::added_file_dtypes();
  if (const auto found = std::ranges::find(added, file_name, &FileDtype::file_name); found != added.end())
    return *found;  // before one that is listed only
  const auto found = std::ranges::find(file_dtypes, file_name, &FileDtype::file_name);
  return found == file_dtypes.end() ? std::nullopt : std::optional(*found);
}

/// How files write a dtype, or nothing where they have no name for it.
inline std::optional<FileDtype> file_dtype(const DtypeInfo& info) {
  if (const auto found = std::ranges::find(file_dtypes, info, &FileDtype::info); found != file_dtypes.end())
    return *found;
  const std::vector<FileDtype>& added = detail::added_file_dtypes();
  const auto found = std::ranges::find(added, info, &FileDtype::info);
  return found == added.end() ? std::nullopt : std::optional(*found);
}

/// A dtype that files of this program's own hold, for as long as this lives: SafetensorsFile reads it, and
/// SafetensorsWriter writes it. Rows of a block dtype are whole blocks. Other readers of safetensors know the
/// name as little as Precast did. Throws Error for a name that is taken, but for one whose values nothing
/// here reads ("F4"). Not to be made or destroyed while another thread has files open.
class AddedFileDtype {
 public:
  explicit AddedFileDtype(const FileDtype& dtype) : dtype_(dtype) {
    const auto known = file_dtype(dtype.file_name);
    if ((known && !known->is_unread) || file_dtype(dtype.info))
      throw Error("safetensors dtype '" + std::string(dtype.file_name) + "' (" +
                  std::string(dtype.info.name) + ") already exists: choose another name");
    detail::added_file_dtypes().push_back(dtype_);
  }
  ~AddedFileDtype() { std::erase(detail::added_file_dtypes(), dtype_); }
  AddedFileDtype(const AddedFileDtype&) = delete;
  AddedFileDtype& operator=(const AddedFileDtype&) = delete;

 private:
  FileDtype dtype_;
};

}  // namespace precast::io
