// Signed envelopes: DSSE 1.0 (Dead Simple Signing Envelope, secure-systems-lab/dsse,
// protocol.md and envelope.md), the container of in-toto attestations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/signature.h"

namespace stepslack::base {

// PAE: "DSSEv1 <len> <type> <len> <payload>", lengths in bytes of UTF-8. This, never
// the bare payload, is what gets signed: the type can then not be swapped.
std::string PreAuthEncoding(std::string_view payload_type, std::string_view payload);

struct DsseSignature {
  std::string keyid;  // a hint only, never trusted; ours is SHA-256 of the public key
  std::string signature;  // raw bytes
};

struct DsseEnvelope {
  std::string payload_type;
  std::string payload;  // raw bytes
  std::vector<DsseSignature> signatures;
};

// Adds the signature of `key`.
void SignEnvelope(DsseEnvelope& envelope, const SigningKey& key);

// How many different keys of `public_keys` (raw, repeats count once) signed the
// envelope. Accept it when that reaches your threshold: two signatures of one key are
// one. Every signature is tried with every key, whatever its keyid; at most 64
// signatures are looked at.
int64_t CountSigners(const DsseEnvelope& envelope,
                     std::span<const std::string> public_keys);

// {"payload": base64, "payloadType": ..., "signatures": [{"keyid", "sig"}]}.
Json ToJson(const DsseEnvelope& envelope);
// Nothing when a field is missing or not base64 (standard or url-safe).
std::optional<DsseEnvelope> EnvelopeFromJson(const Json& json);

}  // namespace stepslack::base
