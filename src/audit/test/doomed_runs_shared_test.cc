// Known answers of 15,040 flow runs (METRICS 2.1), read with a reader of this test's
// own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "stepslack/audit/doomed_runs.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::audit {
namespace {

std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

void Add(const std::string& text, data::Column& column) {
  const auto number = base::ParseDouble(text);
  if (column.kind == data::ColumnKind::kText) {
    column.codes.push_back(static_cast<uint32_t>(column.texts.size()));
    column.texts.push_back(text);
    return;
  }
  column.numbers.push_back(number.value_or(std::nan("")));
  column.missing.push_back(number ? data::Missing::kPresent : data::Missing::kEmpty);
}

// The rows of one experiment on one platform.
data::Table Read(const std::string& content, const std::string& experiment,
                 const std::string& platform) {
  data::Table table;
  table.source = "runs.csv.gz";
  size_t begin = 0;
  while (begin < content.size()) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const auto cells = Cells(std::string_view(content).substr(begin, end - begin));
    begin = end + 1;
    if (table.columns.empty()) {
      for (size_t c = 0; c < cells.size(); ++c) {
        table.columns.emplace_back();
        table.columns.back().name = cells[c];
        if (c < 5) table.columns.back().kind = data::ColumnKind::kText;
      }
      continue;
    }
    if (cells[0] != experiment || cells[1] != platform) continue;
    for (size_t c = 0; c < cells.size(); ++c) Add(cells[c], table.columns[c]);
    ++table.rows;
  }
  return table;
}

DoomedOptions BeforeDetailedRouting() {
  DoomedOptions options;
  options.label = "dr_drc";
  options.ran = "dr_wl";
  options.before = "dr";
  options.cost = "rt_detailedroute";
  options.group = "k_UTIL";
  return options;
}

class FlowRuns : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("STEPSLACK_SOURCE");
    const std::string path = std::string(source == nullptr ? "." : source) +
                             "/../shared/data/vlsi/metrics21-openroad/runs.csv.gz";
    if (!base::PathExists(path)) GTEST_SKIP() << path << " is not there";
    auto content = base::ReadMaybeGzip(path);
    ASSERT_TRUE(content.has_value());
    content_ = std::move(content).value();
  }
  std::string content_;
};

TEST_F(FlowRuns, FineGrained) {
  for (uint64_t seed = 1; seed < 9; ++seed)
    for (const char* before : {"dr", "gr"}) {
      DoomedOptions o = BeforeDetailedRouting();
      o.before = before;
      o.seed = seed;
      const auto report =
          JudgeDoomedRuns(Read(content_, "fine_grained", "sky130hd"), o);
      for (const DoomedSplit* s : {&report->random, &report->grouped})
        std::printf("%s %s: AUC %.4f, %.1f h at %.4f lost (bad %.1f)\n", before,
                    s->name.c_str(), s->auc.value_or(0), s->at_good_lost.hours_saved,
                    s->at_good_lost.good_lost, s->at_good_lost.bad_hours_saved);
    }
}
}  // namespace
}  // namespace stepslack::audit
