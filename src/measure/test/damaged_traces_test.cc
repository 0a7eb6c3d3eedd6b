// Real traces, damaged in the ways that real traces are: every one gives numbers or a
// reason, and damage that changes nothing of substance changes no number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/measure/measure_traces.h"

namespace stepslack::measure {
namespace {

namespace fs = std::filesystem;

std::string SharedFolder() {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) return given;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : base::JoinPath(base::ParentFolder(source), "shared");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to,
                     bool all = false) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    if (!all) break;
  }
  return text;
}

// Numbers behind `key` get quotes around them.
std::string Quoted(const std::string& text, const std::string& key) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, from)) {
    size_t number = at + key.size();
    while (number < text.size() && text[number] == ' ') ++number;
    const size_t end = text.find_first_not_of("0123456789.-", number);
    out += text.substr(from, number - from) + "\"" + text.substr(number, end - number) +
           "\"";
    from = end;
  }
  return out + text.substr(from);
}

std::string Compact(const std::string& text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    if (in_string || (c != ' ' && c != '\n' && c != '\t' && c != '\r')) out += c;
  }
  return out;
}

std::string ListRoot(const std::string& text) {
  const size_t from = text.find("\"traceEvents\"");
  const size_t open = text.find('[', from);
  size_t close = text.rfind("}");
  // The last `} ]` closes the events when no other list of objects follows.
  while ((close = text.rfind(']', close - 1)) != std::string::npos) {
    const size_t before = text.find_last_not_of(" \n\r\t", close - 1);
    if (text[before] == '}') break;
  }
  return text.substr(open, close - open + 1);
}

std::string FlippedBytes(std::string text) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    text[random() % text.size()] ^= static_cast<char>(1 << (random() % 8));
  }
  return text;
}

struct Totals {
  int64_t events = 0;
  int64_t busy_ns = 0;
  int64_t comm_ns = 0;
  int64_t steps = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

Totals TotalsOf(const TraceReport& report) {
  Totals totals;
  for (const auto& rank : report.ranks) {
    totals.events += rank.events;
    totals.busy_ns += rank.total.span_ns - rank.total.idle_ns;
    totals.comm_ns += rank.total.comm_ns;
    totals.steps += static_cast<int64_t>(rank.steps.size());
  }
  return totals;
}

class DamagedTraces : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path =
        base::JoinPath(SharedFolder(), std::string("data/traces/kineto/") + GetParam());
    if (!base::PathExists(path)) GTEST_SKIP() << "no reference traces at " << path;
    const auto text = base::ReadMaybeGzip(path);
    ASSERT_TRUE(text.has_value());
    text_ = *text;
    folder_ =
        fs::temp_directory_path() / ("stepslack_damaged_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const auto report = Measured(text_, "whole.json");
    ASSERT_TRUE(report.has_value());
    whole_ = TotalsOf(*report);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  base::Result<TraceReport> Measured(std::string_view bytes, const std::string& name) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write(bytes, name);
    return MeasureFolder();
  }
  void Write(std::string_view bytes, const std::string& name) {
    ASSERT_TRUE(base::WriteFileAtomic((folder_ / name).string(), bytes).has_value());
  }
  base::Result<TraceReport> MeasureFolder() {
    MeasureOptions options;
    options.paths = {folder_.string()};
    base::Context context;
    context.threads = 1;
    return MeasureTraces(options, context);
  }
  // A partial result with a reason, or a refusal as unreadable input.
  void ExpectPartial(std::string_view bytes, const std::string& what) {
    const auto report = Measured(bytes, "damaged.json");
    if (!report) {
      EXPECT_EQ(report.error().exit_code, base::ExitCode::kInput) << what;
      return;
    }
    const Totals totals = TotalsOf(*report);
    EXPECT_LE(totals.events, whole_.events) << what;
    const bool counted = report->import.CountOf(trace::Severity::kError) > 0 ||
                         report->import.CountOf(trace::Severity::kWarning) > 0;
    EXPECT_TRUE(counted || !report->missing.empty() || totals == whole_) << what;
  }
  void ExpectSame(std::string_view bytes, const std::string& name) {
    const auto report = Measured(bytes, name);
    ASSERT_TRUE(report.has_value()) << name;
    EXPECT_EQ(TotalsOf(*report), whole_) << name;
  }

  std::string text_;
  fs::path folder_;
  Totals whole_;
};

TEST_P(DamagedTraces, ATextCutAnywhereGivesWhatCameBefore) {
  for (size_t part = 1; part < 16; ++part) {
    const size_t cut = text_.size() * part / 16;
    ExpectPartial(std::string_view(text_).substr(0, cut), std::to_string(part) + "/16");
  }
}

TEST_P(DamagedTraces, ACompressedFileCutAnywhereGivesWhatCameBefore) {
  const std::string packed = base::Gzip(text_);
  for (size_t part = 1; part < 16; part += 2) {
    ExpectPartial(std::string_view(packed).substr(0, packed.size() * part / 16),
                  "gz " + std::to_string(part) + "/16");
  }
}

TEST_P(DamagedTraces, BrokenTextIsCountedAndLeftBehind) {
  ExpectPartial(FlippedBytes(text_), "flipped bytes");
  ExpectPartial(Replaced(text_, "\"name\": \"", "\"name\": \"a \"b\" "), "bare quote");
  ExpectPartial(Replaced(text_, "\"name\": \"", "\"name\": \"\x01\x02\xff\xfe", true),
                "control and non-UTF-8 bytes");
  ExpectPartial(Replaced(text_, "\"dur\": ", "\"dur\": 99999999999999999999999"),
                "a duration beyond int64");
  ExpectPartial(Replaced(text_, "\"ts\": ", "\"ts\": -"), "a negative time");
  ExpectPartial(Replaced(text_, "\"ph\": \"X\"", "\"ph\": \"X\", \"ph\": \"X\"", true),
                "keys twice");
  ExpectPartial(text_ + text_, "two texts in one file");
  ExpectPartial(Replaced(text_, "\"traceEvents\"", "\"traceEvent\""), "no event list");
  ExpectPartial(text_.substr(0, text_.find_last_of(']')), "no end of the list");
  ExpectPartial("", "empty");
  ExpectPartial("{\"traceEvents\": []}", "no events");
  ExpectPartial("[]", "an empty list");
  ExpectPartial("{", "an opening brace");
  ExpectPartial(std::string(100'000, '['), "brackets");
}

TEST_P(DamagedTraces, AnotherSpellingChangesNoNumber) {
  ExpectSame(text_, "trace.pt.trace.json.tmp");
  ExpectSame(base::Gzip(text_), "named_wrongly.txt");
  ExpectSame(Compact(text_), "compact.json");
  ExpectSame("\xEF\xBB\xBF" + text_, "bom.json");
  ExpectSame(Quoted(Quoted(text_, "\"ts\":"), "\"dur\":"), "strings.json");
  const size_t half = text_.size() / 2;
  ExpectSame(base::Gzip(text_.substr(0, half)) + base::Gzip(text_.substr(half)),
             "members.json.gz");
}

TEST_P(DamagedTraces, AListAsRootHasTheSameEvents) {
  const auto report = Measured(ListRoot(text_), "list.json");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(TotalsOf(*report), whole_);
}

TEST_P(DamagedTraces, TheSameFileTwiceCountsOnce) {
  Write(text_, "copy.json");
  const auto report = MeasureFolder();
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->ranks.size(), 1u);
  EXPECT_EQ(TotalsOf(*report).busy_ns, whole_.busy_ns);
  EXPECT_EQ(TotalsOf(*report).comm_ns, whole_.comm_ns);
  EXPECT_FALSE(report->missing.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Sets, DamagedTraces,
    testing::Values("dlrm8_v100/worker3_step_12.1694128201557.pt.trace.json.gz",
                    "minitoy_mi250/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
                    "gloo300_cpu_rank34/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
                    "gpuonly_mi210/gpu_only_trace.json.gz",
                    "alexnet_a100_cudasync/"
                    "benchmark_result_2869224_1695835535_trace.json.gz"),
    [](const testing::TestParamInfo<const char*>& tested) {
      const std::string name = tested.param;
      return name.substr(0, name.find('/'));
    });

}  // namespace
}  // namespace stepslack::measure
