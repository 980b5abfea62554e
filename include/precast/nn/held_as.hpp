// held_as: the dtype in which a layer keeps its matrix: the policy's storage, or a file's own where that is
// narrower and has the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/nn/parameters.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// Calls `load(std::type_identity<T>)` once and returns its result. T is the parameter's dtype where the
/// backend's products widen it exactly to Storage as they multiply; else T is Storage.
template <Dtype Storage, class Load>
auto held_as(const Parameter& parameter, Load&& load) {
  using Weight = decltype(load(std::type_identity<Storage>{}));
  std::optional<Weight> loaded;
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (backend::holds_scalars_of_files<Storage, T>)
      if (parameter.dtype == dtype_info<T>) loaded.emplace(load(std::type_identity<T>{}));
    return loaded.has_value();
  });
  return loaded ? Weight(std::move(*loaded)) : load(std::type_identity<Storage>{});
}

/// A fill of weights that copies rows of a parameter whose dtype is T.
template <ScalarDtype T>
auto unconverted_rows(const ParameterPath& place, const Parameter& parameter) {
  return [&place, &parameter](std::int64_t first, HostView<T> rows) {
    if (!DryRun::active()) {
      const std::byte* const from = parameter.bytes.data() + bytes_for<T>(first * rows.columns());
      host::for_each_chunk(
          static_cast<std::size_t>(rows.elements()), [&](std::size_t, std::size_t begin, std::size_t end) {
            std::memcpy(rows.data() + begin, from + begin * sizeof(T), (end - begin) * sizeof(T));
          });
    }
    place.source().taken(static_cast<std::size_t>(bytes_for<T>(rows.elements())));
  };
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
