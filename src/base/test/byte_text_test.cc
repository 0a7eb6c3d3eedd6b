#include "stepslack/base/byte_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stepslack::base {
namespace {

TEST(Base64Of, GivesTheVectorsOfRfc4648) {
  EXPECT_EQ(Base64Of(""), "");
  EXPECT_EQ(Base64Of("f"), "Zg==");
  EXPECT_EQ(Base64Of("fo"), "Zm8=");
  EXPECT_EQ(Base64Of("foo"), "Zm9v");
  EXPECT_EQ(Base64Of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64Of("\xfb\xff"), "+/8=");
}

TEST(BytesOfBase64, ReadsBothAlphabetsWithAndWithoutPadding) {
  EXPECT_EQ(BytesOfBase64("+/8="), "\xfb\xff");
  EXPECT_EQ(BytesOfBase64("-_8"), "\xfb\xff");
  EXPECT_EQ(BytesOfBase64("Zg=="), "f");
  EXPECT_EQ(BytesOfBase64(""), "");
}

TEST(BytesOfBase64, RefusesTextWithASecondMeaning) {
  EXPECT_EQ(BytesOfBase64("Zh=="), std::nullopt);  // left-over bits are not zero
  EXPECT_EQ(BytesOfBase64("Zg="), std::nullopt);   // wrong padding
  EXPECT_EQ(BytesOfBase64("Zg==="), std::nullopt);
  EXPECT_EQ(BytesOfBase64("Zm9v="), std::nullopt);
  EXPECT_EQ(BytesOfBase64("Z"), std::nullopt);
  EXPECT_EQ(BytesOfBase64("Zm 9"), std::nullopt);
  EXPECT_EQ(BytesOfBase64("===="), std::nullopt);
}

TEST(BytesOfHex, ReadsEitherCaseAndRefusesTheRest) {
  EXPECT_EQ(BytesOfHex("00fFa1"), std::string("\0\xff\xa1", 3));
  EXPECT_EQ(BytesOfHex("0"), std::nullopt);
  EXPECT_EQ(BytesOfHex("0g"), std::nullopt);
  EXPECT_EQ(HexOf(std::string("\0\xff", 2)), "00ff");
}

RC_GTEST_PROP(ByteText, ComesBackAsTheSameBytes, (const std::string& bytes)) {
  RC_ASSERT(BytesOfBase64(Base64Of(bytes)) == bytes);
  RC_ASSERT(BytesOfHex(HexOf(bytes)) == bytes);
}

}  // namespace
}  // namespace stepslack::base
