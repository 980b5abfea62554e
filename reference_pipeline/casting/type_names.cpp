#include <algorithm>

#include <casting/type_names.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::casting {

namespace {

std::vector<CastType> listed_types() {
  std::vector<CastType> types;
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>)
      types.push_back({std::string(dtype_traits<T>::name), 8.0 * dtype_traits<T>::bytes_per_block});
    return false;
  });
  for (const BlockFormat& format : block_formats)
    types.push_back({std::string(format.info.name), format.bits_per_value()});
  std::ranges::stable_sort(types, std::ranges::greater{}, &CastType::bits);
  return types;
}

}  // namespace

const std::vector<CastType>& cast_types() {
  static const std::vector<CastType> types = listed_types();
  return types;
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
