// Bytes as text that JSON, HTML and mail carry: base64 (RFC 4648, with padding).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace precast::text {

/// Four letters for each three bytes, the last of them filled up with '='.
std::string encode_base64(std::span<const std::byte> bytes);

/// The bytes behind such a text, or nothing where it is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace precast::text
