// The formats that a layer can be cast to, by the names that cost files, plans and command lines give them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::casting {

/// A format, and the bits that a value takes in it, scales of blocks included.
struct CastType {
  std::string name;  ///< "q4_k"
  double bits = 0;   ///< 4.5
};

/// Every format of this build that files can hold, by falling number of bits: scalars, then blocks where they
/// are equal.
const std::vector<CastType>& cast_types();

/// The bits of a format; nothing where this build has none of that name.
std::optional<double> bits_of_type(std::string_view name);

/// "q4_k, q4_0": the names with commas between, for messages.
std::string type_list();

}  // namespace precast::casting
