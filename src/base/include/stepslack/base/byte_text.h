// Bytes as text: hexadecimal and base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepslack::base {

std::string HexOf(std::string_view bytes);  // lower case
// Either case. Nothing for an odd length or another character.
std::optional<std::string> BytesOfHex(std::string_view hex);

std::string Base64Of(std::string_view bytes);  // standard alphabet, padded
// Standard or url-safe alphabet (mixed is fine), padding optional but right when there.
// Nothing for other characters, white space included, an impossible length, or bits
// left over that are not zero: every text has one meaning.
std::optional<std::string> BytesOfBase64(std::string_view text);

}  // namespace stepslack::base
