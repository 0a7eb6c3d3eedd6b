// Reference vectors of hashes, signatures and logs. The code is base's; the entries
// stand in the same file as the statistics, so they are walked here.
#include <string>
#include <vector>

#include "reference_entry.h"
#include "stepslack/base/byte_text.h"
#include "stepslack/base/content_hash.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/dsse.h"
#include "stepslack/base/merkle_log.h"
#include "stepslack/base/signature.h"

namespace stepslack::stats {
namespace {

using base::Json;

std::string FromHex(const Json& json) {
  const auto bytes = base::BytesOfHex(json.AsString());
  EXPECT_TRUE(bytes.has_value() && json.is_string());
  return bytes.value_or("");
}

void Hashes(Entry& e) {
  for (const Json& input : e.inputs()["inputs_utf8"].AsArray()) {
    const std::string& text = input.AsString();
    const Json& expected = e.expected()[text];
    EXPECT_EQ(base::Sha256Of(text), expected["sha256"].AsString());
    EXPECT_EQ(base::Blake2b512Of(text), expected["blake2b_512"].AsString());
    EXPECT_EQ(base::Xxh64Of(text), expected["xxh64"].AsString());
    EXPECT_EQ(base::Xxh3_128Of(text), expected["xxh3_128"].AsString());
    EXPECT_EQ(base::Blake3Of(text), expected["blake3"].AsString());
  }
}

void PreAuthEncodings(Entry& e) {
  const auto& cases = e.inputs()["cases"].AsArray();
  const auto& expected = e.expected()["pae_utf8"].AsArray();
  ASSERT_EQ(cases.size(), expected.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(base::PreAuthEncoding(cases[i].AsArray().at(0).AsString(),
                                    cases[i].AsArray().at(1).AsString()),
              expected[i].AsString());
  }
}

void Ed25519(Entry& e) {
  const auto key = base::SigningKeyFromSeed(FromHex(e.inputs()["seed_hex"]));
  ASSERT_TRUE(key.has_value());
  const std::string message = FromHex(e.inputs()["message_hex"]);
  EXPECT_EQ(base::HexOf(key->public_key), e.expected()["public_hex"].AsString());
  const std::string signature = base::SignEd25519(*key, message);
  EXPECT_EQ(base::HexOf(signature), e.expected()["sig_hex"].AsString());
  EXPECT_TRUE(base::VerifyEd25519(key->public_key, message, signature));
}

// The other form of the same signature: S + L, little endian in the second half.
std::string PlusGroupOrder(std::string signature) {
  const std::string order = *base::BytesOfHex(
      "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  int carry = 0;
  for (size_t i = 0; i < 32; ++i) {
    carry += static_cast<unsigned char>(signature[32 + i]) +
             static_cast<unsigned char>(order[i]);
    signature[32 + i] = static_cast<char>(carry & 0xff);
    carry >>= 8;
  }
  return signature;
}

void RefusesForgeries(const base::DsseEnvelope& good,
                      const std::vector<std::string>& keys,
                      const base::SigningKey& first) {
  base::DsseEnvelope changed = good;
  changed.payload[0] ^= 1;
  EXPECT_EQ(base::CountSigners(changed, keys), 0);
  changed = good;
  changed.payload_type = "application/json";
  EXPECT_EQ(base::CountSigners(changed, keys), 0);
  changed = good;
  changed.signatures[1] = changed.signatures[0];
  EXPECT_EQ(base::CountSigners(changed, keys), 1);  // one key twice is one
  EXPECT_EQ(base::CountSigners(good, std::vector{keys[0], keys[0]}), 1);
  changed.signatures = {{"", base::SignEd25519(first, good.payload)}};
  EXPECT_EQ(base::CountSigners(changed, keys), 0);
  changed.signatures = {{"", PlusGroupOrder(good.signatures[0].signature)}};
  EXPECT_EQ(base::CountSigners(changed, keys), 0);
}

void TwoSigners(Entry& e) {
  const auto first = base::SigningKeyFromSeed(FromHex(e.inputs()["seed1_hex"]));
  const auto second = base::SigningKeyFromSeed(FromHex(e.inputs()["seed2_hex"]));
  ASSERT_TRUE(first.has_value() && second.has_value());
  base::DsseEnvelope envelope{
      e.inputs()["payloadType"].AsString(), e.inputs()["payload_utf8"].AsString(), {}};
  EXPECT_EQ(
      base::Sha256Of(base::PreAuthEncoding(envelope.payload_type, envelope.payload)),
      e.expected()["pae_sha256"].AsString());
  base::SignEnvelope(envelope, *first);
  base::SignEnvelope(envelope, *second);
  const Json json = base::ToJson(envelope);
  EXPECT_EQ(json["payload"].AsString(), e.expected()["payload_b64"].AsString());
  const auto& expected = e.expected()["signatures"].AsArray();
  std::vector<std::string> keys;
  ASSERT_EQ(expected.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const Json& made = json["signatures"].AsArray().at(i);
    EXPECT_EQ(made["keyid"].AsString(), expected[i]["keyid"].AsString());
    EXPECT_EQ(made["sig"].AsString(), expected[i]["sig_b64"].AsString());
    keys.push_back(FromHex(expected[i]["public_hex"]));
  }
  EXPECT_EQ(base::CountSigners(envelope, keys), 2);
  RefusesForgeries(envelope, keys, *first);
  // Url-safe base64 must be accepted.
  std::string payload = json["payload"].AsString();
  for (char& c : payload) c = c == '+' ? '-' : (c == '/' ? '_' : c);
  Json signatures;
  for (const Json& signature : json["signatures"].AsArray()) {
    std::string sig = signature["sig"].AsString();
    for (char& c : sig) c = c == '+' ? '-' : (c == '/' ? '_' : c);
    EXPECT_NE(sig, signature["sig"].AsString());
    signatures.Append(Json().Set("sig", sig));
  }
  Json url_safe = json;
  url_safe.Set("payload", payload).Set("signatures", signatures);
  const auto read = base::EnvelopeFromJson(url_safe);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(base::CountSigners(*read, keys), 2);
}

std::vector<std::string> HexList(const Json& json) {
  std::vector<std::string> list;
  for (const Json& item : json.AsArray()) list.push_back(FromHex(item));
  return list;
}

void MerkleTree(Entry& e) {
  std::vector<std::string> leaves;
  for (const std::string& leaf : HexList(e.inputs()["leaves_hex"])) {
    leaves.push_back(base::MerkleLeaf(leaf));
  }
  ASSERT_EQ(leaves.size(), 8U);
  const auto roots = HexList(e.expected()["roots_by_size"]);
  const std::span<const std::string> all(leaves);
  ASSERT_EQ(roots.size(), 9U);
  for (size_t n = 0; n < roots.size(); ++n) {
    EXPECT_EQ(base::MerkleRoot(all.first(n)), roots[n]) << n;
  }
  const auto inclusion = base::InclusionProof(all, 5);
  EXPECT_EQ(*inclusion, HexList(e.expected()["inclusion_5_in_8"]));
  EXPECT_TRUE(base::VerifyInclusion(leaves[5], 5, 8, *inclusion, roots[8]));
  EXPECT_FALSE(base::VerifyInclusion(leaves[4], 5, 8, *inclusion, roots[8]));
  EXPECT_EQ(*base::InclusionProof(all.first(3), 2),
            HexList(e.expected()["inclusion_2_in_3"]));
  const auto three_seven = base::ConsistencyProof(all.first(7), 3);
  EXPECT_EQ(*three_seven, HexList(e.expected()["consistency_3_to_7"]));
  EXPECT_TRUE(base::VerifyConsistency(3, roots[3], 7, roots[7], *three_seven));
  const auto six_eight = base::ConsistencyProof(all, 6);
  EXPECT_EQ(*six_eight, HexList(e.expected()["consistency_6_to_8"]));
  EXPECT_TRUE(base::VerifyConsistency(6, roots[6], 8, roots[8], *six_eight));
  EXPECT_FALSE(base::VerifyConsistency(6, roots[5], 8, roots[8], *six_eight));
}

void HashChain(Entry& e) {
  std::string head = base::FirstChainHead();
  EXPECT_EQ(base::HexOf(head), e.inputs()["genesis"].AsString());
  std::vector<std::string> heads;
  for (const Json& entry : e.inputs()["entries"].AsArray()) {
    head = base::NextChainHead(head, entry.AsString());
    heads.push_back(head);
  }
  EXPECT_EQ(heads, HexList(e.expected()["heads"]));
}

}  // namespace

ReferenceChecks EvidenceChecks() {
  return {
      {"hash_vectors", Hashes},           {"dsse_pae", PreAuthEncodings},
      {"ed25519_rfc8032_test1", Ed25519}, {"dsse_ed25519_two_signers", TwoSigners},
      {"rfc6962_merkle", MerkleTree},     {"hash_chain", HashChain},
  };
}

}  // namespace stepslack::stats
