#include "stepslack/audit/data_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "audit_rows.h"
#include "stepslack/audit/probes.h"
#include "stepslack/base/file.h"
#include "stepslack/base/utf8.h"
#include "stepslack/data/dataset_schema.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/table_source.h"
#include "stepslack/data/table_stages.h"
#include "stepslack/data/table_summary.h"

namespace stepslack::audit {
namespace {

using base::Json;

base::Result<int> DecisionStage(const std::string& path, const AuditOptions& options) {
  std::optional<data::DatasetSchema> schema;
  if (!options.schema.empty()) {
    SS_TRY(schema, data::LoadSchema(options.schema));
  } else {
    SS_TRY(schema, data::FindSchema(path));
  }
  return schema ? schema->decision_stage : -1;
}

bool OnlyWarns(const std::string& id) {
  static constexpr std::string_view kIds[] = {"label_outliers", "class_balance",
                                              "worst_slices", "coverage"};
  return std::ranges::find(kIds, id) != std::end(kIds);
}

// Bytes that the values would take in memory; text inflates to about four times gzip.
int64_t BytesOf(const std::string& path) {
  int64_t bytes = 0;
  const auto add = [&](const std::filesystem::path& file) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (!error)
      bytes += static_cast<int64_t>(size) * (file.extension() == ".gz" ? 5 : 1);
  };
  if (!base::IsFolder(path)) {
    add(path);
    return bytes;
  }
  const auto names = base::ListFolder(path);
  if (!names) return 0;
  for (const std::string& name : *names) add(base::JoinPath(path, name));
  return bytes;
}

void RunAllProbes(const AuditRows& rows, int decision_stage, DataAudit& audit) {
  ProbeReport probes = RunProbes(*rows.table, rows.part,
                                 {.label = audit.label_column,
                                  .group = audit.group_column,
                                  .decision_stage = decision_stage,
                                  .seed = rows.options->seed,
                                  .threads = rows.options->threads});
  for (Finding& finding : probes.findings) {
    (OnlyWarns(finding.id) ? audit.warnings : audit.findings)
        .push_back(std::move(finding));
  }
  for (CheckResult& check : probes.checks) {
    if (check.verdict == CheckVerdict::kFinding && OnlyWarns(check.id)) {
      check.verdict = CheckVerdict::kWarning;
    }
    audit.checks.push_back(std::move(check));
  }
}

base::Result<DataAudit> AuditRowsOf(const data::Table& table,
                                    const AuditOptions& options, int decision_stage) {
  if (table.rows == 0) {
    return base::Fail("AUDIT-0014", base::ExitCode::kInput, "the table has no row",
                      table.source, "an audit of nothing would pass everything");
  }
  DataAudit audit;
  audit.source = table.source;
  audit.kind = "table";
  audit.rows = table.rows;
  audit.notes = table.notes;
  SS_TRY(AuditRows rows, PrepareRows(table, options, audit));
  // A hash of the content is no feature.
  data::Table without_hash;
  if (rows.content) {
    without_hash = table;
    without_hash.columns[*rows.content].role = data::ColumnRole::kIgnored;
    rows.table = &without_hash;
  }
  AuditDuplicates(rows, audit);
  ReportNotRun(audit, "per_channel", "a table has no channels");
  AuditNearRows(rows, audit);
  AuditGroups(rows, audit);
  AuditDistances(rows, audit);
  RunAllProbes(rows, decision_stage, audit);
  return audit;
}

base::Result<DataAudit> AuditMapFolder(const std::string& path,
                                       const AuditOptions& options) {
  SS_TRY(const data::IngestResult read,
         data::IngestFolder(path, {.threads = options.threads}));
  SS_TRY(DataAudit audit, AuditMaps(read.collection, options));
  audit.source = path;
  for (const base::Error& problem : read.problems) {
    audit.notes.push_back(base::OneLine(
        fmt::format("{}: {} ({})", problem.id, problem.what, problem.where)));
  }
  for (const std::string& note : read.notes) audit.notes.push_back(note);
  if (options.rebuild) {
    ReportNotRun(audit, "lineage_rebuild",
                 "a folder of maps has no stages to run again");
  }
  return audit;
}

// Do the recorded stages still give what they gave?
base::Status AuditLineage(const std::string& path, DataAudit& audit) {
  const std::string folder = base::IsFolder(path) ? path : base::ParentFolder(path);
  SS_TRY(const data::Rebuild rebuild, data::RebuildLineage(folder));
  const auto stages = static_cast<int64_t>(rebuild.stages.size());
  if (rebuild.first_different.empty()) {
    Report(audit, "lineage_rebuild", std::nullopt,
           fmt::format("{} stages run again give the same digests", stages), stages);
    return {};
  }
  Finding finding;
  finding.kind = "lineage";
  finding.rows = audit.rows;
  finding.share = 1;
  finding.share_of = "rows";
  finding.metric_reason = "the data are not what their record says";
  for (const data::RebuiltStage& stage : rebuild.stages) {
    if (!stage.same()) finding.examples.push_back(stage.name + ": " + stage.reason);
  }
  finding.text = fmt::format("the first stage whose digest differs is {}",
                             rebuild.first_different);
  const std::string reason = finding.text;
  Report(audit, "lineage_rebuild", std::move(finding), reason, stages);
  return {};
}

std::string FindingText(const Finding& finding, const char* word) {
  std::string text;
  text += fmt::format("\n{} {}: {}\n", word, finding.id, base::OneLine(finding.text));
  text +=
      fmt::format("  {} rows, {:.1f} % of {}{}\n", finding.rows, 100 * finding.share,
                  finding.share_of.empty() ? "rows" : finding.share_of,
                  finding.leakage_type.empty() ? "" : "; " + finding.leakage_type);
  const auto metric = [&](const char* name,
                          const std::optional<base::Estimate>& value) {
    if (value) text += fmt::format("  error {}: {}\n", name, base::Describe(*value));
  };
  metric("with these rows", finding.metric_with);
  metric("without them", finding.metric_without);
  metric("with whole groups held out", finding.metric_group_split);
  if (!finding.metric_reason.empty()) {
    text += "  no error measured: " + finding.metric_reason + "\n";
  }
  for (size_t i = 0; i < std::min<size_t>(finding.examples.size(), 3); ++i) {
    text += "  e.g. " + base::OneLine(finding.examples[i]) + "\n";
  }
  return text;
}

}  // namespace

base::Result<DataAudit> AuditTable(const data::Table& table,
                                   const AuditOptions& options) {
  return AuditRowsOf(table, options, -1);
}

base::Result<DataAudit> AuditData(const std::string& path,
                                  const AuditOptions& options) {
  if (!base::PathExists(path)) {
    return base::Fail("AUDIT-0015", base::ExitCode::kInput,
                      "there is no such file or folder", path, "check the path");
  }
  const bool large = BytesOf(path) > options.most_bytes;
  SS_TRY(const bool maps, data::HoldsMaps(path));
  if (maps && !large) return AuditMapFolder(path, options);
  if (large) return AuditInPieces(path, options);
  SS_TRY(const data::Table table, data::ReadTable(path, {.schema = options.schema}));
  SS_TRY(const int stage, DecisionStage(path, options));
  SS_TRY(DataAudit audit, AuditRowsOf(table, options, stage));
  if (options.rebuild) SS_RETURN_IF_ERROR(AuditLineage(path, audit));
  return audit;
}

Json ToJson(const DataAudit& audit) {
  Json json;
  json.Set("schema", "stepslack.data_audit/1").Set("source", audit.source);
  json.Set("kind", audit.kind).Set("rows", audit.rows).Set("groups", audit.groups);
  json.Set("group_column", audit.group_column).Set("label", audit.label_column);
  json.Set("split", audit.split);
  Json findings = Json::Array(), checks = Json::Array(), notes = Json::Array();
  for (const Finding& finding : audit.findings) findings.Append(ToJson(finding));
  for (const CheckResult& check : audit.checks) checks.Append(ToJson(check));
  for (const std::string& note : audit.notes) notes.Append(note);
  Json warnings = Json::Array();
  for (const Finding& finding : audit.warnings) warnings.Append(ToJson(finding));
  json.Set("findings", findings).Set("checks", checks).Set("notes", notes);
  json.Set("warnings", warnings);
  return json;
}

std::string Describe(const DataAudit& audit) {
  std::string text = fmt::format(
      "{}: {} {}, {} groups{}; split: {}\n", base::OneLine(audit.source), audit.rows,
      audit.kind == "maps" ? "maps" : "rows", audit.groups,
      audit.group_column.empty() ? "" : " by " + audit.group_column, audit.split);
  for (const std::string& note : audit.notes)
    text += "note: " + base::OneLine(note) + "\n";
  for (const Finding& finding : audit.findings) text += FindingText(finding, "FINDING");
  for (const Finding& finding : audit.warnings) text += FindingText(finding, "warning");
  text += "\nchecks\n";
  for (const CheckResult& check : audit.checks) {
    text += fmt::format("  {:<8} {:<24} {}\n", ToString(check.verdict), check.id,
                        base::OneLine(check.reason));
  }
  return text;
}

}  // namespace stepslack::audit
