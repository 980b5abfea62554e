#include <algorithm>
#include <array>

#include <casting/type_names.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::casting {

namespace {

/// What has blocks of 32 values, by rising size: each is better than those before it.
constexpr std::array<std::string_view, 4> stand_ins{"iq4_nl", "q5_0", "q5_1", "q8_0"};

std::vector<CastType> listed_types() {
  std::vector<CastType> types;
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>)
      types.push_back({std::string(dtype_traits<T>::name), bits_per_value(dtype_info<T>), dtype_info<T>});
    return false;
  });
  for (const BlockFormat& format : block_formats)
    types.push_back({std::string(format.info.name), format.bits_per_value(), format.info});
  std::ranges::stable_sort(types, std::ranges::greater{}, &CastType::bits);
  return types;
}

}  // namespace

const std::vector<CastType>& cast_types() {
  static const std::vector<CastType> types = listed_types();
  return types;
}

std::optional<DtypeInfo> find_type(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto found = std::ranges::find(cast_types(), lower, &CastType::name);
  return found == cast_types().end() ? std::nullopt : std::optional(found->info);
}

std::optional<DtypeInfo> fitting_type(const DtypeInfo& wanted, std::int64_t columns) {
  if (columns % wanted.values_per_block == 0) return wanted;
  for (const std::string_view name : stand_ins) {
    const DtypeInfo type = *find_type(name);
    if (bits_per_value(type) >= bits_per_value(wanted) && columns % type.values_per_block == 0) return type;
  }
  return std::nullopt;
}

std::optional<double> bits_of_type(std::string_view name) {
  const auto found = std::ranges::find(cast_types(), name, &CastType::name);
  return found == cast_types().end() ? std::nullopt : std::optional(found->bits);
}

std::string type_list() {
  std::string list;
  for (const CastType& type : cast_types()) list += (list.empty() ? "" : ", ") + type.name;
  return list;
}

}  // namespace precast::casting
