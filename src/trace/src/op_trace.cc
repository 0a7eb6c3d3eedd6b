#include "stepslack/trace/op_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>

#include "op_job.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::trace {
namespace {

constexpr std::array<std::string_view, kOpTypes> kTypeNames = {
    "forward-compute",
    "backward-compute",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
    "params-all-gather",
    "grads-reduce-scatter",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "separate-grads-all-reduce",
    "optimizer-clip-main-grad",
    "optimizer",
    "gc"};

enum Column {
  kDpRank,
  kStage,
  kRank,
  kStep,
  kType,
  kStart,
  kDuration,
  kSeq,
  kChunk,
  kMicroBatch,
  kGlobalChunk,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "dp_rank",  "stage",  "rank", "step",  "optype", "start_ts",
    "duration", "seq_id", "mc",   "mb_id", "gmc"};

constexpr int64_t kLargestWorker = 1'000'000;    // dp rank or stage
constexpr int64_t kLargestNumber = 100'000'000;  // rank, sequence number, chunk
constexpr int64_t kLargestStep = int64_t{1} << 53;
constexpr size_t kMostColumns = 1000;

// Takes one line without its end; `at` moves behind it.
std::string_view TakeLine(std::string_view text, size_t& at) {
  const size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at = end + 1;
  return line;
}

std::string_view Cell(std::string_view text) {
  text = base::Trim(text);
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Takes the next cell; false when the line has none left.
bool TakeCell(std::string_view& rest, bool& more, std::string_view& cell) {
  if (!more) return false;
  const size_t comma = rest.find(',');
  more = comma != std::string_view::npos;
  cell = Cell(rest.substr(0, comma));
  if (more) rest.remove_prefix(comma + 1);
  return true;
}

// Which column stands where: columns[i] is the meaning of cell i, kColumns for none.
struct Header {
  std::vector<int> columns;
  std::array<bool, kColumns> found{};
  int64_t ignored = 0;
};

Header ReadHeader(std::string_view line) {
  Header header;
  bool more = true;
  std::string_view cell;
  while (header.columns.size() < kMostColumns && TakeCell(line, more, cell)) {
    const auto name = std::find(kColumnNames.begin(), kColumnNames.end(), cell);
    int column = static_cast<int>(name - kColumnNames.begin());
    if (column != kColumns && header.found[static_cast<size_t>(column)]) {
      column = kColumns;  // named twice: the first counts
    }
    if (column == kColumns) {
      ++header.ignored;
    } else {
      header.found[static_cast<size_t>(column)] = true;
    }
    header.columns.push_back(column);
  }
  return header;
}

std::string_view FirstLine(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  size_t at = 0;
  return TakeLine(text, at);
}

// An integer cell; data frames with gaps write "3.0".
std::optional<int64_t> IntCell(std::string_view cell, int64_t lowest, int64_t largest) {
  if (cell.ends_with(".0")) cell.remove_suffix(2);
  const std::optional<int64_t> value = base::ParseInt(cell);
  if (!value || *value < lowest || *value > largest) return std::nullopt;
  return value;
}

bool IsAbsent(std::string_view cell) {
  return cell.empty() || cell == "nan" || cell == "NaN" || cell == "None" ||
         cell == "<NA>";
}

struct Row {
  int64_t step = 0;
  int32_t dp_rank = 0;
  int32_t stage = 0;
  int32_t rank = 0;
  OpType type = OpType::kGc;
  int32_t seq = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int32_t chunk = -1;
  int32_t global_chunk = -1;
  int32_t micro_batch = -1;
  int64_t offset = 0;

  auto Key() const { return std::tie(step, dp_rank, stage, rank, type, seq); }
  auto Order() const {
    return std::tie(step, dp_rank, stage, rank, type, seq, start_ns, duration_ns, chunk,
                    global_chunk, micro_batch);
  }
};

class OpTraceImport {
 public:
  OpTraceImport(std::string_view csv, std::string_view job, std::string_view name)
      : csv_(csv), name_(name) {
    trace_.job = ParseOpJob(job, trace_.stats);
  }

  base::Result<OpTrace> Run();

 private:
  void ReadRow(std::string_view line, int64_t offset);
  // nullptr, or the name under which the row is counted.
  const char* ReadCells(Row& row) const;
  const char* ReadNumbers(Row& row) const;
  const char* ReadTimes(Row& row) const;
  void Store();

  std::string_view csv_;
  std::string_view name_;
  Header header_;
  std::array<std::string_view, kColumns> cells_;
  std::vector<Row> rows_;
  OpTrace trace_;
};

base::Result<OpTrace> OpTraceImport::Run() {
  header_ = ReadHeader(FirstLine(csv_));
  std::string missing;
  for (size_t i = 0; i < kColumns; ++i) {
    if (!header_.found[i])
      fmt::format_to(std::back_inserter(missing), " {}", kColumnNames[i]);
  }
  if (!missing.empty()) {
    return base::Fail("TRACE-0140", base::ExitCode::kInput,
                      fmt::format("the op trace lacks the columns:{}", missing),
                      std::string(name_),
                      "export the table as comma-separated text with the column names "
                      "in the first line");
  }
  if (header_.ignored > 0) {
    trace_.stats.Add("column not used", Severity::kInfo, 0, header_.ignored);
  }
  size_t at = 0;
  TakeLine(csv_, at);
  while (at < csv_.size()) {
    const size_t offset = at;
    const std::string_view line = TakeLine(csv_, at);
    if (!base::Trim(line).empty()) ReadRow(line, static_cast<int64_t>(offset));
  }
  if (rows_.empty()) {
    return base::Fail("TRACE-0141", base::ExitCode::kInput,
                      "the op trace has no usable row", std::string(name_),
                      "check that the rows match the column names in the first line "
                      "and the sizes of the job");
  }
  Store();
  CompleteOpJob(trace_);
  return std::move(trace_);
}

void OpTraceImport::ReadRow(std::string_view line, int64_t offset) {
  bool more = true;
  size_t taken = 0;
  std::string_view cell;
  while (taken < header_.columns.size() && TakeCell(line, more, cell)) {
    const int column = header_.columns[taken++];
    if (column != kColumns) cells_[static_cast<size_t>(column)] = cell;
  }
  if (taken < header_.columns.size() || more) {
    trace_.stats.Add("row with missing or extra cells", Severity::kError, offset);
    return;
  }
  Row row;
  row.offset = offset;
  if (const char* reason = ReadCells(row)) {
    trace_.stats.Add(reason, Severity::kError, offset);
  } else {
    rows_.push_back(row);
  }
}

const char* OpTraceImport::ReadCells(Row& row) const {
  const auto type = std::find(kTypeNames.begin(), kTypeNames.end(), cells_[kType]);
  if (type == kTypeNames.end()) return "unknown operation type";
  row.type = static_cast<OpType>(type - kTypeNames.begin());
  if (const char* reason = ReadNumbers(row)) return reason;
  return ReadTimes(row);
}

const char* OpTraceImport::ReadNumbers(Row& row) const {
  const auto dp_rank = IntCell(cells_[kDpRank], -kLargestNumber, kLargestNumber);
  const auto stage = IntCell(cells_[kStage], -kLargestNumber, kLargestNumber);
  const auto rank = IntCell(cells_[kRank], 0, kLargestNumber);
  const auto step = IntCell(cells_[kStep], -kLargestStep, kLargestStep);
  const auto seq = IntCell(cells_[kSeq], 0, kLargestNumber);
  if (!dp_rank || !stage || !rank || !step || !seq)
    return "row with an unreadable cell";
  const int64_t dp_size = trace_.job.dp_size > 0 ? trace_.job.dp_size : kLargestWorker;
  const int64_t pp_size = trace_.job.pp_size > 0 ? trace_.job.pp_size : kLargestWorker;
  if (*dp_rank < 0 || *dp_rank >= dp_size) return "dp rank outside the job";
  if (*stage < 0 || *stage >= pp_size) return "stage outside the job";
  row.dp_rank = static_cast<int32_t>(*dp_rank);
  row.stage = static_cast<int32_t>(*stage);
  row.rank = static_cast<int32_t>(*rank);
  row.step = *step;
  row.seq = static_cast<int32_t>(*seq);
  const std::array<std::pair<Column, int32_t*>, 3> optional = {
      {{kChunk, &row.chunk},
       {kGlobalChunk, &row.global_chunk},
       {kMicroBatch, &row.micro_batch}}};
  for (const auto& [column, target] : optional) {
    if (IsAbsent(cells_[column])) continue;
    const auto value = IntCell(cells_[column], -1, kLargestNumber);
    if (!value) return "row with an unreadable cell";
    *target = static_cast<int32_t>(*value);
  }
  return nullptr;
}

const char* OpTraceImport::ReadTimes(Row& row) const {
  const std::optional<int64_t> start = DecimalToNs(cells_[kStart], 9);
  const std::optional<int64_t> duration = DecimalToNs(cells_[kDuration], 9);
  if (!start || !duration) return "row with an unreadable cell";
  if (*duration < 0) return "negative duration";
  row.start_ns = *start;
  row.duration_ns = *duration;
  return nullptr;
}

void OpTraceImport::Store() {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.Order() < b.Order(); });
  const Row* last = nullptr;
  for (const Row& row : rows_) {
    if (last != nullptr && last->Key() == row.Key()) {
      trace_.stats.Add("operation that occurs twice", Severity::kError, row.offset);
      continue;
    }
    last = &row;
    trace_.step.push_back(row.step);
    trace_.dp_rank.push_back(row.dp_rank);
    trace_.stage.push_back(row.stage);
    trace_.rank.push_back(row.rank);
    trace_.type.push_back(row.type);
    trace_.seq.push_back(row.seq);
    trace_.start_ns.push_back(row.start_ns);
    trace_.duration_ns.push_back(row.duration_ns);
    trace_.chunk.push_back(row.chunk);
    trace_.global_chunk.push_back(row.global_chunk);
    trace_.micro_batch.push_back(row.micro_batch);
  }
}

}  // namespace

std::string_view ToString(OpType type) { return kTypeNames[static_cast<size_t>(type)]; }

bool LooksLikeOpTrace(std::string_view text) {
  const Header header = ReadHeader(FirstLine(text.substr(0, 1 << 16)));
  return header.found[kDpRank] && header.found[kStage] && header.found[kType] &&
         header.found[kStart] && header.found[kDuration];
}

base::Result<OpTrace> ParseOpTrace(std::string_view csv, std::string_view job,
                                   std::string_view name) {
  return OpTraceImport(csv, job, name).Run();
}

base::Result<OpTrace> ReadOpTrace(const std::string& csv_path,
                                  const std::string& job_path,
                                  const OpTraceOptions& options) {
  std::string job;
  if (!job_path.empty()) {
    SS_TRY(job, base::ReadFile(job_path));
  }
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(csv_path));
  SS_TRY(const std::string text, ReadAll(*source, csv_path, options.max_bytes));
  SS_TRY(OpTrace trace, ParseOpTrace(text, job, csv_path));
  if (source->damaged()) {
    trace.stats.Add("input ended inside", Severity::kError,
                    static_cast<int64_t>(text.size()));
  }
  return trace;
}

}  // namespace stepslack::trace
