#include "collective_bench_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "json_scanner.h"
#include "log_line.h"
#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {
namespace {

std::optional<double> RateOf(std::string_view text) {
  const std::optional<double> rate = base::ParseDouble(text);
  if (!rate || !(*rate >= 0 && *rate <= 1e18)) return std::nullopt;  // also not NaN
  return rate;
}

std::optional<int64_t> NonNegative(std::string_view text) {
  const std::optional<int64_t> value = base::ParseInt(text);
  return value && *value >= 0 ? value : std::nullopt;
}

// Columns of the header line, by position; the first block is out of place.
std::vector<std::string_view> HeaderColumns(std::string_view line) {
  while (line.starts_with('#') || line.starts_with(' ')) line.remove_prefix(1);
  std::vector<std::string_view> columns = Words(line);
  const auto has = [&columns](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  if (columns.empty() || columns[0] != "size" || !has("time") || !has("busbw"))
    return {};
  return columns;
}

// "float sum 5.63 0.00 0.00 N/A": a time of "N/A" means that the block was not run.
bool SetColumn(std::string_view column, std::string_view word, BenchRow& row,
               int& block) {
  if (column == "size") {
    const std::optional<int64_t> bytes = NonNegative(word);
    row.bytes = bytes.value_or(0);
    return bytes.has_value();
  }
  if (column == "count") row.elements = NonNegative(word).value_or(0);
  if (column == "type") row.dtype = base::ValidUtf8(word);
  if (column == "redop") row.reduction = base::ValidUtf8(word);
  if (column == "root") row.root = base::ParseInt(word).value_or(-1);
  if (column == "time") {
    ++block;
    if (word == "N/A") return true;
    const std::optional<int64_t> time = MicrosecondsToNs(word);
    if (!time || *time < 0) return false;
    std::optional<BenchTiming>& timing = block == 1 ? row.out_of_place : row.in_place;
    timing = BenchTiming{.time_ns = *time};
    return true;
  }
  std::optional<BenchTiming>& timing = block <= 1 ? row.out_of_place : row.in_place;
  if (!timing) return true;
  if (column == "algbw") timing->algorithm_gb_per_s = RateOf(word).value_or(0);
  if (column == "busbw") timing->bus_gb_per_s = RateOf(word).value_or(0);
  if (column == "#wrong") timing->wrong = NonNegative(word).value_or(-1);
  return true;
}

std::optional<BenchRow> RowOf(const std::vector<std::string_view>& columns,
                              const std::vector<std::string_view>& words) {
  BenchRow row;
  int block = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!SetColumn(columns[i], words[i], row, block)) return std::nullopt;
  }
  if (!row.out_of_place && !row.in_place) return std::nullopt;
  return row;
}

// "#  Rank  0 Group  0 Pid   6899 on host device  0 [0000:04:00] NVIDIA H100 80GB".
std::optional<BenchRank> RankOf(std::string_view line) {
  const std::vector<std::string_view> words = Words(line);
  BenchRank rank;
  size_t at = 0;
  const auto number_after = [&](std::string_view word) -> std::optional<int64_t> {
    while (at + 1 < words.size() && words[at] != word) ++at;
    return at + 1 < words.size() ? NonNegative(words[++at]) : std::nullopt;
  };
  const std::optional<int64_t> number = number_after("Rank");
  const std::optional<int64_t> process = number_after("Pid");
  if (!number || *number > 100'000'000 || !process) return std::nullopt;
  rank.rank = static_cast<int32_t>(*number);
  rank.process = *process;
  if (at + 2 >= words.size() || words[at + 1] != "on") return std::nullopt;
  rank.host = base::ValidUtf8(words[at + 2]);
  rank.device = number_after("device").value_or(-1);
  for (size_t i = at + 1; i < words.size(); ++i) {
    if (i == at + 1 && words[i].starts_with('[') && words[i].ends_with(']')) {
      rank.bus_id = base::ValidUtf8(words[i].substr(1, words[i].size() - 2));
      continue;
    }
    if (!rank.model.empty()) rank.model += ' ';
    rank.model += base::ValidUtf8(words[i]);
  }
  return rank;
}

// "# Avg bus bandwidth    : 220.921": the number after the colon.
std::optional<std::string_view> ValueOf(std::string_view line, std::string_view label) {
  const size_t found = line.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t colon = line.find(':', found + label.size());
  if (colon == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = Words(line.substr(colon + 1));
  if (words.empty()) return std::nullopt;
  return words[0];
}

void ReadRemark(std::string_view line, CollectiveBench& bench) {
  const auto has = [line](std::string_view part) {
    return line.find(part) != std::string_view::npos;
  };
  const auto plain = [line] {
    return base::ValidUtf8(base::Trim(line.substr(line.find_first_not_of("# "))));
  };
  if (const auto rate = ValueOf(line, "Avg bus bandwidth")) {
    bench.average_bus_gb_per_s = RateOf(*rate);
  } else if (const auto values = ValueOf(line, "Out of bounds values")) {
    bench.out_of_bounds = NonNegative(*values);
  } else if (const auto test = ValueOf(line, "Collective test starting")) {
    bench.collective = CanonicalCollectiveName(test->substr(0, test->rfind("_perf")));
  } else if (has("nccl-tests version") || has("ccl-tests: Version")) {
    bench.version = plain();
  } else if (has("minBytes") && has("maxBytes")) {
    bench.settings = plain();
  } else if (has(" Rank ") && has(" Pid ")) {
    if (auto rank = RankOf(line)) bench.ranks.push_back(*std::move(rank));
  } else if (bench.collective.empty() && has("_perf ") && has(" -b ")) {
    // The command that was typed, when the log keeps it.
    const std::string_view before = line.substr(0, line.find("_perf "));
    const size_t from = before.find_last_of("/ ");
    bench.collective = CanonicalCollectiveName(
        from == std::string_view::npos ? before : before.substr(from + 1));
  }
}

struct CsvColumn {
  enum class What { kIgnored, kBytes, kTime, kAlgorithm, kBus } what = What::kIgnored;
};

CsvColumn::What CsvColumnOf(std::string_view name) {
  std::string lower;
  for (const char c : base::Trim(name)) {
    lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  if (lower == "bytes" || lower == "size" || lower == "size_bytes") {
    return CsvColumn::What::kBytes;
  }
  if (lower == "time_us" || lower == "time(us)" || lower == "latency_us") {
    return CsvColumn::What::kTime;
  }
  if (lower.starts_with("algbw")) return CsvColumn::What::kAlgorithm;
  if (lower.starts_with("busbw")) return CsvColumn::What::kBus;
  return CsvColumn::What::kIgnored;
}

// A column called "gbps" may hold GB/s or Gbit/s. Bytes over time decides: the bus
// bandwidth is 0.5 to 2 times that in every collective, and 8 times more in bits.
void DecideRateUnit(std::string_view header, CollectiveBench& bench) {
  if (header.find("gbps") == std::string_view::npos) return;
  std::vector<double> ratios;
  for (const BenchRow& row : bench.rows) {
    const BenchTiming& timing = *row.out_of_place;
    const double rate = std::max(timing.bus_gb_per_s, timing.algorithm_gb_per_s);
    if (timing.time_ns > 0 && row.bytes >= (1 << 20) && rate > 0) {
      ratios.push_back(rate * static_cast<double>(timing.time_ns) /
                       static_cast<double>(row.bytes));
    }
  }
  if (ratios.empty()) {
    bench.notes.push_back(
        "the unit of the rates called gbps is taken as GB/s: no row "
        "of 1 MiB or more decides it");
    return;
  }
  std::nth_element(ratios.begin(),
                   ratios.begin() + static_cast<ptrdiff_t>(ratios.size() / 2),
                   ratios.end());
  const double ratio = ratios[ratios.size() / 2];
  if (ratio <= 2.5) {
    bench.notes.push_back(fmt::format(
        "the rates called gbps are GB/s: {:.2f} times bytes over time", ratio));
    return;
  }
  bench.notes.push_back(fmt::format(
      "the rates called gbps are Gbit/s: {:.2f} times bytes over time, divided by 8",
      ratio));
  for (BenchRow& row : bench.rows) {
    row.out_of_place->bus_gb_per_s /= 8;
    row.out_of_place->algorithm_gb_per_s /= 8;
  }
}

// One measurement of one rank while its lines are still coming in.
struct Sample {
  int32_t rank = -1;
  std::optional<int64_t> time_ns;
  double seconds = 0;
  double algorithm_bits = 0;
  double bus_bits = 0;
  bool alone = true;  // no other rank wrote in between
};

// Pairs the lines that belong together although several ranks write into one file: the
// product of time and throughput is the same payload for all of them.
class SampleReader {
 public:
  explicit SampleReader(CollectiveBench& bench) : bench_(bench) {}

  void Begin(int32_t rank) {
    for (Sample& sample : open_) sample.alone = false;
    open_.push_back({.rank = rank, .alone = open_.empty()});
    if (open_.size() > kMostOpen) {
      bench_.stats.Add("measurement that is not complete", Severity::kWarning, 0);
      open_.pop_front();
    }
  }
  void AddTime(std::string_view seconds, size_t offset);
  void AddThroughput(double bits, size_t offset);
  void AddBus(double gigabits, size_t offset);
  void Finish();

 private:
  static constexpr size_t kMostOpen = 512;  // each line may look at all of them

  void Orphan(size_t offset) {
    bench_.stats.Add("line without its measurement", Severity::kWarning,
                     static_cast<int64_t>(offset));
  }
  void Close(size_t index);

  CollectiveBench& bench_;
  std::deque<Sample> open_;
  double payload_bits_ = 0;  // throughput x time, from the first sample of one rank
  double bus_share_ = 0;     // busbw / throughput, likewise
  std::vector<Sample> closed_;
};

bool Near(double a, double b) { return std::abs(a - b) <= 0.01 * std::abs(b); }

void SampleReader::AddTime(std::string_view seconds, size_t offset) {
  // Seconds are exact as microseconds with six more digits.
  const std::optional<int64_t> time = MicrosecondsToNs(std::string(seconds) + "e6");
  for (Sample& sample : open_) {
    if (sample.time_ns || !time || *time <= 0) continue;
    sample.time_ns = time;
    sample.seconds = static_cast<double>(*time) * 1e-9;
    return;
  }
  Orphan(offset);
}

void SampleReader::AddThroughput(double bits, size_t offset) {
  Sample* fallback = nullptr;
  for (Sample& sample : open_) {
    if (!sample.time_ns || sample.algorithm_bits > 0) continue;
    if (fallback == nullptr) fallback = &sample;
    if (payload_bits_ > 0 && Near(bits * sample.seconds, payload_bits_)) {
      fallback = &sample;
      break;
    }
  }
  if (fallback == nullptr) return Orphan(offset);
  fallback->algorithm_bits = bits;
  if (payload_bits_ == 0 && fallback->alone) payload_bits_ = bits * fallback->seconds;
}

void SampleReader::AddBus(double gigabits, size_t offset) {
  size_t chosen = open_.size();
  for (size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].algorithm_bits <= 0) continue;
    if (chosen == open_.size()) chosen = i;
    if (bus_share_ > 0 && Near(gigabits * 1e9, bus_share_ * open_[i].algorithm_bits)) {
      chosen = i;
      break;
    }
  }
  if (chosen == open_.size()) return Orphan(offset);
  Sample& sample = open_[chosen];
  sample.bus_bits = gigabits * 1e9;
  if (bus_share_ == 0 && sample.alone)
    bus_share_ = sample.bus_bits / sample.algorithm_bits;
  Close(chosen);
}

void SampleReader::Close(size_t index) {
  closed_.push_back(open_[index]);
  open_.erase(open_.begin() + static_cast<ptrdiff_t>(index));
}

void SampleReader::Finish() {
  for (size_t i = 0; i < open_.size(); ++i) {
    bench_.stats.Add("measurement that is not complete", Severity::kWarning, 0);
  }
  std::vector<double> payloads;
  for (const Sample& sample : closed_) {
    // That script's throughput counts every byte twice (sent and received).
    payloads.push_back(sample.algorithm_bits * sample.seconds / 16);
  }
  if (payloads.empty()) return;
  std::nth_element(payloads.begin(),
                   payloads.begin() + static_cast<ptrdiff_t>(payloads.size() / 2),
                   payloads.end());
  const double payload = payloads[payloads.size() / 2];
  const double step = std::pow(10, std::floor(std::log10(payload)) - 2);
  const auto bytes = std::isfinite(step) && step > 0 && payload < 9e18
                         ? static_cast<int64_t>(std::round(payload / step) * step)
                         : 0;
  bench_.notes.push_back("the size is time times throughput, to three digits");
  for (const Sample& sample : closed_) {
    BenchRow row{.bytes = bytes, .rank = sample.alone ? sample.rank : -1};
    row.out_of_place = BenchTiming{.time_ns = *sample.time_ns,
                                   .algorithm_gb_per_s = sample.algorithm_bits / 16e9,
                                   .bus_gb_per_s = sample.bus_bits / 8e9};
    bench_.rows.push_back(std::move(row));
  }
  // busbw / throughput is (n - 1) / n.
  if (bus_share_ > 0 && bus_share_ < 1) {
    const double ranks = std::round(1 / (1 - bus_share_));
    if (ranks < 1e6) bench_.world_size = static_cast<int64_t>(ranks);
  }
}

}  // namespace

void ReadNcclTests(std::string_view text, CollectiveBench& bench) {
  bench.format = BenchFormat::kNcclTests;
  std::vector<std::string_view> columns;
  size_t position = 0;
  LogLine line;
  while (NextLogLine(text, position, line)) {
    const std::string_view trimmed = base::Trim(line.text);
    if (trimmed.empty()) continue;
    if (auto found = HeaderColumns(trimmed); !found.empty()) {
      columns = std::move(found);
      continue;
    }
    if (trimmed[0] < '0' || trimmed[0] > '9' || columns.empty()) {
      ReadRemark(line.text, bench);
      continue;
    }
    const std::vector<std::string_view> words = Words(trimmed);
    if (!base::ParseInt(words[0])) continue;  // an address, a date
    std::optional<BenchRow> row;
    if (words.size() == columns.size()) row = RowOf(columns, words);
    if (row) {
      bench.rows.push_back(*std::move(row));
    } else {
      bench.stats.Add("row that does not fit the header", Severity::kError,
                      static_cast<int64_t>(line.offset));
    }
  }
  bench.world_size = static_cast<int64_t>(bench.ranks.size());
}

bool IsBenchCsvHeader(std::string_view line) {
  bool bytes = false;
  bool measured = false;
  for (const std::string_view name : base::Split(line, ',')) {
    const CsvColumn::What what = CsvColumnOf(name);
    bytes |= what == CsvColumn::What::kBytes;
    measured |= what == CsvColumn::What::kAlgorithm || what == CsvColumn::What::kBus;
  }
  return bytes && measured;
}

void ReadBenchCsv(std::string_view text, CollectiveBench& bench) {
  bench.format = BenchFormat::kCsv;
  std::vector<CsvColumn::What> columns;
  std::string header;
  size_t position = 0;
  LogLine line;
  while (NextLogLine(text, position, line)) {
    if (base::Trim(line.text).empty()) continue;
    const std::vector<std::string_view> cells = base::Split(line.text, ',');
    if (columns.empty()) {
      for (const std::string_view name : cells) columns.push_back(CsvColumnOf(name));
      header = line.text;
      continue;
    }
    BenchRow row;
    BenchTiming timing;
    bool good = cells.size() == columns.size();
    for (size_t i = 0; good && i < cells.size(); ++i) {
      const std::string_view cell = base::Trim(cells[i]);
      if (columns[i] == CsvColumn::What::kBytes) {
        row.bytes = NonNegative(cell).value_or(-1);
        good = row.bytes >= 0;
      } else if (columns[i] == CsvColumn::What::kTime) {
        timing.time_ns = MicrosecondsToNs(cell).value_or(-1);
        good = timing.time_ns >= 0;
      } else if (columns[i] != CsvColumn::What::kIgnored) {
        const std::optional<double> rate = RateOf(cell);
        good = rate.has_value();
        (columns[i] == CsvColumn::What::kBus ? timing.bus_gb_per_s
                                             : timing.algorithm_gb_per_s) =
            rate.value_or(0);
      }
    }
    if (!good) {
      bench.stats.Add("row that does not fit the header", Severity::kError,
                      static_cast<int64_t>(line.offset));
      continue;
    }
    row.out_of_place = timing;
    bench.rows.push_back(std::move(row));
  }
  DecideRateUnit(header, bench);
}

void ReadPerRankText(std::string_view text, CollectiveBench& bench) {
  bench.format = BenchFormat::kPerRankText;
  bench.collective = "all_reduce";
  SampleReader reader(bench);
  size_t position = 0;
  LogLine line;
  while (NextLogLine(text, position, line)) {
    const std::vector<std::string_view> words = Words(line.text);
    if (words.size() == 1 && words[0].ends_with(':')) {
      const auto rank = NonNegative(words[0].substr(0, words[0].size() - 1));
      if (rank && *rank <= 100'000'000) reader.Begin(static_cast<int32_t>(*rank));
    } else if (words.size() == 3 && words[0] == "duration:" && words[2] == "sec") {
      reader.AddTime(words[1], line.offset);
    } else if (words.size() >= 4 && words[0] == "algo" && words[1] == "throughput:") {
      reader.AddThroughput(RateOf(words[2]).value_or(0), line.offset);
    } else if (words.size() >= 2 && words[0] == "busbw:") {
      reader.AddBus(RateOf(words[1]).value_or(0), line.offset);
    }
  }
  reader.Finish();
}

}  // namespace stepslack::trace
