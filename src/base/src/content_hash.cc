#include "stepslack/base/content_hash.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/result.h"

namespace stepslack::base {
namespace {

std::string_view BytesOf(const unsigned char* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::string Blake2b512Of(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  SS_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_blake2b512(),
                      nullptr) == 1);
  return HexOf(BytesOf(digest, size));
}

std::string Xxh64Of(std::string_view bytes) {
  XXH64_canonical_t canonical;
  XXH64_canonicalFromHash(&canonical, XXH64(bytes.data(), bytes.size(), 0));
  return HexOf(BytesOf(canonical.digest, sizeof canonical.digest));
}

std::string Xxh3_128Of(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return HexOf(BytesOf(canonical.digest, sizeof canonical.digest));
}

}  // namespace stepslack::base
