#include "stepslack/trace/collective_bench.h"

#include "collective_bench_rows.h"
#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view FirstLine(std::string_view text) {
  return base::Trim(text.substr(0, text.find('\n')));
}

bool LooksLikePerRankText(std::string_view head) {
  return Contains(head, "duration: ") && Contains(head, "algo throughput: ") &&
         Contains(head, "busbw: ");
}

bool LooksLikeNcclTests(std::string_view head) {
  return (Contains(head, "algbw") && Contains(head, "busbw") &&
          Contains(head, "time")) ||
         (Contains(head, "minBytes") && Contains(head, "maxBytes")) ||
         Contains(head, "ccl-tests version") ||
         Contains(head, "# Collective test starting");
}

base::Json TimingToJson(const std::optional<BenchTiming>& timing) {
  if (!timing) return base::Json();
  base::Json json;
  json.Set("time_ns", timing->time_ns);
  json.Set("algorithm_gb_per_s", timing->algorithm_gb_per_s > 0
                                     ? base::Json(timing->algorithm_gb_per_s)
                                     : base::Json());
  json.Set("bus_gb_per_s", timing->bus_gb_per_s);
  json.Set("wrong", timing->wrong < 0 ? base::Json() : base::Json(timing->wrong));
  return json;
}

base::Json RankToJson(const BenchRank& rank) {
  base::Json json;
  json.Set("rank", rank.rank);
  json.Set("host", rank.host);
  json.Set("process", rank.process);
  json.Set("device", rank.device);
  json.Set("bus_id", rank.bus_id);
  json.Set("model", rank.model);
  return json;
}

}  // namespace

std::string_view ToString(BenchFormat format) {
  switch (format) {
    case BenchFormat::kNcclTests:
      return "nccl-tests";
    case BenchFormat::kCsv:
      return "csv";
    case BenchFormat::kPerRankText:
      break;
  }
  return "per-rank text";
}

bool LooksLikeCollectiveBench(std::string_view head) {
  const std::string_view first = FirstLine(head);
  // A Kineto trace may carry such words in the names of its events.
  if (first.starts_with('{') || Contains(head, "\"ph\"")) return false;
  return IsBenchCsvHeader(first) || LooksLikePerRankText(head) ||
         LooksLikeNcclTests(head);
}

base::Result<CollectiveBench> ParseCollectiveBench(std::string_view text,
                                                   std::string_view name) {
  CollectiveBench bench;
  if (IsBenchCsvHeader(FirstLine(text))) {
    ReadBenchCsv(text, bench);
  } else if (LooksLikePerRankText(text)) {
    ReadPerRankText(text, bench);
  } else {
    ReadNcclTests(text, bench);
  }
  if (bench.rows.empty()) {
    return base::Fail("TRACE-0120", base::ExitCode::kInput,
                      "no result of a collective benchmark was found",
                      std::string(name),
                      "give the whole output of nccl-tests or rccl-tests, with the "
                      "header above the columns; a test that hangs prints no row");
  }
  return bench;
}

base::Json ToJson(const CollectiveBench& bench) {
  base::Json json;
  json.Set("format", ToString(bench.format));
  json.Set("collective", bench.collective);
  json.Set("version", bench.version);
  json.Set("settings", bench.settings);
  json.Set("world_size",
           bench.world_size > 0 ? base::Json(bench.world_size) : base::Json());
  json.Set("average_bus_gb_per_s", bench.average_bus_gb_per_s
                                       ? base::Json(*bench.average_bus_gb_per_s)
                                       : base::Json());
  json.Set("out_of_bounds",
           bench.out_of_bounds ? base::Json(*bench.out_of_bounds) : base::Json());
  base::Json::Array ranks;
  for (const BenchRank& rank : bench.ranks) ranks.push_back(RankToJson(rank));
  json.Set("ranks", std::move(ranks));
  base::Json::Array rows;
  for (const BenchRow& row : bench.rows) {
    base::Json item;
    item.Set("bytes", row.bytes);
    item.Set("elements", row.elements > 0 ? base::Json(row.elements) : base::Json());
    item.Set("dtype", row.dtype);
    item.Set("reduction", row.reduction);
    item.Set("root", row.root >= 0 ? base::Json(row.root) : base::Json());
    item.Set("rank", row.rank < 0 ? base::Json() : base::Json(row.rank));
    item.Set("out_of_place", TimingToJson(row.out_of_place));
    item.Set("in_place", TimingToJson(row.in_place));
    rows.push_back(std::move(item));
  }
  json.Set("rows", std::move(rows));
  json.Set("notes", base::Json::Array(bench.notes.begin(), bench.notes.end()));
  json.Set("import", ToJson(bench.stats));
  return json;
}

}  // namespace stepslack::trace
