#include "pickle.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stepslack::trace {
namespace {

using base::Json;

// The protocol mark, `body`, STOP. Literals may hold NUL bytes.
template <size_t N>
std::string Body(const char (&body)[N], char protocol = 2) {
  std::string bytes = "\x80";
  bytes += protocol;
  bytes.append(body, N - 1);
  return bytes + '.';
}

Json Value(const std::string& bytes) {
  const auto read = ReadPickle(bytes, "test");
  EXPECT_TRUE(read.has_value());
  return read.has_value() ? read->value : Json();
}

std::string ErrorOf(const std::string& bytes, const PickleOptions& options = {}) {
  const auto read = ReadPickle(bytes, "test", options);
  return read.has_value() ? "none" : read.error().id;
}

TEST(Pickle, ReadsScalars) {
  EXPECT_TRUE(Value(Body("N")).is_null());
  EXPECT_EQ(Value(Body("\x88")), Json(true));
  EXPECT_EQ(Value(Body("\x89")), Json(false));
  EXPECT_EQ(Value(Body("K\xff")), Json(255));
  EXPECT_EQ(Value(Body("M\x34\x12")), Json(0x1234));
  EXPECT_EQ(Value(Body("J\xfe\xff\xff\xff")), Json(-2));
  EXPECT_EQ(Value(Body("G\x3f\xf8\0\0\0\0\0\0")), Json(1.5));
  EXPECT_EQ(Value(Body("X\x02\0\0\0ab")), Json("ab"));
  EXPECT_EQ(Value(Body("\x8c\x02ok", 4)), Json("ok"));
  EXPECT_EQ(Value(Body("C\x01z", 3)), Json("z"));
}

// 1758580155793872443 = 0x1867 aa4c ... as eight little-endian bytes: a time in ns.
TEST(Pickle, LongIntegersAreExact) {
  std::string bytes = "\x80\x02\x8a\x08";
  const uint64_t time = 1758580155793872443u;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((time >> (8 * i)) & 0xff);
  EXPECT_EQ(Value(bytes + "."), Json(int64_t{1758580155793872443}));
  EXPECT_EQ(Value(Body("\x8a\x00")), Json(0));
  EXPECT_EQ(Value(Body("\x8a\x01\xff")), Json(-1));
  EXPECT_EQ(Value(Body("\x8a\x02\xff\x00")), Json(255));
  // 2^64 needs nine bytes.
  EXPECT_EQ(Value(Body("\x8a\x09\0\0\0\0\0\0\0\0\x01")), Json(18446744073709551616.0));
  EXPECT_EQ(Value(Body("\x8a\x09\0\0\0\0\0\0\0\0\xff")), Json(-18446744073709551616.0));
}

TEST(Pickle, ReadsContainersBuiltAfterTheyWereRemembered) {
  // {"a": [1, 2], "b": (3,)} with the list put into the memo while it is empty, and
  // used a second time as "c".
  const Json value =
      Value(Body("}(\x8c\x01"
                 "a]\x94(K\x01K\x02"
                 "e\x8c\x01"
                 "bK\x03\x85\x8c\x01"
                 "ch\x00u",
                 4));
  EXPECT_EQ(value.Dump(-1), R"({"a":[1,2],"b":[3],"c":[1,2]})");
}

TEST(Pickle, ReadsItemsOneByOne) {
  EXPECT_EQ(Value(Body("]K\x01"
                       "aK\x02"
                       "a"))
                .Dump(-1),
            "[1,2]");
  EXPECT_EQ(Value(Body("}X\x01\0\0\0kK\x07s")).Dump(-1), R"({"k":7})");
  EXPECT_EQ(Value(Body("(K\x01K\x02t")).Dump(-1), "[1,2]");
  EXPECT_EQ(Value(Body("(K\x01K\x02l")).Dump(-1), "[1,2]");
  EXPECT_EQ(Value(Body("(K\x05K\x02"
                       "d"))
                .Dump(-1),
            R"({"5":2})");
}

TEST(Pickle, FramesAreChecked) {
  EXPECT_EQ(Value(Body("\x95\x02\0\0\0\0\0\0\0K\x01", 4)), Json(1));
  EXPECT_EQ(ErrorOf(Body("\x95\x7f\0\0\0\0\0\0\0K\x01", 4)), "TRACE-0101");
}

TEST(Pickle, RefusesWhatCouldRunCodeAndNamesIt) {
  const auto refused = ReadPickle(Body("cos\nsystem\n"), "dump");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "TRACE-0100");
  EXPECT_NE(refused.error().what.find("GLOBAL"), std::string::npos);
  EXPECT_EQ(refused.error().where, "dump, byte 2");
  const auto reduce = ReadPickle(Body("K\x01)R"), "dump");
  ASSERT_FALSE(reduce.has_value());
  EXPECT_NE(reduce.error().what.find("REDUCE"), std::string::npos);
  EXPECT_EQ(reduce.error().where, "dump, byte 5");
}

TEST(Pickle, RefusesEveryOpcodeThatIsNotPlainData) {
  for (const unsigned char code :
       {'c', 'R', 'b', 'i', 'o', 'P', 'Q', 'I', 'L', 'F', 'S', 'V', 'p', 'g'}) {
    EXPECT_EQ(ErrorOf(std::string("\x80\x02N") + static_cast<char>(code) + "."),
              "TRACE-0100")
        << code;
  }
  for (const int code :
       {0x81, 0x82, 0x83, 0x84, 0x92, 0x93, 0x97, 0x98, 0x00, 0x7f, 0xff}) {
    EXPECT_EQ(ErrorOf(std::string("\x80\x02N") + static_cast<char>(code) + "."),
              "TRACE-0100")
        << code;
  }
}

TEST(Pickle, RefusesDamage) {
  EXPECT_EQ(ErrorOf(""), "TRACE-0101");
  EXPECT_EQ(ErrorOf("\x80\x02"), "TRACE-0101");                 // no STOP
  EXPECT_EQ(ErrorOf("\x80\x02."), "TRACE-0101");                // nothing to give
  EXPECT_EQ(ErrorOf("\x80\x02K\x01K\x02."), "TRACE-0101");      // two values
  EXPECT_EQ(ErrorOf("\x80\x02(K\x01."), "TRACE-0101");          // open mark
  EXPECT_EQ(ErrorOf("\x80\x07N."), "TRACE-0101");               // protocol 7
  EXPECT_EQ(ErrorOf(Body("X\xff\xff\xff\x7f")), "TRACE-0101");  // claims 2 GiB
  EXPECT_EQ(ErrorOf(Body("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")), "TRACE-0101");
  EXPECT_EQ(ErrorOf(Body("\x8b\xff\xff\xff\xff")), "TRACE-0101");
  EXPECT_EQ(ErrorOf(Body("h\x05")), "TRACE-0101");  // nothing remembered there
  EXPECT_EQ(ErrorOf(Body("K\x01K\x02"
                         "a")),
            "TRACE-0101");                             // append to a number
  EXPECT_EQ(ErrorOf(Body("}(K\x01u")), "TRACE-0101");  // key without a value
  EXPECT_EQ(ErrorOf(Body("a")), "TRACE-0101");
  EXPECT_EQ(ErrorOf(Body("u")), "TRACE-0101");
  EXPECT_EQ(ErrorOf(Body("0")), "TRACE-0101");
  EXPECT_EQ(ErrorOf(Body("](K\x01\x87")), "TRACE-0101");  // tuple across the mark
}

TEST(Pickle, ListThatHoldsItselfIsRefused) {
  EXPECT_EQ(ErrorOf(Body("]q\x00h\x00"
                         "a")),
            "TRACE-0102");
}

// Thirty lists, each holding the one before twice: 2^30 values from 200 bytes.
TEST(Pickle, SharedValuesDoNotGrowWithoutBound) {
  std::string bytes = "\x80\x04]\x94";
  for (int i = 0; i < 30; ++i) {
    bytes += "](h";
    bytes += static_cast<char>(i);
    bytes += 'h';
    bytes += static_cast<char>(i);
    bytes += "e\x94";
  }
  EXPECT_EQ(ErrorOf(bytes + "."), "TRACE-0101");  // values left below
  std::string nested = "\x80\x04]\x94";
  for (int i = 0; i < 30; ++i) {
    nested += std::string("0](h") + static_cast<char>(i) + "h" + static_cast<char>(i) +
              "e\x94";
  }
  EXPECT_EQ(ErrorOf(nested + "."), "TRACE-0102");
}

// 1 MB of text used 200 times would be 200 MB: more than 64 MiB + 64 times the input.
TEST(Pickle, SharedTextDoesNotGrowWithoutBound) {
  std::string bytes = "\x80\x04X";
  bytes += std::string("\x40\x42\x0f\x00", 4) + std::string(1'000'000, 'x') + "\x94";
  bytes += "0]";
  std::string uses = "(";
  for (int i = 0; i < 200; ++i) uses += std::string("h\0", 2);
  EXPECT_EQ(ErrorOf(bytes + uses + "e."), "TRACE-0102");
  std::string few = "(";
  for (int i = 0; i < 20; ++i) few += std::string("h\0", 2);
  EXPECT_EQ(ErrorOf(bytes + few + "e."), "none");
}

TEST(Pickle, DepthAndNumberOfValuesAreBounded) {
  std::string deep = "\x80\x02";
  for (int i = 0; i < 100; ++i) deep += ']';
  for (int i = 0; i < 99; ++i) deep += 'a';
  EXPECT_EQ(ErrorOf(deep + "."), "TRACE-0102");
  EXPECT_EQ(ErrorOf(Body("](K\x01K\x02K\x03"
                         "e"),
                    {.max_nodes = 3}),
            "TRACE-0102");
}

TEST(Pickle, ShortListKeepsTheFirstItemsOnly) {
  // {"f": [1, 2, 3]}
  const auto read = ReadPickle(Body("}\x8c\x01"
                                    "f](K\x01K\x02K\x03"
                                    "es",
                                    4),
                               "test", {.short_list_key = "f", .short_list_items = 2});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->value.Dump(-1), R"({"f":[1,2]})");
}

TEST(Pickle, LocatesTheItemsOfAList) {
  // Bytes 2 }, 3 key, 6 ], 7 (, 8 K1, 10 K2, 12 e, 13 s.
  const auto read = ReadPickle(Body("}\x8c\x01"
                                    "f](K\x01K\x02"
                                    "es",
                                    4),
                               "test", {.located_list_key = "f"});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->located, (std::vector<int64_t>{8, 10}));
}

TEST(Pickle, TextThatIsNotUtf8IsReplaced) {
  EXPECT_EQ(Value(Body("C\x02z\xff", 3)), Json("z\xEF\xBF\xBD"));
}

}  // namespace
}  // namespace stepslack::trace
