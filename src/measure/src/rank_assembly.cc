#include "rank_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "stepslack/analyze/reduce_trace.h"

namespace stepslack::measure {
namespace {

void Note(TraceReport& report, std::string part, std::string reason,
          std::string where) {
  report.missing.push_back({std::move(part), std::move(reason), std::move(where)});
}

// Several files may claim one rank although each is another one (the profiler did not
// know). Then their names decide, when they name different ranks.
void SettleByName(std::vector<FileTrace>& traces, TraceReport& report) {
  std::map<int32_t, std::vector<FileTrace*>> claims;
  for (FileTrace& file : traces) claims[file.trace.rank].push_back(&file);
  for (auto& [rank, files] : claims) {
    if (rank >= 0 && files.size() == 1) continue;
    const int32_t claimed = rank;
    std::map<int32_t, int> named;
    for (const FileTrace* file : files) {
      ++named[trace::RankOfFileName(report.inputs[file->row].name)];
    }
    const bool distinct =
        named.find(-1) == named.end() &&
        std::all_of(named.begin(), named.end(), [&](const auto& entry) {
          return entry.second == 1 &&
                 (claims.find(entry.first) == claims.end() || entry.first == claimed);
        });
    if (!distinct) continue;
    for (FileTrace* file : files) {
      InputRow& row = report.inputs[file->row];
      file->trace.rank = trace::RankOfFileName(row.name);
      row.note = rank < 0 ? "rank taken from the file name"
                          : fmt::format(
                                "claims rank {}, as others do; rank taken from "
                                "the file name",
                                rank);
    }
    if (rank >= 0) {
      Note(report, "rank",
           fmt::format("{} files claim rank {}; their names tell them apart",
                       files.size(), rank),
           "");
    }
  }
}

// Files that still have no rank get the free numbers in the order of their names.
void SettleByOrder(std::vector<FileTrace>& traces, TraceReport& report) {
  std::map<int32_t, int> taken;
  for (const FileTrace& file : traces) ++taken[file.trace.rank];
  int32_t next = 0;
  int64_t numbered = 0;
  for (FileTrace& file : traces) {
    if (file.trace.rank >= 0) continue;
    while (taken.find(next) != taken.end()) ++next;
    taken[next] = 1;
    file.trace.rank = next;
    std::string& note = report.inputs[file.row].note;
    if (note.empty()) note = "no rank in file or name; numbered by its place";
    ++numbered;
  }
  if (numbered > 0 && traces.size() > 1) {
    Note(report, "rank",
         fmt::format("{} traces do not say which rank they are; numbered in the order "
                     "of their names",
                     numbered),
         "");
  }
}

// No two ranks have the same events to the nanosecond: a second file with them is a
// copy.
void DropCopies(std::vector<FileTrace>& traces, TraceReport& report) {
  std::set<std::pair<int32_t, uint64_t>> seen;
  std::erase_if(traces, [&](FileTrace& file) {
    if (file.trace.events == 0) return false;
    if (seen.emplace(file.trace.rank, file.digest).second) return false;
    InputRow& row = report.inputs[file.row];
    row.used = false;
    row.note = "the same events as in another file";
    return true;
  });
}

bool ShareAProcess(const FileTrace& a, const FileTrace& b) {
  if (a.processes.empty() || b.processes.empty()) return true;
  return std::any_of(a.processes.begin(), a.processes.end(),
                     [&b](int64_t process) { return b.processes.contains(process); });
}

// Windows apart by more than they are long: other moments of the run, not pieces.
int64_t LargestGap(const std::vector<FileTrace*>& pieces) {
  int64_t gap = 0;
  for (size_t i = 1; i < pieces.size(); ++i) {
    gap = std::max(
        gap, pieces[i]->trace.window_start_ns - pieces[i - 1]->trace.window_end_ns);
  }
  return gap;
}

analyze::RankTrace Together(std::vector<FileTrace*> pieces, int32_t rank,
                            const ReadSettings& settings, TraceReport& report) {
  std::vector<InputRow> rows;
  for (const FileTrace* piece : pieces) rows.push_back(report.inputs[piece->row]);
  int64_t repeated = 0;
  trace::EventStore store = ReadTogether(rows, settings, repeated);
  store.SetRank(rank);
  store.events_read -= repeated;
  analyze::RankTrace trace = analyze::ReduceTrace(store, rows.front().name);
  trace.sources.clear();
  for (const InputRow& row : rows) trace.sources.push_back(row.name);
  std::string reason = fmt::format("{} files are rank {}; read as pieces of one trace",
                                   rows.size(), rank);
  if (repeated > 0) {
    reason += fmt::format(", {} events that stand in several counted once", repeated);
    trace.stats.Add("event in several files, counted once", trace::Severity::kWarning,
                    0, repeated);
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](FileTrace* a, FileTrace* b) {
    return a->trace.window_start_ns < b->trace.window_start_ns;
  });
  if (const int64_t gap = LargestGap(pieces); gap > 0) {
    reason += fmt::format(
        "; {} ns between two of them belong to no window and count as "
        "idle",
        gap);
  }
  Note(report, "rank", reason, rows.front().name);
  return trace;
}

}  // namespace

void AssembleRanks(std::vector<FileTrace> traces, const ReadSettings& settings,
                   TraceReport& report) {
  DropCopies(traces, report);
  SettleByName(traces, report);
  SettleByOrder(traces, report);
  std::map<int32_t, std::vector<FileTrace*>> ranks;
  for (FileTrace& file : traces) ranks[file.trace.rank].push_back(&file);
  for (auto& [rank, files] : ranks) {
    std::vector<FileTrace*> pieces;
    for (FileTrace* file : files) {
      InputRow& row = report.inputs[file->row];
      row.rank = rank;
      if (!pieces.empty() && !ShareAProcess(*pieces.front(), *file)) {
        row.used = false;
        row.note = fmt::format("rank {} is already another process's trace", rank);
        Note(report, "rank",
             fmt::format("two processes claim rank {}; the first file by name is used",
                         rank),
             row.name);
        continue;
      }
      pieces.push_back(file);
    }
    report.ranks.push_back(pieces.size() == 1
                               ? std::move(pieces.front()->trace)
                               : Together(pieces, rank, settings, report));
    report.ranks.back().rank = rank;
  }
}

}  // namespace stepslack::measure
