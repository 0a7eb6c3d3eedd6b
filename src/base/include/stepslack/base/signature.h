// Ed25519 signatures (RFC 8032): 32-byte seeds and public keys, 64-byte signatures, all
// as raw bytes. The same seed and message give the same signature.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepslack::base {

struct SigningKey {
  std::string seed;        // 32 bytes; keep it secret
  std::string public_key;  // 32 bytes
};

// Nothing unless the seed has 32 bytes.
std::optional<SigningKey> SigningKeyFromSeed(std::string_view seed);
// 64 bytes; empty when the key is not of 32 bytes.
std::string SignEd25519(const SigningKey& key, std::string_view message);
// False for wrong sizes, points that do not decode, and S not below the group order
// (RFC 8032, section 5.1.7: without that check a signature has a second valid form).
bool VerifyEd25519(std::string_view public_key, std::string_view message,
                   std::string_view signature);

}  // namespace stepslack::base
