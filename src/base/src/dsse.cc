#include "stepslack/base/dsse.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/digest.h"

namespace stepslack::base {
namespace {

constexpr size_t kMaxSignatures = 64;

}  // namespace

std::string PreAuthEncoding(std::string_view payload_type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", payload_type.size(), payload_type,
                     payload.size(), payload);
}

void SignEnvelope(DsseEnvelope& envelope, const SigningKey& key) {
  envelope.signatures.push_back(
      {Sha256Of(key.public_key),
       SignEd25519(key, PreAuthEncoding(envelope.payload_type, envelope.payload))});
}

int64_t CountSigners(const DsseEnvelope& envelope,
                     std::span<const std::string> public_keys) {
  const std::string message = PreAuthEncoding(envelope.payload_type, envelope.payload);
  const std::set<std::string_view> keys(public_keys.begin(), public_keys.end());
  const size_t looked_at = std::min(envelope.signatures.size(), kMaxSignatures);
  const auto signatures = std::span(envelope.signatures).first(looked_at);
  return std::count_if(keys.begin(), keys.end(), [&](std::string_view key) {
    return std::any_of(signatures.begin(), signatures.end(), [&](const auto& s) {
      return VerifyEd25519(key, message, s.signature);
    });
  });
}

Json ToJson(const DsseEnvelope& envelope) {
  Json signatures = Json::Array{};
  for (const DsseSignature& signature : envelope.signatures) {
    Json item;
    item.Set("keyid", signature.keyid);
    item.Set("sig", Base64Of(signature.signature));
    signatures.Append(std::move(item));
  }
  Json json;
  json.Set("payload", Base64Of(envelope.payload));
  json.Set("payloadType", envelope.payload_type);
  json.Set("signatures", std::move(signatures));
  return json;
}

std::optional<DsseEnvelope> EnvelopeFromJson(const Json& json) {
  if (!json["payload"].is_string() || !json["payloadType"].is_string() ||
      !json["signatures"].is_array()) {
    return std::nullopt;
  }
  DsseEnvelope envelope;
  envelope.payload_type = json["payloadType"].AsString();
  const auto payload = BytesOfBase64(json["payload"].AsString());
  if (!payload.has_value()) return std::nullopt;
  envelope.payload = *payload;
  for (const Json& item : json["signatures"].AsArray()) {
    const auto signature = BytesOfBase64(item["sig"].AsString());
    if (!item["sig"].is_string() || !signature.has_value()) return std::nullopt;
    envelope.signatures.push_back({item["keyid"].AsString(), *signature});
  }
  return envelope;
}

}  // namespace stepslack::base
