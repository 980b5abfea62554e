// Which encoder writes blocks, and what it is told of the values.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include <precast/dtype/scalar.hpp>

namespace precast::quant {

/// Who chooses scales and codes. The bytes of each are the same on every machine.
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
  /// For `search`: how much a squared error counts in each column of a row (an importance matrix' row for
  /// this tensor, say the mean square of the inputs that meet the column). Its length is a row's. Empty: all
  /// alike.
  std::span<const f32> importance = {};
};

}  // namespace precast::quant
