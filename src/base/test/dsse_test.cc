#include "stepslack/base/dsse.h"

#include <gtest/gtest.h>

#include "stepslack/base/byte_text.h"

namespace stepslack::base {
namespace {

SigningKey KeyOf(char fill) { return *SigningKeyFromSeed(std::string(32, fill)); }

TEST(PreAuthEncoding, CountsBytesNotCharacters) {
  EXPECT_EQ(PreAuthEncoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  EXPECT_EQ(PreAuthEncoding("t\xc3\xa9st", ""), "DSSEv1 5 t\xc3\xa9st 0 ");
}

TEST(SigningKeyFromSeed, GivesTheKeyOfRfc8032Test2) {
  const auto key = SigningKeyFromSeed(
      *BytesOfHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(HexOf(key->public_key),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  EXPECT_EQ(HexOf(SignEd25519(*key, "\x72")),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(VerifyEd25519, RefusesWrongSizesWithoutReadingThem) {
  const SigningKey key = KeyOf('a');
  const std::string signature = SignEd25519(key, "m");
  EXPECT_TRUE(VerifyEd25519(key.public_key, "m", signature));
  EXPECT_FALSE(VerifyEd25519(key.public_key, "n", signature));
  EXPECT_FALSE(VerifyEd25519("", "m", signature));
  EXPECT_FALSE(VerifyEd25519(key.public_key, "m", ""));
  EXPECT_FALSE(VerifyEd25519(key.public_key, "m", signature + "x"));
  EXPECT_FALSE(SigningKeyFromSeed("short").has_value());
  EXPECT_EQ(SignEd25519({"short", ""}, "m"), "");
}

TEST(CountSigners, CountsKeysNotSignatures) {
  DsseEnvelope envelope{"text/plain", "payload", {}};
  SignEnvelope(envelope, KeyOf('a'));
  SignEnvelope(envelope, KeyOf('a'));
  const std::vector<std::string> keys = {KeyOf('a').public_key, KeyOf('b').public_key};
  EXPECT_EQ(CountSigners(envelope, keys), 1);
  SignEnvelope(envelope, KeyOf('b'));
  EXPECT_EQ(CountSigners(envelope, keys), 2);
  EXPECT_EQ(CountSigners(envelope, {}), 0);
}

TEST(EnvelopeFromJson, ReadsWhatToJsonWrote) {
  DsseEnvelope envelope{"text/plain", std::string("\0\xff", 2), {}};
  SignEnvelope(envelope, KeyOf('a'));
  const auto read = EnvelopeFromJson(ToJson(envelope));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->payload, envelope.payload);
  EXPECT_EQ(read->payload_type, "text/plain");
  EXPECT_EQ(CountSigners(*read, std::vector{KeyOf('a').public_key}), 1);
}

TEST(EnvelopeFromJson, RefusesMissingFieldsAndWrongBase64) {
  EXPECT_FALSE(EnvelopeFromJson(Json()).has_value());
  Json json = ToJson({"t", "p", {}});
  EXPECT_TRUE(EnvelopeFromJson(json).has_value());
  json.Set("payload", "*");
  EXPECT_FALSE(EnvelopeFromJson(json).has_value());
}

}  // namespace
}  // namespace stepslack::base
