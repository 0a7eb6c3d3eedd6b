#include "timeline_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "display_text.h"
#include "stepslack/base/byte_text.h"

namespace stepslack::render {
namespace {

using analyze::PyramidLevel;
using analyze::PyramidRank;
using analyze::PyramidTile;
using analyze::RankTrace;
using analyze::TracePyramid;
using base::Json;

constexpr uint32_t kNoWait = std::numeric_limits<uint32_t>::max();
constexpr size_t kLeastMarksPerRank = 64;
constexpr size_t kMostNames = 200;

void AppendWord(uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(value >> shift & 0xff);
  }
}

std::string Words(const std::vector<uint32_t>& values) {
  std::string bytes;
  bytes.reserve(values.size() * 4);
  for (const uint32_t value : values) AppendWord(value, bytes);
  return base::Base64Of(bytes);
}

char Share(int64_t part_ns, int64_t whole_ns) {
  if (whole_ns <= 0) return 0;
  const double share =
      255.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
  return static_cast<char>(std::lround(std::clamp(share, 0.0, 255.0)));
}

Json LevelJson(const PyramidLevel& level) {
  const bool merged = level.ranks_per_row > 1;
  std::string bytes;
  for (size_t i = 0; i < level.data.size(); ++i) {
    const PyramidTile& tile = level.data[i];
    const int64_t whole = tile.sum.SumNs();
    bytes += Share(tile.sum.compute_ns, whole);
    bytes += Share(tile.sum.comm_overlapped_ns, whole);
    bytes += Share(tile.sum.comm_exposed_ns, whole);
    bytes += Share(tile.sum.memory_ns, whole);
    if (!merged) continue;
    const size_t first = i / level.tiles * level.ranks_per_row;
    const size_t worst =
        tile.worst_row < 0 ? 0 : static_cast<size_t>(tile.worst_row) - first;
    // An index beyond a byte can not be told; then there is no worst rank.
    const bool fits = worst < 256;
    bytes += static_cast<char>(fits ? worst : 0);
    bytes += fits ? Share(tile.worst_exposed_ns, level.tile_ns) : '\0';
  }
  Json json;
  json.Set("tileNs", level.tile_ns);
  json.Set("tiles", static_cast<int64_t>(level.tiles));
  json.Set("ranksPerRow", static_cast<int64_t>(level.ranks_per_row));
  json.Set("rows", static_cast<int64_t>(level.rows));
  json.Set("bytesPerTile", merged ? 6 : 4);
  json.Set("data", base::Base64Of(bytes));
  if (!level.focus.empty()) {
    json.Set("focus", Words({level.focus.begin(), level.focus.end()}));
  }
  return json;
}

Json LevelsJson(const TracePyramid& pyramid, size_t leave_out, int64_t& dropped) {
  Json json = Json::Array{};
  size_t of_kind = 0;  // levels of the same kind of row before this one
  for (size_t i = 0; i < pyramid.levels.size(); ++i) {
    const bool same =
        i > 0 && pyramid.levels[i].ranks_per_row == pyramid.levels[i - 1].ranks_per_row;
    of_kind = same ? of_kind + 1 : 0;
    const bool last =
        i + 1 == pyramid.levels.size() ||
        pyramid.levels[i + 1].ranks_per_row != pyramid.levels[i].ranks_per_row;
    if (of_kind < leave_out && !last) {
      ++dropped;
    } else {
      json.Append(LevelJson(pyramid.levels[i]));
    }
  }
  return json;
}

// One step, phase or collective of a rank, in ns since the origin.
struct Mark {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t value = 0;
  int64_t wait_ns = -1;
};

// Marks of all ranks as columns; ranks keep their order.
class MarkColumns {
 public:
  MarkColumns(int64_t unit_ns, size_t ranks) : unit_ns_(unit_ns), of_(ranks) {}

  // Keeps the longest `most` of a rank.
  void Set(size_t row, std::vector<Mark> marks, size_t most, int64_t& dropped) {
    if (marks.size() > most) {
      dropped += static_cast<int64_t>(marks.size() - most);
      std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
        return a.end_ns - a.start_ns > b.end_ns - b.start_ns;
      });
      marks.resize(most);
    }
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
      return a.start_ns < b.start_ns;
    });
    of_[row] = std::move(marks);
  }

  Json ToJson(bool with_wait) const {
    std::vector<uint32_t> at = {0};
    std::vector<uint32_t> start;
    std::vector<uint32_t> end;
    std::vector<uint32_t> value;
    std::vector<uint32_t> wait;
    for (const std::vector<Mark>& marks : of_) {
      for (const Mark& mark : marks) {
        start.push_back(Units(mark.start_ns));
        end.push_back(Units(mark.end_ns));
        value.push_back(mark.value);
        wait.push_back(mark.wait_ns < 0 ? kNoWait : Units(mark.wait_ns));
      }
      at.push_back(static_cast<uint32_t>(start.size()));
    }
    Json json;
    json.Set("at", Words(at));
    json.Set("start", Words(start));
    json.Set("end", Words(end));
    json.Set("value", Words(value));
    if (with_wait) json.Set("wait", Words(wait));
    return json;
  }

 private:
  uint32_t Units(int64_t ns) const {
    return static_cast<uint32_t>(std::max<int64_t>(ns, 0) / unit_ns_);
  }
  int64_t unit_ns_;
  std::vector<std::vector<Mark>> of_;
};

std::vector<Mark> StepsOf(const RankTrace& trace, int64_t shift) {
  std::vector<Mark> marks;
  for (const analyze::TraceStep& step : trace.steps) {
    marks.push_back({step.start_ns + shift, step.end_ns + shift,
                     static_cast<uint32_t>(step.step), -1});
  }
  return marks;
}

std::vector<Mark> PhasesOf(const RankTrace& trace, int64_t shift) {
  std::vector<Mark> marks;
  // The script knows the seven phases of PhaseTimes.
  for (size_t phase = 0; phase < std::min<size_t>(trace.phase_sets.size(), 7);
       ++phase) {
    for (const trace::Interval& span : trace.phase_sets[phase].intervals()) {
      marks.push_back({span.start_ns + shift, span.end_ns + shift,
                       static_cast<uint32_t>(phase), -1});
    }
  }
  return marks;
}

// Names of collectives, each once; the last one stands for all beyond the limit.
class NameTable {
 public:
  uint32_t Number(std::string_view name) {
    const std::string text =
        name.empty() ? "(not known)" : OneLine(name.substr(0, 100));
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    if (names_.size() >= kMostNames) return Number("(other)");
    names_.push_back(text);
    return numbers_[text] = static_cast<uint32_t>(names_.size() - 1);
  }
  Json ToJson() const {
    Json json = Json::Array{};
    for (const std::string& name : names_) json.Append(name);
    return json;
  }

 private:
  std::vector<std::string> names_ = {"(other)"};
  std::map<std::string, uint32_t> numbers_ = {{"(other)", 0}};
};

using WaitIndex = std::map<std::pair<int32_t, int64_t>, int64_t>;

std::vector<Mark> CollectivesOf(const RankTrace& trace, int64_t shift,
                                const WaitIndex& waits, NameTable& names) {
  std::vector<Mark> marks;
  for (const analyze::CollectiveSpan& span : trace.collectives) {
    const trace::StringId name = span.op != 0 ? span.op : span.kernel;
    Mark mark{span.start_ns + shift, span.end_ns + shift,
              names.Number(trace.strings.Get(name)), -1};
    const auto wait = waits.find({trace.rank, span.start_ns});
    if (wait != waits.end()) {
      mark.wait_ns = std::clamp<int64_t>(
          wait->second, 0, std::max<int64_t>(span.end_ns - span.start_ns, 0));
    }
    marks.push_back(mark);
  }
  return marks;
}

// Rows in the order in which they get marks: those of the worst list first.
std::vector<size_t> RowsByInterest(const TracePyramid& pyramid,
                                   const std::vector<TimelinePlace>& worst) {
  std::vector<size_t> rows;
  std::set<size_t> taken;
  for (const TimelinePlace& place : worst) {
    const int64_t row = RowOfRank(pyramid, place.rank);
    if (row < 0 || !taken.insert(static_cast<size_t>(row)).second) continue;
    rows.push_back(static_cast<size_t>(row));
  }
  for (size_t row = 0; row < pyramid.ranks.size(); ++row) {
    if (!taken.contains(row)) rows.push_back(row);
  }
  return rows;
}

// How many marks a rank may keep: an even share, but enough to be worth looking at.
class Budget {
 public:
  Budget(size_t all, size_t ranks)
      : left_(all),
        share_(std::max(all / std::max<size_t>(ranks, 1), kLeastMarksPerRank)) {}
  size_t Take(size_t wanted) {
    const size_t given = std::min({wanted, share_, left_});
    left_ -= given;
    return given;
  }

 private:
  size_t left_;
  size_t share_;
};

void SetMarks(const TimelinePage& page, const std::vector<TimelinePlace>& worst,
              const TimelineLimits& limits, int64_t unit_ns, TimelineDropped& dropped,
              Json& json) {
  const TracePyramid& pyramid = *page.pyramid;
  const size_t ranks = pyramid.ranks.size();
  WaitIndex waits;
  for (const CollectiveWait& wait : page.waits) {
    waits.emplace(std::pair(wait.rank, wait.start_ns), wait.wait_ns);
  }
  NameTable names;
  MarkColumns steps(unit_ns, ranks);
  MarkColumns phases(unit_ns, ranks);
  MarkColumns collectives(unit_ns, ranks);
  Budget step_budget(limits.steps, ranks);
  Budget phase_budget(limits.phases, ranks);
  Budget collective_budget(limits.collectives, ranks);
  for (const size_t row : RowsByInterest(pyramid, worst)) {
    const RankTrace& trace = page.traces[pyramid.ranks[row].trace];
    const int64_t shift = pyramid.ranks[row].offset_ns - pyramid.origin_ns;
    size_t had = 0;
    size_t kept = 0;
    const auto put = [&](std::vector<Mark> marks, Budget& budget, MarkColumns& columns,
                         int64_t& lost) {
      const size_t most = budget.Take(marks.size());
      had += marks.size();
      kept += most;
      columns.Set(row, std::move(marks), most, lost);
    };
    put(StepsOf(trace, shift), step_budget, steps, dropped.steps);
    put(PhasesOf(trace, shift), phase_budget, phases, dropped.phases);
    put(CollectivesOf(trace, shift, waits, names), collective_budget, collectives,
        dropped.collectives);
    dropped.ranks_without_marks += had > 0 && kept == 0 ? 1 : 0;
  }
  json.Set("steps", steps.ToJson(false));
  json.Set("phases", phases.ToJson(false));
  json.Set("collectives", collectives.ToJson(true));
  json.Set("names", names.ToJson());
}

}  // namespace

int64_t RowOfRank(const TracePyramid& pyramid, int32_t rank) {
  const auto found = std::lower_bound(
      pyramid.ranks.begin(), pyramid.ranks.end(), rank,
      [](const PyramidRank& row, int32_t wanted) { return row.rank < wanted; });
  if (found == pyramid.ranks.end() || found->rank != rank) return -1;
  return found - pyramid.ranks.begin();
}

Json TimelineData(const TimelinePage& page, const std::vector<TimelinePlace>& worst,
                  const TimelineLimits& limits, TimelineDropped& dropped) {
  const TracePyramid& pyramid = *page.pyramid;
  const int64_t unit_ns = pyramid.length_ns / int64_t{4'294'967'000} + 1;
  std::vector<uint32_t> ranks;
  std::vector<uint32_t> first;
  std::vector<uint32_t> last;
  for (const PyramidRank& rank : pyramid.ranks) {
    ranks.push_back(static_cast<uint32_t>(rank.rank));
    first.push_back(static_cast<uint32_t>(rank.first_ns / unit_ns));
    last.push_back(static_cast<uint32_t>(rank.last_ns / unit_ns));
  }
  Json json;
  json.Set("lengthNs", pyramid.length_ns);
  json.Set("unitNs", unit_ns);
  json.Set("rank", Words(ranks));
  json.Set("first", Words(first));
  json.Set("last", Words(last));
  json.Set("levels", LevelsJson(pyramid, limits.finest_left_out, dropped.levels));
  SetMarks(page, worst, limits, unit_ns, dropped, json);
  Json places = Json::Array{};
  for (const TimelinePlace& place : worst) {
    Json item;
    item.Set("row", std::max<int64_t>(RowOfRank(pyramid, place.rank), 0));
    item.Set("start", place.start_ns);
    item.Set("end", place.end_ns);
    places.Append(item);
  }
  json.Set("worst", places);
  return json;
}

}  // namespace stepslack::render
