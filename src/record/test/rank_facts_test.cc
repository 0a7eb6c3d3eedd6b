#include "stepslack/record/rank_facts.h"

#include <gtest/gtest.h>

#include <array>

#include "stepslack/base/digest.h"

namespace stepslack::record {
namespace {

TEST(RankFacts, LoadedLibrariesAreTheExecutableMappingsOfTheWantedNames) {
  constexpr std::array<std::string_view, 2> kStems = {"libtorch", "libmpi"};
  const auto found = LoadedLibraries(
      "7f00-7f01 r--p 00000000 fe:00 11   /usr/lib/libtorch_cpu.so.1.13\n"
      "7f01-7f02 r-xp 00001000 fe:00 11   /usr/lib/libtorch_cpu.so.1.13\n"
      "7f02-7f03 r-xp 00001000 fe:00 11   /usr/lib/libtorch_cpu.so.1.13\n"
      "7f03-7f04 r-xp 00000000 fe:00 12   /opt/with blank/libmpi.so.40\n"
      "7f04-7f05 r--p 00000000 fe:00 13   /usr/lib/libmpi_cxx.so\n"  // data only
      "7f05-7f06 r-xp 00000000 fe:00 14   /usr/lib/libz.so.1\n"
      "7f06-7f07 r-xp 00000000 00:00 0    [vdso]\n"
      "damaged\n/x\n",
      kStems);
  EXPECT_EQ(found, (std::vector<std::string>{"/opt/with blank/libmpi.so.40",
                                             "/usr/lib/libtorch_cpu.so.1.13"}));
}

TEST(RankFacts, CountsTheCoresOfAList) {
  EXPECT_EQ(CountCpuList("0-3,8\n"), 5);
  EXPECT_EQ(CountCpuList("7"), 1);
  EXPECT_EQ(CountCpuList(""), 0);
  EXPECT_EQ(CountCpuList("3-1,x,2"), 1);  // the damaged parts count nothing
  EXPECT_EQ(CountCpuList("0-99999999999999"), 0);
}

TEST(RankFacts, TellTheHostAndTheLibrariesOfThisProcess) {
  const base::Json facts = RankFacts();
  EXPECT_EQ(facts["schema"].AsString(), "stepslack.host/1");
  EXPECT_GE(facts["cores"].AsInt(), 1);
  EXPECT_GE(facts["threads"].AsInt(), 1);
  ASSERT_FALSE(facts["libraries"].AsArray().empty());  // the C library at least
  for (const base::Json& library : facts["libraries"].AsArray()) {
    EXPECT_EQ(library["sha256"].AsString(),
              base::Sha256OfFile(library["path"].AsString()).value());
  }
  EXPECT_EQ(facts["runtime_tag"].AsString().size(), 64U);
  EXPECT_EQ(facts["hardware_tag"].AsString().size(), 64U);
}

TEST(RankFacts, ASettingChangesTheRuntimeTagAndNotTheHardwareTag) {
  const base::Json before = RankFacts();
  ASSERT_EQ(::setenv("OPENBLAS_CORETYPE", "Nehalem", 1), 0);
  const base::Json after = RankFacts();
  ASSERT_EQ(::unsetenv("OPENBLAS_CORETYPE"), 0);
  EXPECT_EQ(after["environment"]["OPENBLAS_CORETYPE"].AsString(), "Nehalem");
  EXPECT_NE(after["runtime_tag"], before["runtime_tag"]);
  EXPECT_EQ(after["hardware_tag"], before["hardware_tag"]);
  EXPECT_EQ(RankFacts()["runtime_tag"], before["runtime_tag"]);
}

}  // namespace
}  // namespace stepslack::record
