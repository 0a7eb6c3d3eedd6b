#include <algorithm>

#include "stepslack/base/text.h"
#include "stepslack/logs/table_log.h"
#include "table_rows.h"

namespace stepslack::logs {
namespace {

using Cells = std::vector<std::string>;
using trace::Severity;

constexpr size_t kMaxColumns = 20000;

// Cells of the record at `at`, which moves behind it. A quoted cell may hold line ends.
Cells TakeRecord(std::string_view text, size_t& at, char separator) {
  Cells cells(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        cells.back() += text[++at];
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == separator && cells.size() < kMaxColumns) {
      cells.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::string_view WithoutMark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

char SeparatorOf(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  char best = ',';
  for (const char separator : {',', ';', '\t'}) {
    if (std::count(line.begin(), line.end(), separator) >
        std::count(line.begin(), line.end(), best)) {
      best = separator;
    }
  }
  return best;
}

bool IsBlank(const Cells& cells) {
  return cells.size() == 1 && base::Trim(cells[0]).empty();
}

// Weights & Biases charts name columns "run - metric", "run - metric__MIN", "..__MAX".
struct WandbChart {
  bool is = false;
  std::string run;  // the one run of all columns
};

WandbChart ChartOf(const Cells& header) {
  WandbChart chart;
  bool one_run = true;
  for (const std::string& name : header) {
    chart.is = chart.is || name.ends_with("__MIN");
    const size_t dash = name.find(" - ");
    if (dash == std::string::npos) continue;
    const std::string run = name.substr(0, dash);
    if (chart.run.empty()) chart.run = run;
    one_run = one_run && chart.run == run;
  }
  if (!chart.is || !one_run) chart.run.clear();
  return chart;
}

class CsvReader {
 public:
  CsvReader(std::string_view name, Cells header, const ColumnMapping& mapping)
      : reader_(name, "csv", mapping), header_(std::move(header)) {
    for (std::string& cell : header_) cell = std::string(base::Trim(cell));
    chart_ = ChartOf(header_);
    for (const std::string& cell : header_) {
      const bool cut = !chart_.run.empty() && cell.starts_with(chart_.run + " - ");
      keys_.push_back(cut ? cell.substr(chart_.run.size() + 3) : cell);
    }
  }

  void Add(const Cells& cells, size_t offset) {
    if (IsBlank(cells)) return;
    if (base::Trim(cells[0]) == header_[0] && cells.size() == header_.size() &&
        !ParseNumber(cells[0])) {
      Count("header again", Severity::kInfo, offset);
      return;
    }
    if (cells.size() != header_.size()) {
      Count("row with another number of cells", Severity::kError, offset);
      return;
    }
    Row row;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (keys_[i].empty() || base::Trim(cells[i]).empty()) continue;
      if (chart_.is && (keys_[i].ends_with("__MIN") || keys_[i].ends_with("__MAX"))) {
        NoteSpread(i, cells, offset);
        continue;
      }
      row.emplace_back(keys_[i], base::Trim(cells[i]));
    }
    if (!row.empty()) reader_.Add(row, offset);
  }

  bool empty() { return reader_.builder().empty(); }

  void NoteOpenEnd(size_t offset) {
    Count("last row without a line end, may be cut", Severity::kWarning, offset);
  }

  base::Result<SeriesSet> Finish() {
    SS_TRY(SeriesSet set, reader_.Finish());
    if (chart_.is) {
      set.run.framework = "wandb";
      if (!chart_.run.empty()) set.run.facts["run"] = chart_.run;
      set.notes.push_back(
          set.stats.Count("bucket with different minimum and maximum") > 0
              ? "This Weights & Biases chart was sampled: its points are means over "
                "buckets of steps. Export the history with scan_history() instead."
              : "This is a Weights & Biases chart, which is sampled for long runs.");
    }
    return set;
  }

 private:
  void Count(std::string_view what, Severity severity, size_t offset) {
    reader_.builder().stats().Add(what, severity, static_cast<int64_t>(offset));
  }

  // A minimum that is not the maximum beside it: the point stands for several steps.
  void NoteSpread(size_t i, const Cells& cells, size_t offset) {
    if (!keys_[i].ends_with("__MIN") || i + 1 >= cells.size()) return;
    if (!keys_[i + 1].ends_with("__MAX")) return;
    if (base::Trim(cells[i]) != base::Trim(cells[i + 1])) {
      Count("bucket with different minimum and maximum", Severity::kWarning, offset);
    }
  }

  RowReader reader_;
  Cells header_;
  Cells keys_;
  WandbChart chart_;
};

}  // namespace

bool LooksLikeCsvLog(std::string_view text) {
  text = WithoutMark(text).substr(0, size_t{1} << 20);
  const char separator = SeparatorOf(text);
  size_t at = 0;
  const Cells header = TakeRecord(text, at, separator);
  const Cells row = TakeRecord(text, at, separator);
  if (header.size() < 2 || row.size() != header.size()) return false;
  const auto is_number = [](const std::string& cell) {
    return ParseNumber(cell).has_value();
  };
  return std::none_of(header.begin(), header.end(), is_number) &&
         std::any_of(row.begin(), row.end(), is_number);
}

base::Result<SeriesSet> ParseCsvLog(std::string_view text, std::string_view name,
                                    const ColumnMapping& mapping) {
  const size_t mark = text.size() - WithoutMark(text).size();
  text.remove_prefix(mark);
  const char separator = SeparatorOf(text);
  size_t at = 0;
  CsvReader reader(name, TakeRecord(text, at, separator), mapping);
  while (at < text.size()) {
    const size_t offset = at + mark;
    reader.Add(TakeRecord(text, at, separator), offset);
  }
  if (!text.empty() && text.back() != '\n') reader.NoteOpenEnd(text.size() + mark);
  if (reader.empty()) {
    return base::Fail(
        "LOGS-0010", base::ExitCode::kInput,
        "the table has no row with a number under its header", std::string(name),
        "the first line names the columns, every other line has a cell for "
        "each");
  }
  return reader.Finish();
}

}  // namespace stepslack::logs
