#include "stepslack/base/content_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace stepslack::base {
namespace {

// The input of BLAKE3's published test vectors: bytes 0, 1, ..., 250, 0, 1, ...
std::string Pattern(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i % 251);
  return bytes;
}

TEST(Blake3Of, GivesThePublishedVectorsAroundChunkAndTreeBoundaries) {
  EXPECT_EQ(Blake3Of(""),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(Blake3Of(Pattern(1024)),
            "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7");
  EXPECT_EQ(Blake3Of(Pattern(1025)),
            "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444");
  EXPECT_EQ(Blake3Of(Pattern(2048)),
            "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a");
  EXPECT_EQ(Blake3Of(Pattern(5120)),
            "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833");
}

TEST(Blake2b512Of, GivesTheVectorOfRfc7693) {
  EXPECT_EQ(Blake2b512Of("abc"),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}

TEST(XxHash, IsPrintedInTheCanonicalBigEndianForm) {
  EXPECT_EQ(Xxh64Of(""), "ef46db3751d8e999");
  EXPECT_EQ(Xxh3_128Of(""), "99aa06d3014798d86001c324468d497f");
}

}  // namespace
}  // namespace stepslack::base
