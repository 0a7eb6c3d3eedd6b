// The whole of measure on small traces of our own (tests/traces, made by make.py) and
// on what people do to folders of traces.
#include "stepslack/measure/measure_traces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "stepslack/base/file.h"

namespace stepslack::measure {
namespace {

namespace fs = std::filesystem;

std::string Fixture(const std::string& name) {
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string path = base::JoinPath(source == nullptr ? "." : source,
                                          "tests/traces/two_ranks/" + name);
  auto text = base::ReadFile(path);
  EXPECT_TRUE(text.has_value()) << path;
  return text ? *text : "";
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The list of events in two texts, each with the head and tail of the whole.
std::pair<std::string, std::string> Halves(const std::string& text) {
  const size_t open = text.find('[', text.find("\"traceEvents\"")) + 1;
  const size_t close = text.rfind(']');
  size_t middle = text.find("\n  },\n", open + (close - open) / 2);
  EXPECT_NE(middle, std::string::npos);
  middle += 4;  // behind the brace
  const std::string head = text.substr(0, open);
  const std::string tail = text.substr(close);
  return {head + text.substr(open, middle - open) + tail,
          head + text.substr(middle + 1, close - middle - 1) + tail};
}

class MeasureFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("stepslack_measure_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& name, std::string_view bytes) {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(base::WriteFileAtomic((folder_ / name).string(), bytes).has_value());
  }
  base::Result<TraceReport> Measured(std::vector<std::string> paths = {},
                                     int threads = 1) {
    MeasureOptions options;
    options.paths = paths.empty() ? std::vector<std::string>{folder_.string()} : paths;
    base::Context context;
    context.threads = threads;
    return MeasureTraces(options, context);
  }
  bool Says(const TraceReport& report, std::string_view part, std::string_view reason) {
    for (const MissingPart& missing : report.missing) {
      if (missing.part == part && missing.reason.find(reason) != std::string::npos) {
        return true;
      }
    }
    return false;
  }
  fs::path folder_;
};

void ExpectTwoRanks(const TraceReport& report) {
  ASSERT_EQ(report.ranks.size(), 2u);
  const auto& a = report.ranks[0].total;
  const auto& b = report.ranks[1].total;
  // By hand from make.py: 3 kernels of 400,250 and 600,500 ns, copies of 10,000 ns;
  // rank 0 is in each all-reduce for the 200,250 ns that rank 1 computes longer, then
  // both transfer for 100,000 ns. From the first kernel to the last copy it is
  // 2 ms + 600,500 + 1,000 + 100,000 + 2,000 + 10,000.
  EXPECT_EQ(a.span_ns, 2'713'500);
  EXPECT_EQ(b.span_ns, 2'713'500);
  EXPECT_EQ(a.compute_ns, 3 * 400'250);
  EXPECT_EQ(b.compute_ns, 3 * 600'500);
  EXPECT_EQ(a.comm_ns, 3 * (200'250 + 100'000));
  EXPECT_EQ(b.comm_ns, 3 * 100'000);
  EXPECT_EQ(a.memory_ns, 30'000);
  EXPECT_EQ(a.exposed_comm_ns, a.comm_ns);
  EXPECT_EQ(a.overlap_ns, 0);
  EXPECT_EQ(report.ranks[0].phases.data_ns, 150'000);
  EXPECT_EQ(report.ranks[0].phases.forward_ns, 600'000);
  ASSERT_EQ(report.ranks[0].steps.size(), 3u);
  EXPECT_EQ(report.ranks[0].steps[1].step, 6);
  EXPECT_EQ(report.ranks[0].steps[1].end_ns - report.ranks[0].steps[1].start_ns,
            990'000);
  ASSERT_TRUE(report.cross.has_value());
  ASSERT_TRUE(report.cross->waits.has_value());
  EXPECT_EQ(report.cross->matched, 3);
  EXPECT_EQ(report.cross->waits->by_rank[0].wait_ns, 3 * 200'250);
  EXPECT_EQ(report.cross->waits->by_rank[1].wait_ns, 0);
  EXPECT_EQ(report.cross->waits->by_rank[1].times_last, 3);
}

TEST_F(MeasureFolder, TwoRanksGiveTheNumbersWorkedByHand) {
  Write("rank0.json", Fixture("rank0.json"));
  Write("rank1.json", Fixture("rank1.json"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ExpectTwoRanks(*report);
}

TEST_F(MeasureFolder, NamesOrderCompressionAndThreadsChangeNothing) {
  Write("b/x.json", Fixture("rank0.json"));
  Write("a/y.json.gz", base::Gzip(Fixture("rank1.json")));
  for (const int threads : {1, 2, 7}) {
    const auto report = Measured({}, threads);
    ASSERT_TRUE(report.has_value());
    ExpectTwoRanks(*report);
  }
  const auto pattern = Measured({(folder_ / "*" / "*.json*").string()});
  ASSERT_TRUE(pattern.has_value());
  ExpectTwoRanks(*pattern);
}

TEST_F(MeasureFolder, ARankInTwoPiecesIsMeasuredAsOne) {
  const auto [first, second] = Halves(Fixture("rank0.json"));
  Write("part1.json", first);
  Write("part2.json", second);
  Write("rank1.json", Fixture("rank1.json"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ExpectTwoRanks(*report);
  EXPECT_EQ(report->ranks[0].sources.size(), 2u);
  EXPECT_TRUE(Says(*report, "rank", "pieces of one trace"));
}

TEST_F(MeasureFolder, ACopyAndATruncatedTwinCountOnce) {
  const std::string text = Fixture("rank0.json");
  Write("rank0.json", text);
  Write("rank0_copy.json", text);
  Write("rank0.json.tmp", text.substr(0, text.size() / 2));
  Write("rank1.json", Fixture("rank1.json"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ExpectTwoRanks(*report);
}

TEST_F(MeasureFolder, FilesThatClaimOneRankAreToldApartByTheirNames) {
  Write("worker0.json", Fixture("rank0.json"));
  Write("worker1.json", Replaced(Fixture("rank1.json"), "\"rank\": 1", "\"rank\": 0"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ExpectTwoRanks(*report);
  EXPECT_TRUE(Says(*report, "rank", "2 files claim rank 0"));
}

TEST_F(MeasureFolder, ASecondProcessThatClaimsARankIsLeftOutAndNamed) {
  Write("a.json", Fixture("rank0.json"));
  Write("b.json", Replaced(Fixture("rank1.json"), "\"rank\": 1", "\"rank\": 0"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->ranks.size(), 1u);
  EXPECT_TRUE(Says(*report, "rank", "two processes claim rank 0"));
  EXPECT_TRUE(Says(*report, "rank", "1 of 2 ranks have no trace: 1"));
  EXPECT_EQ(report->ranks[0].total.compute_ns, 3 * 400'250);
}

TEST_F(MeasureFolder, RanksOfATarArchiveAreRead) {
  const std::string parts[] = {Fixture("rank0.json"),
                               base::Gzip(Fixture("rank1.json"))};
  std::string archive;
  int index = 0;
  for (const std::string& part : parts) {
    std::string header(512, '\0');
    header.replace(0, 10, "t/file" + std::to_string(index++) + ".js");
    char size[13];
    snprintf(size, sizeof size, "%011o", static_cast<unsigned>(part.size()));
    header.replace(124, 11, size);
    header.replace(148, 8, "        ");
    header[156] = '0';
    header.replace(257, 6, std::string("ustar\0", 6));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char text[8];
    snprintf(text, sizeof text, "%06o", sum);
    header.replace(148, 7, std::string(text, 7));
    archive += header + part + std::string((512 - part.size() % 512) % 512, '\0');
  }
  archive += std::string(1024, '\0');
  for (const std::string& bytes : {archive, base::Gzip(archive)}) {
    Write("traces.bin", bytes);
    const auto report = Measured();
    ASSERT_TRUE(report.has_value());
    ExpectTwoRanks(*report);
  }
  Write("traces.bin", archive.substr(0, archive.size() - 1600));
  const auto cut = Measured();
  ASSERT_TRUE(cut.has_value());
  EXPECT_TRUE(Says(*cut, "input", "the archive ends inside a member"));
}

TEST_F(MeasureFolder, ShiftedClocksAreFoundAndWaitsStayTheSame) {
  Write("rank0.json", Fixture("rank0.json"));
  Write("rank1.json",
        Replaced(Fixture("rank1.json"), "1700000000000000000", "1700000003000000000"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  ExpectTwoRanks(*report);
  EXPECT_EQ(report->cross->Correction(1) - report->cross->Correction(0), 3'000'000'000);
}

TEST_F(MeasureFolder, NothingUsableIsRefusedWithTheReason) {
  Write("notes.txt", "no trace");
  const auto report = Measured();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "MEAS-0001");
  EXPECT_EQ(report.error().exit_code, base::ExitCode::kInput);
  const auto absent = Measured({(folder_ / "none").string()});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().id, "TRACE-0005");
  fs::create_directories(folder_ / "empty");
  const auto empty = Measured({(folder_ / "empty").string()});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().id, "TRACE-0006");
}

TEST_F(MeasureFolder, TheReportIsValidJsonWithEveryPartThatChecksRelyOn) {
  Write("rank0.json", Fixture("rank0.json"));
  Write("rank1.json", Fixture("rank1.json"));
  const auto report = Measured();
  ASSERT_TRUE(report.has_value());
  const auto json = base::ParseJson(WriteJson(*report), "report");
  ASSERT_TRUE(json.has_value());
  for (const char* key : {"schema", "missing", "import", "ranks", "collectives", "pop",
                          "what_if", "critical_path", "footnotes", "headline"}) {
    EXPECT_TRUE(json->Has(key)) << key;
  }
  EXPECT_TRUE((*json)["what_if"].is_null());
  EXPECT_TRUE(Says(*report, "what_if", "no op trace"));
  EXPECT_EQ((*json)["ranks"].AsArray()[1]["comm_ns"].AsInt(), 300'000);
  EXPECT_EQ((*json)["collectives"]["by_rank"].AsArray()[1]["times_last"].AsInt(), 3);
  EXPECT_NEAR((*json)["pop"]["parallel_efficiency"].AsDouble(),
              (*json)["pop"]["load_balance"].AsDouble() *
                  (*json)["pop"]["serialisation"].AsDouble() *
                  (*json)["pop"]["transfer"].AsDouble(),
              1e-12);
}

}  // namespace
}  // namespace stepslack::measure
