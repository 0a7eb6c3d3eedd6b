// Leakage units on both sides of a split, by name and by distance, and what a random
// split would claim.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "audit_rows.h"
#include "probe_data.h"

namespace stepslack::audit {
namespace {

constexpr size_t kLeastStem = 3;
constexpr int64_t kMostDistanceRows = 2000;  // a side; more are thinned evenly
constexpr double kLeastDistanceRatio = 0.5;

void AuditOverlap(const AuditRows& rows, DataAudit& audit) {
  const std::string id = "group_overlap";
  if (rows.group_of.empty()) {
    return ReportNotRun(audit, id,
                        "no column is known as the leakage unit; name it with --group");
  }
  if (!rows.divided()) return ReportNotRun(audit, id, "no split is given");
  std::map<int64_t, std::pair<bool, bool>> sides;  // train or validation, test
  for (size_t row = 0; row < rows.part.size(); ++row) {
    auto& [fitted, tested] = sides[rows.group_of[row]];
    fitted |= rows.part[row] == kTrain || rows.part[row] == kValidation;
    tested |= rows.part[row] == kTest;
  }
  std::vector<int64_t> leaked;
  int64_t test = 0;
  for (size_t row = 0; row < rows.part.size(); ++row) {
    if (rows.part[row] != kTest) continue;
    ++test;
    const auto& [fitted, tested] = sides[rows.group_of[row]];
    if (fitted && tested) leaked.push_back(static_cast<int64_t>(row));
  }
  const auto both = std::ranges::count_if(sides, [](const auto& entry) {
    return entry.second.first && entry.second.second;
  });
  const std::string reason = fmt::format(
      "{} of {} groups are on both sides; {} of {} test rows belong to them", both,
      sides.size(), leaked.size(), test);
  if (leaked.empty()) return Report(audit, id, std::nullopt, reason, test);
  Finding finding;
  finding.kind = "group overlap";
  finding.leakage_type = leakage::kNonIndependence;
  finding.rows = static_cast<int64_t>(leaked.size());
  finding.share = static_cast<double>(leaked.size()) / static_cast<double>(test);
  finding.share_of = "test rows";
  finding.groups = GroupsOf(rows, leaked);
  finding.examples = Names(rows, leaked);
  finding.facts = {{"groups_on_both_sides", both}, {"test_rows", test}};
  finding.text = reason;
  Measure(rows, rows.part, leaked, finding);
  Report(audit, id, std::move(finding), reason, test);
}

// "vortex" of "Vortex-large", "mult" of "mult_w12" and of "mult"; "" when too short.
std::string StemOf(const std::string& name) {
  size_t end = 0;
  while (end < name.size() && std::isalpha(static_cast<uint8_t>(name[end])) != 0) ++end;
  if (end < kLeastStem) return "";
  std::string stem = name.substr(0, end);
  for (char& c : stem) c = static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
  return stem;
}

void AuditStems(const AuditRows& rows, DataAudit& audit) {
  const std::string id = "family_names";
  if (rows.group_of.empty() || !rows.divided()) {
    return ReportNotRun(audit, id, "needs leakage units and a split");
  }
  std::map<std::string, std::map<std::string, std::set<int>>> stems;  // stem, group
  std::set<std::string> all;
  for (size_t row = 0; row < rows.part.size(); ++row) {
    if (rows.part[row] == kNoPart) continue;
    const std::string& name = rows.group_names[static_cast<size_t>(rows.group_of[row])];
    all.insert(name);
    if (const auto stem = StemOf(name); !stem.empty()) {
      stems[stem][name].insert(rows.part[row]);
    }
  }
  for (const auto& [part, groups] : rows.foreign_groups) {
    for (const std::string& name : groups) {
      all.insert(name);
      if (const auto stem = StemOf(name); !stem.empty()) stems[stem][name].insert(part);
    }
  }
  Finding finding;
  std::set<std::string> touched;
  for (const auto& [stem, groups] : stems) {
    // A stem of most groups ("design_1", "design_2") is no family.
    if (groups.size() < 2 || 2 * groups.size() > all.size()) continue;
    std::set<std::string> fitted, tested;
    for (const auto& [name, parts] : groups) {
      if (parts.contains(kTrain) || parts.contains(kValidation)) fitted.insert(name);
      if (parts.contains(kTest)) tested.insert(name);
    }
    for (const std::string& name : tested) {
      for (const std::string& other : fitted) {
        if (name == other) continue;
        touched.insert(name);
        if (finding.examples.size() < kMostExamples) {
          finding.examples.push_back(
              fmt::format("{} in train, {} in test", other, name));
        }
      }
    }
  }
  const std::string reason =
      fmt::format("{} test groups share the stem of their name with a group in train",
                  touched.size());
  if (touched.empty()) {
    return Report(audit, id, std::nullopt, reason, static_cast<int64_t>(all.size()));
  }
  finding.kind = "family by name";
  finding.leakage_type = leakage::kNonIndependence;
  finding.warning = true;
  finding.groups.assign(touched.begin(), touched.end());
  int64_t test = 0;
  for (size_t row = 0; row < rows.part.size(); ++row) {
    test += rows.part[row] == kTest;
    finding.rows += rows.part[row] == kTest &&
                    touched.contains(rows.GroupName(static_cast<int64_t>(row)));
  }
  finding.share =
      test > 0 ? static_cast<double>(finding.rows) / static_cast<double>(test) : 0;
  finding.share_of = "test rows";
  finding.metric_reason = "a name is a suspicion, not a proof";
  finding.text = reason + ": are they one IP block at other sizes?";
  Report(audit, id, std::move(finding), reason, static_cast<int64_t>(all.size()));
}

// Squared distance over standardised features, missing cells as the mean.
double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return sum;
}

std::vector<size_t> Thinned(const std::vector<size_t>& rows) {
  std::vector<size_t> kept;
  const auto most = static_cast<size_t>(kMostDistanceRows);
  for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
    kept.push_back(rows[rows.size() <= most ? i : i * rows.size() / most]);
  }
  return kept;
}

double MedianNearest(const std::vector<std::vector<float>>& points,
                     const std::vector<size_t>& from, const std::vector<size_t>& to) {
  std::vector<double> nearest;
  for (const size_t a : from) {
    double best = INFINITY;
    for (const size_t b : to) {
      if (a != b) best = std::min(best, Distance(points[a], points[b]));
    }
    nearest.push_back(std::sqrt(best));
  }
  const auto middle = nearest.begin() + static_cast<std::ptrdiff_t>(nearest.size() / 2);
  std::ranges::nth_element(nearest, middle);
  return *middle;
}

std::vector<std::vector<float>> Standardised(const ProbeData& data) {
  const auto columns = static_cast<size_t>(data.matrix.columns);
  std::vector<std::vector<float>> points(data.rows.size(), std::vector<float>(columns));
  for (size_t c = 0; c < columns; ++c) {
    double sum = 0, squares = 0, count = 0;
    for (size_t r = 0; r < points.size(); ++r) {
      const double value = data.matrix.values[r * columns + c];
      if (std::isnan(value)) continue;
      sum += value;
      squares += value * value;
      ++count;
    }
    const double mean = count > 0 ? sum / count : 0;
    const double spread =
        count > 0 ? std::sqrt(std::max(0.0, squares / count - mean * mean)) : 0;
    for (size_t r = 0; r < points.size(); ++r) {
      const double value = data.matrix.values[r * columns + c];
      points[r][c] = std::isnan(value) || spread == 0
                         ? 0.0F
                         : static_cast<float>((value - mean) / spread);
    }
  }
  return points;
}

}  // namespace

void AuditGroups(const AuditRows& rows, DataAudit& audit) {
  AuditOverlap(rows, audit);
  AuditStems(rows, audit);
}

void AuditDistances(const AuditRows& rows, DataAudit& audit) {
  const std::string id = "nearest_neighbours";
  if (!rows.divided() || rows.features.empty()) {
    return ReportNotRun(audit, id, "needs a split and features");
  }
  ProbeOptions options;
  options.label = rows.label ? rows.table->columns[*rows.label].name : "";
  options.group = rows.group ? rows.table->columns[*rows.group].name : "";
  const ProbeData data = Prepare(*rows.table, rows.part, options);
  std::vector<size_t> train, test;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const int part = rows.part[static_cast<size_t>(data.rows[i])];
    if (part == kTrain) train.push_back(i);
    if (part == kTest) test.push_back(i);
  }
  const auto fitted = Thinned(train), tested = Thinned(test);
  if (std::min(fitted.size(), tested.size()) < 10) {
    return ReportNotRun(audit, id, "fewer than 10 rows on a side");
  }
  const auto points = Standardised(data);
  const double across = MedianNearest(points, tested, fitted);
  const double within = MedianNearest(points, fitted, fitted);
  std::string reason = fmt::format(
      "median distance to the nearest training row: {:.3g} from test, {:.3g} from "
      "train",
      across, within);
  if (train.size() > fitted.size() || test.size() > tested.size()) {
    reason += fmt::format(" ({} of {} test and {} of {} train rows, thinned evenly)",
                          tested.size(), test.size(), fitted.size(), train.size());
  }
  const auto examined = static_cast<int64_t>(tested.size());
  if (within == 0 || across >= kLeastDistanceRatio * within) {
    return Report(audit, id, std::nullopt, reason, examined);
  }
  Finding finding;
  finding.kind = "nearest neighbours";
  finding.leakage_type = leakage::kNonIndependence;
  finding.warning = true;
  finding.rows = static_cast<int64_t>(test.size());
  finding.share = 1;
  finding.share_of = "test rows";
  finding.metric_reason = "a property of the whole test set, not of single rows";
  finding.text = reason + ": test lies nearer to train than train to itself";
  Report(audit, id, std::move(finding), reason, examined);
}

}  // namespace stepslack::audit
