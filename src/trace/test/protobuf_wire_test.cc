#include "stepslack/trace/protobuf_wire.h"

#include <gtest/gtest.h>

#include <string>

namespace stepslack::trace {
namespace {

using Type = WireField::Type;

// Examples of the encoding guide: field 1 = 150, field 2 = "testing".
TEST(ProtobufWire, ReadsTheExamplesOfTheEncodingGuide) {
  const std::string message("\x08\x96\x01\x12\x07testing", 12);
  WireReader reader(message, 100);
  WireField field;
  ASSERT_TRUE(reader.Next(field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.type, Type::kVarint);
  EXPECT_EQ(field.value, 150u);
  EXPECT_EQ(field.offset, 100u);
  ASSERT_TRUE(reader.Next(field));
  EXPECT_EQ(field.number, 2u);
  EXPECT_EQ(field.bytes, "testing");
  EXPECT_EQ(field.offset, 103u);
  EXPECT_EQ(field.content, 105u);
  EXPECT_FALSE(field.clipped);
  EXPECT_FALSE(reader.Next(field));
  EXPECT_FALSE(reader.malformed());
  EXPECT_EQ(reader.position(), 112u);
}

TEST(ProtobufWire, ReadsNegativeVarintsAndFixedNumbers) {
  const std::string message(
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  // 1: -1
      "\x11\x00\x00\x00\x00\x00\x00\xf8\x3f"          // 2: 1.5 as a double
      "\x1d\x01\x02\x00\x00",                         // 3: 513 in 32 bits
      25);
  WireReader reader(message);
  WireField field;
  ASSERT_TRUE(reader.Next(field));
  EXPECT_EQ(field.AsInt64(), -1);
  ASSERT_TRUE(reader.Next(field));
  EXPECT_EQ(field.AsDouble(), 1.5);
  ASSERT_TRUE(reader.Next(field));
  EXPECT_EQ(field.value, 513u);
  EXPECT_FALSE(reader.Next(field));
  EXPECT_FALSE(reader.malformed());
}

TEST(ProtobufWire, ClipsALengthThatSaysMoreThanThereIs) {
  const std::string message(
      "\x0a\xff\xff\xff\xff\x0f"
      "abc",
      9);  // 4 GiB claimed
  WireReader reader(message);
  WireField field;
  ASSERT_TRUE(reader.Next(field));
  EXPECT_TRUE(field.clipped);
  EXPECT_EQ(field.bytes, "abc");
  EXPECT_FALSE(reader.Next(field));
  EXPECT_FALSE(reader.malformed());
}

TEST(ProtobufWire, RefusesWhatIsNoField) {
  const auto malformed = [](std::string_view message) {
    WireReader reader(message);
    WireField field;
    while (reader.Next(field)) {
    }
    return reader.malformed();
  };
  EXPECT_TRUE(malformed(std::string_view("\x00\x01", 2)));  // field number 0
  EXPECT_TRUE(malformed("\x0b"));                           // a group
  EXPECT_TRUE(malformed("\x0e"));                           // wire type 6
  EXPECT_TRUE(malformed("\x08"));                           // no value
  EXPECT_TRUE(malformed("\x08\x80\x80"));                   // varint without an end
  EXPECT_TRUE(malformed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));  // 65 bits
  EXPECT_TRUE(
      malformed("\x09"
                "1234567"));  // 7 of 8 bytes
  EXPECT_TRUE(
      malformed("\x0d"
                "123"));  // 3 of 4 bytes
  EXPECT_FALSE(malformed(""));
}

}  // namespace
}  // namespace stepslack::trace
