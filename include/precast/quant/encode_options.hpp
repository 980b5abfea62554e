// The options of encoders: which one writes blocks, and how much the errors of each column count.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include <precast/dtype/scalar.hpp>

namespace precast::quant {

/// The algorithm that chooses scales and codes. Each writes the same bytes on every machine.
enum class Encoder {
  reference,  ///< ggml's bytes (OCP's for mxfp8)
  search,     ///< the least squared error that a search finds: never more than the reference's in any block
};

/// An encoder by name, for command lines and files.
struct NamedEncoder {
  std::string_view name;
  Encoder encoder;
  std::string_view summary;
};

/// The one list of encoders.
inline constexpr std::array named_encoders{
    NamedEncoder{"reference", Encoder::reference, "the bytes that ggml writes"},
    NamedEncoder{"search", Encoder::search, "a smaller error in as many bytes, slower"},
};

/// The encoder of that name, or nothing.
constexpr std::optional<Encoder> encoder_named(std::string_view name) {
  for (const NamedEncoder& named : named_encoders)
    if (named.name == name) return named.encoder;
  return std::nullopt;
}

struct EncodeOptions {
  Encoder encoder = Encoder::reference;
  /// For `search`: the weight of squared errors in each column of a row (the row of an importance matrix
  /// for this tensor, say the mean square of the inputs that meet the column). Its length is a row's.
  /// Empty: equal weights.
  std::span<const f32> importance = {};
};

}  // namespace precast::quant
