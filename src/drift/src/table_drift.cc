#include "stepslack/drift/table_drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "feature_cells.h"
#include "feature_verdict.h"
#include "group_design.h"
#include "stepslack/base/parallel.h"
#include "stepslack/stats/multiple.h"

namespace stepslack::drift {
namespace {

using base::ExitCode;

constexpr double kMostEnumerated = 20000;

base::Status CheckOptions(const DriftOptions& o) {
  const bool ok = o.margin >= 0 && std::isfinite(o.margin) && o.share_margin >= 0 &&
                  o.share_margin <= 1 && o.alpha > 0 && o.alpha < 1 &&
                  o.confidence > 0 && o.confidence < 1 && o.permutations >= 99 &&
                  o.permutations <= 1'000'000 && o.resamples >= 100 &&
                  o.resamples <= 100'000;
  if (ok) return {};
  return base::Fail("DRIFT-0004", ExitCode::kUsage, "an option is out of range",
                    "drift options",
                    "margins not negative (a share up to 1), alpha and confidence "
                    "between 0 and 1, 99 permutations and 100 resamples or more");
}

base::Result<std::string> GroupColumn(const data::Table& reference,
                                      const DriftOptions& options) {
  if (options.group == kEveryRow && reference.Find(kEveryRow) == nullptr) {
    return std::string();
  }
  if (!options.group.empty()) return options.group;
  const auto groups = reference.WithRole(data::ColumnRole::kGroup);
  if (!groups.empty()) {
    return reference.columns[static_cast<size_t>(groups.front())].name;
  }
  return base::Fail("DRIFT-0001", ExitCode::kUsage, "no column of groups is known",
                    reference.source,
                    "rows of one design resemble each other, so whole groups are "
                    "compared: give --group COLUMN, or --group row when every row is "
                    "independent");
}

bool IsCompared(const data::Column& column, const std::string& group) {
  using data::ColumnRole;
  return column.name != group &&
         (column.role == ColumnRole::kFeature || column.role == ColumnRole::kLabel);
}

struct Pair {
  const data::Column* reference = nullptr;
  const data::Column* current = nullptr;
};

std::vector<Pair> CommonColumns(const data::Table& reference,
                                const data::Table& current, DriftReport& report) {
  std::vector<Pair> pairs;
  for (const data::Column& column : reference.columns) {
    if (!IsCompared(column, report.group)) continue;
    const data::Column* other = current.Find(column.name);
    if (other != nullptr) {
      pairs.push_back({&column, other});
    } else {
      report.notes.push_back(
          fmt::format("column {} is missing from the current table", column.name));
    }
  }
  for (const data::Column& column : current.columns) {
    if (IsCompared(column, report.group) && reference.Find(column.name) == nullptr) {
      report.notes.push_back(
          fmt::format("column {} is missing from the reference", column.name));
    }
  }
  return pairs;
}

// A comparison of one column, with the cells that the null distribution needs.
struct Compared {
  FeatureDrift drift;
  FeatureCells cells;
  Pair pair;
};

Compared Compare(const Pair& pair, const GroupDesign& design) {
  Compared out;
  out.pair = pair;
  out.drift.name = out.drift.column = pair.reference->name;
  if (pair.reference->kind != pair.current->kind) {
    out.drift.reason = "it is a number in one table and a text in the other";
  } else if (pair.reference->unit != pair.current->unit &&
             !pair.reference->unit.empty() && !pair.current->unit.empty()) {
    out.drift.reason = fmt::format("its unit is {} in the reference and {} now",
                                   pair.reference->unit, pair.current->unit);
  } else if (pair.reference->kind == data::ColumnKind::kNumber) {
    out.cells = NumberCells(*pair.reference, *pair.current, design);
  } else {
    out.drift.kind = DriftKind::kText;
    int64_t categories = 0;
    out.cells = TextCells(*pair.reference, *pair.current, design, categories);
    if (categories > 1024) {
      out.drift.reason = fmt::format(
          "{} different texts: more like names than a "
          "category, not compared",
          categories);
    }
  }
  return out;
}

std::vector<Compared> CompareAll(const std::vector<Pair>& pairs,
                                 const data::Table& reference,
                                 const data::Table& current, const GroupDesign& design,
                                 int threads) {
  std::vector<std::vector<Compared>> parts(pairs.size());
  base::ParallelFor(pairs.size(), threads, [&](size_t i) {
    const Pair& pair = pairs[i];
    Compared values = Compare(pair, design);
    const int64_t before = MissingIn(*pair.reference, reference.rows);
    const int64_t now = MissingIn(*pair.current, current.rows);
    values.drift.reference_values = reference.rows - before;
    values.drift.current_values = current.rows - now;
    parts[i].push_back(std::move(values));
    if (before == 0 && now == 0) return;
    Compared missing;
    missing.pair = pair;
    missing.drift.kind = DriftKind::kMissingShare;
    missing.drift.column = pair.reference->name;
    missing.drift.name = pair.reference->name + " (missing)";
    missing.drift.reference_values = reference.rows;
    missing.drift.current_values = current.rows;
    missing.cells = MissingCells(*pair.reference, *pair.current, design);
    parts[i].push_back(std::move(missing));
  });
  std::vector<Compared> out;
  for (auto& part : parts) {
    for (Compared& one : part) out.push_back(std::move(one));
  }
  return out;
}

// p of every feature: share of assignments at least as far apart as the observed one.
// An assignment that leaves a side without values counts as far apart.
void TestAll(const GroupDesign& design, const DriftOptions& options,
             DriftReport& report, std::vector<Compared>& all) {
  report.assignments = design.Assignments();
  report.exact = report.assignments <= kMostEnumerated;
  std::vector<Sides> listed;
  if (report.exact) listed = design.Enumerate();
  const auto count =
      report.exact ? listed.size() : static_cast<size_t>(options.permutations);
  const auto as_far = [&](const Compared& one, double observed, const Sides& sides) {
    return !(one.cells.Distance(sides) < observed * (1 - 1e-9));
  };
  std::vector<double> observed;
  const Sides actual = design.Observed();
  for (const Compared& one : all) {
    observed.push_back(one.cells.bins == 0 ? 0.0 : one.cells.Distance(actual));
  }
  constexpr size_t kParts = 64;
  std::vector<std::vector<int64_t>> hits(kParts, std::vector<int64_t>(all.size(), 0));
  base::ParallelFor(kParts, options.threads, [&](size_t part) {
    for (size_t k = part; k < count; k += kParts) {
      base::Random random(base::DeriveSeed(options.seed, "drift null", k));
      const Sides sides = report.exact ? listed[k] : design.Draw(random);
      for (size_t f = 0; f < all.size(); ++f) {
        if (all[f].cells.bins > 0) hits[part][f] += as_far(all[f], observed[f], sides);
      }
    }
  });
  report.least_p =
      report.exact ? design.LeastExactP() : 1.0 / (static_cast<double>(count) + 1);
  for (size_t f = 0; f < all.size(); ++f) {
    if (all[f].cells.bins == 0 || std::isnan(observed[f])) continue;
    int64_t total = report.exact ? 0 : 1;
    for (const auto& part : hits) total += part[f];
    const double of = static_cast<double>(count) + (report.exact ? 0 : 1);
    all[f].drift.p = static_cast<double>(total) / of;
  }
}

void AdjustAndJudge(const DriftOptions& options, DriftReport& report,
                    std::vector<Compared>& all) {
  std::vector<double> p;
  std::vector<FeatureDrift*> tested;
  for (Compared& one : all) {
    if (!one.drift.p || !one.drift.reason.empty()) continue;
    p.push_back(*one.drift.p);
    tested.push_back(&one.drift);
  }
  const std::vector<double> adjusted = stats::BenjaminiHochbergAdjust(p);
  for (size_t i = 0; i < tested.size(); ++i) tested[i]->p_adjusted = adjusted[i];
  for (Compared& one : all) {
    Judge(options, report.least_p, one.drift);
    report.features.push_back(std::move(one.drift));
  }
}

}  // namespace

bool DriftReport::AnyDrift() const {
  return std::any_of(features.begin(), features.end(), [](const FeatureDrift& f) {
    return f.verdict == DriftVerdict::kDrifted;
  });
}

base::Result<DriftReport> CompareTables(const data::Table& reference,
                                        const data::Table& current,
                                        const DriftOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  for (const data::Table* table : {&reference, &current}) {
    if (table->rows > 0) continue;
    return base::Fail("DRIFT-0003", ExitCode::kInput, "the table has no rows",
                      table->source, "give a table with at least one row");
  }
  DriftReport report;
  report.alpha = options.alpha;
  SS_TRY(report.group, GroupColumn(reference, options));
  SS_TRY(const GroupDesign design, GroupDesign::Of(reference, current, report.group));
  report.reference_rows = reference.rows;
  report.current_rows = current.rows;
  report.reference_groups = design.reference_only();
  report.current_groups = design.current_only();
  report.shared_groups = design.shared();
  if (report.group.empty()) {
    report.notes.push_back(
        "every row is taken as a group of its own: p and intervals "
        "are too narrow when rows resemble each other");
  }
  const std::vector<Pair> pairs = CommonColumns(reference, current, report);
  if (pairs.empty()) {
    return base::Fail("DRIFT-0005", ExitCode::kInput,
                      "the two tables have no feature in common",
                      fmt::format("{} and {}", reference.source, current.source),
                      "check that both are of the same kind");
  }
  std::vector<Compared> all =
      CompareAll(pairs, reference, current, design, options.threads);
  TestAll(design, options, report, all);
  base::Random random(base::DeriveSeed(options.seed, "drift bootstrap"));
  std::vector<std::vector<double>> weights;
  const int64_t resamples = design.cells() > 200'000 ? 100 : options.resamples;
  for (int64_t b = 0; b < resamples; ++b) weights.push_back(design.Resample(random));
  base::ParallelFor(all.size(), options.threads, [&](size_t f) {
    if (all[f].cells.bins == 0) return;
    // The intervals use the bins of the null distribution.
    Measure(all[f].cells, *all[f].pair.reference, design, weights, options,
            all[f].drift);
  });
  AdjustAndJudge(options, report, all);
  return report;
}

std::string_view ToString(DriftVerdict verdict) {
  switch (verdict) {
    case DriftVerdict::kDrifted:
      return "drifted";
    case DriftVerdict::kNoDrift:
      return "no drift";
    case DriftVerdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

std::string_view ToString(DriftKind kind) {
  switch (kind) {
    case DriftKind::kNumber:
      return "number";
    case DriftKind::kText:
      return "text";
    case DriftKind::kMissingShare:
      break;
  }
  return "missing share";
}

}  // namespace stepslack::drift
