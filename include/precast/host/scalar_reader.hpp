// Values of a scalar dtype that is known by name at run time: what a file holds, for those who load it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/dtype/dtype.hpp>

namespace precast::host {

/// Reads the values from `from` on, which may be any address, each rounded to T once.
template <ScalarDtype T>
using ReadScalars = void (*)(const std::byte* from, std::span<T> to);

/// What reads the dtype of this name; null where files hold no scalars of it. Defined in
/// host/scalar_reading.hpp; the pipeline links one unit for all T (kernels/).
template <ScalarDtype T>
ReadScalars<T> scalar_reader(std::string_view dtype);

}  // namespace precast::host

// Who sees declarations of kernels alone links the unit of kernels/ that reads them.
#if PRECAST_HOLDS_KERNELS
#include <precast/host/scalar_reading.hpp>
#endif
