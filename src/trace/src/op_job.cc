#include "op_job.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kLargestSize = 1'000'000;  // the product of three fits 64 bits

int32_t* SizeOf(OpJob& job, std::string_view key) {
  if (key == "dp_size") return &job.dp_size;
  if (key == "pp_size") return &job.pp_size;
  if (key == "tp_size") return &job.tp_size;
  if (key == "dsp_size") return &job.dsp_size;
  if (key == "vpp_size") return &job.vpp_size;
  if (key == "world_size") return &job.world_size;
  return nullptr;
}

std::string_view Unquote(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') &&
                      text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// A comment starts at a # that follows white space or starts the line.
std::string_view WithoutComment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

void ReadLine(std::string_view line, int64_t offset, OpJob& job, ImportStats& stats) {
  line = base::Trim(WithoutComment(line));
  if (line.empty() || line == "---" || line == "...") return;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    stats.Add("malformed job line", Severity::kError, offset);
    return;
  }
  const std::string_view key = base::Trim(line.substr(0, colon));
  const std::string_view value = Unquote(base::Trim(line.substr(colon + 1)));
  if (key == "trial_name") {
    job.trial_name = value;
  } else if (int32_t* size = SizeOf(job, key)) {
    const std::optional<int64_t> number = base::ParseInt(value);
    if (number && *number >= 1 && *number <= kLargestSize) {
      *size = static_cast<int32_t>(*number);
    } else {
      stats.Add("unusable job size", Severity::kError, offset);
    }
  } else if (key != "run_id") {
    stats.Add("unknown job key", Severity::kInfo, offset);
  }
}

int32_t LargestPlusOne(const std::vector<int32_t>& column) {
  int32_t largest = 0;
  for (const int32_t value : column) largest = std::max(largest, value);
  return largest + 1;
}

// One worker per (dp rank, stage) is traced, so ranks are as far apart as there are
// tensor-parallel ranks: the largest number that divides them all.
int32_t RankSpacing(const OpTrace& trace) {
  int32_t spacing = 0;
  for (const int32_t rank : trace.rank) spacing = std::gcd(spacing, rank);
  return std::max(spacing, 1);
}

}  // namespace

OpJob ParseOpJob(std::string_view text, ImportStats& stats) {
  OpJob job;
  for (const std::string_view key :
       {"dp_size", "pp_size", "tp_size", "dsp_size", "vpp_size", "world_size"}) {
    *SizeOf(job, key) = 0;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    ReadLine(text.substr(at, end - at), static_cast<int64_t>(at), job, stats);
    at = end + 1;
  }
  return job;
}

void CompleteOpJob(OpTrace& trace) {
  OpJob& job = trace.job;
  job.from_trace = job.dp_size == 0 && job.pp_size == 0 && job.world_size == 0;
  if (job.dp_size == 0) job.dp_size = LargestPlusOne(trace.dp_rank);
  if (job.pp_size == 0) job.pp_size = LargestPlusOne(trace.stage);
  if (job.dsp_size == 0) job.dsp_size = 1;
  if (job.vpp_size == 0) job.vpp_size = LargestPlusOne(trace.chunk);
  const int64_t workers = int64_t{job.dp_size} * job.pp_size * job.dsp_size;
  if (job.tp_size == 0) {
    const bool divides =
        workers <= kLargestSize && job.world_size % static_cast<int32_t>(workers) == 0;
    job.tp_size = job.world_size > 0 && divides
                      ? job.world_size / static_cast<int32_t>(workers)
                      : RankSpacing(trace);
  }
  if (workers > kLargestSize / job.tp_size) {
    trace.stats.Add("job sizes larger than any job", Severity::kError, 0);
    job.world_size = static_cast<int32_t>(kLargestSize);
    return;
  }
  const auto product = static_cast<int32_t>(workers * job.tp_size);
  if (job.world_size == 0) job.world_size = product;
  if (job.world_size != product) {
    trace.stats.Add("world size is not the product of the job sizes",
                    Severity::kWarning, 0);
  }
}

}  // namespace stepslack::trace
