#include "stepslack/base/signature.h"

#include <openssl/evp.h>

#include <memory>

#include "stepslack/base/result.h"

namespace stepslack::base {
namespace {

constexpr size_t kKeySize = 32;
constexpr size_t kSignatureSize = 64;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* Data(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Key PrivateKey(std::string_view seed) {
  if (seed.size() != kKeySize) return nullptr;
  return Key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Data(seed), seed.size()));
}

}  // namespace

std::optional<SigningKey> SigningKeyFromSeed(std::string_view seed) {
  const Key key = PrivateKey(seed);
  if (key == nullptr) return std::nullopt;
  unsigned char bytes[kKeySize];
  size_t size = sizeof bytes;
  SS_CHECK(EVP_PKEY_get_raw_public_key(key.get(), bytes, &size) == 1);
  return SigningKey{std::string(seed),
                    std::string(reinterpret_cast<const char*>(bytes), size)};
}

std::string SignEd25519(const SigningKey& signing_key, std::string_view message) {
  const Key key = PrivateKey(signing_key.seed);
  if (key == nullptr) return "";
  const Context context(EVP_MD_CTX_new());
  unsigned char bytes[kSignatureSize];
  size_t size = sizeof bytes;
  SS_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) ==
           1);
  SS_CHECK(EVP_DigestSign(context.get(), bytes, &size, Data(message), message.size()) ==
           1);
  return {reinterpret_cast<const char*>(bytes), size};
}

bool VerifyEd25519(std::string_view public_key, std::string_view message,
                   std::string_view signature) {
  if (public_key.size() != kKeySize || signature.size() != kSignatureSize) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Data(public_key),
                                            public_key.size()));
  if (key == nullptr) return false;
  const Context context(EVP_MD_CTX_new());
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) {
    return false;
  }
  return EVP_DigestVerify(context.get(), Data(signature), signature.size(),
                          Data(message), message.size()) == 1;
}

}  // namespace stepslack::base
