// Rows that are the same: by content hash, bit for bit, and after canonicalisation.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit_rows.h"
#include "stepslack/audit/row_hash.h"

namespace stepslack::audit {
namespace {

int64_t CountIn(std::span<const int> part, int which) {
  return std::ranges::count(part, which);
}

// Duplicate groups with rows of two leakage units.
int64_t SpanningGroups(const AuditRows& rows, const DuplicateGroups& found) {
  if (rows.group_of.empty()) return 0;
  int64_t spanning = 0;
  for (int64_t g = 0; g < found.count(); ++g) {
    const auto members = found.Group(g);
    const int64_t first = rows.group_of[static_cast<size_t>(members.front())];
    spanning += std::ranges::any_of(members, [&](int64_t row) {
      return rows.group_of[static_cast<size_t>(row)] != first;
    });
  }
  return spanning;
}

void ReportTwins(const AuditRows& rows, const DuplicateGroups& found,
                 const std::string& id, const std::string& kind, DataAudit& audit) {
  const std::string reason = fmt::format(
      "{} distinct of {}; {} rows in {} duplicate groups, the largest of {}",
      found.distinct, found.rows, found.in_groups, found.count(), found.largest);
  if (found.count() == 0) return Report(audit, id, std::nullopt, reason, found.rows);
  Finding finding;
  finding.kind = kind;
  finding.leakage_type = leakage::kDuplicates;
  finding.rows = found.in_groups;
  finding.share =
      static_cast<double>(found.in_groups) / static_cast<double>(found.rows);
  finding.share_of = "rows";
  finding.facts = {{"distinct", found.distinct},
                   {"duplicate_groups", found.count()},
                   {"largest_group", found.largest},
                   {"groups_across_leakage_units", SpanningGroups(rows, found)},
                   {"hash_collisions", found.collisions}};
  finding.groups = GroupsOf(rows, found.members);
  for (int64_t g = 0; g < found.count() && finding.examples.size() < kMostExamples;
       ++g) {
    std::string text;
    for (const int64_t row :
         found.Group(g).first(std::min<size_t>(found.Group(g).size(), 3))) {
      text += (text.empty() ? "" : " = ") + rows.Name(row);
    }
    finding.examples.push_back(std::move(text));
  }
  finding.metric_reason = "duplicates as such; see the checks of the split";
  finding.text = reason;
  Report(audit, id, std::move(finding), reason, found.rows);
}

// Of the split that is there, or of the random one that somebody would take.
void ReportLeak(const AuditRows& rows, const DuplicateGroups& found,
                const std::string& kind, const std::string& suffix, DataAudit& audit) {
  const AuditOptions& options = *rows.options;
  const bool given = rows.divided();
  const std::vector<int> part =
      given ? rows.part
            : RandomParts(rows.table->rows, options.test_share, options.seed);
  const std::string id = (given ? "twins_across_split" : "random_split_leak") + suffix;
  const std::vector<int64_t> leaked = TestRowsWithTwin(found, part);
  const int64_t test = CountIn(part, kTest);
  const double share =
      test > 0 ? static_cast<double>(leaked.size()) / static_cast<double>(test) : 0;
  const std::string which =
      given ? audit.split
            : fmt::format("a random split with {:.0f} % test (seed {})",
                          100 * options.test_share, options.seed);
  const std::string reason =
      fmt::format("{} of {} test rows ({:.1f} %) have a twin in train under {}",
                  leaked.size(), test, 100 * share, which);
  if (leaked.empty()) return Report(audit, id, std::nullopt, reason, test);
  Finding finding;
  finding.kind = kind;
  finding.leakage_type = leakage::kDuplicates;
  finding.rows = static_cast<int64_t>(leaked.size());
  finding.share = share;
  finding.share_of = "test rows";
  finding.groups = GroupsOf(rows, leaked);
  finding.examples = Names(rows, leaked);
  finding.facts = {{"test_rows", test}, {"train_rows", CountIn(part, kTrain)}};
  finding.text = reason;
  Measure(rows, part, leaked, finding);
  Report(audit, id, std::move(finding), reason, test);
}

base::Result<DuplicateGroups> Search(const AuditRows& rows,
                                     std::span<const int64_t> columns, CellForm form) {
  DuplicateSearch search;
  const std::vector<uint64_t> hashes =
      HashRows(*rows.table, columns, form, rows.options->threads);
  SS_RETURN_IF_ERROR(search.Add(hashes));
  return search.Finish(rows.options->threads, [&](int64_t a, int64_t b) {
    return SameRow(*rows.table, columns, form, a, b);
  });
}

}  // namespace

void AuditDuplicates(const AuditRows& rows, DataAudit& audit) {
  std::vector<int64_t> exact;
  if (rows.content) {
    exact = {static_cast<int64_t>(*rows.content)};
    audit.notes.push_back(fmt::format("content is known by the column {}",
                                      rows.table->columns[*rows.content].name));
  } else {
    for (size_t at = 0; at < rows.table->columns.size(); ++at) {
      const bool named =
          at == rows.id || rows.table->columns[at].role == data::ColumnRole::kSplit;
      if (!named) exact.push_back(static_cast<int64_t>(at));
    }
  }
  const std::string kind = rows.content ? "content hash" : "exact bytes";
  const auto same = Search(rows, exact, CellForm::kExact);
  if (!same) return ReportNotRun(audit, "exact_duplicates", same.error().what);
  ReportTwins(rows, *same, "exact_duplicates", kind, audit);
  ReportLeak(rows, *same, kind, "", audit);
  if (rows.content) {
    return ReportNotRun(audit, "canonical_duplicates",
                        "the content itself is not in the table, only its hash");
  }
  if (rows.features.empty()) {
    return ReportNotRun(audit, "canonical_duplicates", "there is no feature");
  }
  const auto alike = Search(rows, rows.features, CellForm::kCanonical);
  if (!alike) return ReportNotRun(audit, "canonical_duplicates", alike.error().what);
  ReportTwins(rows, *alike, "canonical_duplicates",
              "features equal to five digits, label dropped", audit);
  // Says nothing new when the canonical twins are the exact ones.
  if (alike->in_groups != same->in_groups) {
    ReportLeak(rows, *alike, "features equal to five digits", "_canonical", audit);
  }
}

}  // namespace stepslack::audit
