#include "stepslack/base/digest.h"

#include <openssl/evp.h>

#include <cstdio>
#include <vector>

namespace stepslack::base {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SS_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::Update(std::string_view bytes) {
  return Update(bytes.data(), bytes.size());
}

Sha256& Sha256::Update(const void* data, size_t size) {
  SS_CHECK(EVP_DigestUpdate(state_->context, data, size) == 1);
  return *this;
}

std::string Sha256::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  SS_CHECK(EVP_DigestFinal_ex(state_->context, digest, &size) == 1);
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 0xf];
  }
  return text;
}

std::string Sha256Of(std::string_view bytes) { return Sha256().Update(bytes).Finish(); }

Result<std::string> Sha256OfFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return Fail("BASE-0006", ExitCode::kInput, "cannot open file for hashing", path,
                "check the path and its permissions");
  }
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  size_t size = 0;
  while ((size = std::fread(buffer.data(), 1, buffer.size(), file)) > 0) {
    hash.Update(buffer.data(), size);
  }
  const bool damaged = std::ferror(file) != 0;
  std::fclose(file);
  if (damaged) {
    return Fail("BASE-0007", ExitCode::kInput, "read error", path,
                "check the disk; copy the file elsewhere and try again");
  }
  return hash.Finish();
}

}  // namespace stepslack::base
