// Hashes that other tools print, to compare with theirs: hexadecimal, lower case.
// Evidence itself uses SHA-256 only (digest.h).
#pragma once

#include <string>
#include <string_view>

namespace stepslack::base {

std::string Blake2b512Of(std::string_view bytes);  // RFC 7693, b2sum
std::string Blake3Of(std::string_view bytes);      // b3sum, 32 bytes, no key
// xxHash, seed 0, in the big-endian canonical form that xxhsum prints. Not
// cryptographic: for row keys and file comparison, never against intent.
std::string Xxh64Of(std::string_view bytes);
std::string Xxh3_128Of(std::string_view bytes);

}  // namespace stepslack::base
