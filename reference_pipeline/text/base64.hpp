// Base64 (RFC 4648, with padding): bytes as text for JSON, HTML and mail.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace precast::text {

/// Four characters for each three bytes, padded with '='.
std::string encode_base64(std::span<const std::byte> bytes);

/// The bytes of a base64 text, or nothing if it is invalid.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace precast::text
