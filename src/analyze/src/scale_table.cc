// Families from a table of measured iterations.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "stepslack/analyze/projection.h"
#include "stepslack/base/text.h"

namespace stepslack::analyze {
namespace {

// Letters and digits of a column's name, small: "# GPUs" is "gpus".
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

enum class Use { kWorkers, kNodes, kBatch, kMilliseconds, kSeconds, kKey, kIgnored };

Use UseOf(const std::string& plain) {
  static const std::map<std::string, Use, std::less<>> kUses = {
      {"gpus", Use::kWorkers},
      {"worldsize", Use::kWorkers},
      {"ranks", Use::kWorkers},
      {"workers", Use::kWorkers},
      {"chips", Use::kWorkers},
      {"nodes", Use::kNodes},
      {"globalbatch", Use::kBatch},
      {"globalbatchsize", Use::kBatch},
      {"gbs", Use::kBatch},
      {"iterationtimems", Use::kMilliseconds},
      {"steptimems", Use::kMilliseconds},
      {"secit", Use::kSeconds},
      {"iterationtimes", Use::kSeconds},
      {"steptimes", Use::kSeconds},
      {"stepseconds", Use::kSeconds},
      {"parametersbillion", Use::kKey},
      {"size", Use::kKey},
      {"model", Use::kKey},
      {"microbatch", Use::kKey},
      {"mbs", Use::kKey},
      {"hiddensize", Use::kKey},
      {"nhidden", Use::kKey},
      {"attentionheads", Use::kKey},
      {"nheads", Use::kKey},
      {"layers", Use::kKey},
      {"sequencelength", Use::kKey},
      {"zs", Use::kKey},
      {"tensorparallelism", Use::kKey},
      {"tp", Use::kKey},
      {"pipelineparallelism", Use::kKey},
      {"pp", Use::kKey},
      {"family", Use::kKey},
      {"benchmark", Use::kKey}};
  const auto found = kUses.find(plain);
  return found == kUses.end() ? Use::kIgnored : found->second;
}

struct Columns {
  std::vector<std::string> names;
  std::vector<Use> uses;
  bool Has(Use use) const { return std::ranges::find(uses, use) != uses.end(); }
};

struct TableRow {
  std::string family;
  ScalePoint point;
};

std::optional<TableRow> ReadRow(const Columns& columns, std::string_view line,
                                int workers_per_node) {
  const std::vector<std::string_view> cells = base::Split(line, ',');
  if (cells.size() != columns.uses.size()) return std::nullopt;
  TableRow row;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = base::Trim(cells[i]);
    const Use use = columns.uses[i];
    if (use == Use::kIgnored || cell.empty()) continue;
    if (use == Use::kKey) {
      row.family +=
          fmt::format("{}{}={}", row.family.empty() ? "" : " ", columns.names[i], cell);
      continue;
    }
    const auto value = base::ParseDouble(cell);
    if (!value || !(*value > 0) || *value > 1e12) return std::nullopt;
    if (use == Use::kWorkers) row.point.world_size = static_cast<int64_t>(*value);
    if (use == Use::kNodes && !columns.Has(Use::kWorkers)) {
      row.point.world_size = static_cast<int64_t>(*value * workers_per_node);
    }
    if (use == Use::kBatch) row.point.global_batch = *value;
    if (use == Use::kMilliseconds) row.point.step_seconds = *value / 1000;
    if (use == Use::kSeconds) row.point.step_seconds = *value;
  }
  if (row.point.world_size < 1 || row.point.global_batch <= 0 ||
      row.point.step_seconds <= 0) {
    return std::nullopt;
  }
  return row;
}

}  // namespace

base::Result<std::vector<ScaleFamily>> FamiliesOfTable(
    std::string_view csv, std::string_view name, int workers_per_node,
    std::vector<std::string>& left_out) {
  const std::vector<std::string_view> lines = base::Split(csv, '\n');
  Columns columns;
  for (const std::string_view cell : base::Split(base::Trim(lines.front()), ',')) {
    columns.names.emplace_back(base::Trim(cell));
    columns.uses.push_back(UseOf(Plain(cell)));
  }
  const bool workers = columns.Has(Use::kWorkers) || columns.Has(Use::kNodes);
  const bool seconds = columns.Has(Use::kMilliseconds) || columns.Has(Use::kSeconds);
  if (!workers || !seconds || !columns.Has(Use::kBatch)) {
    return base::Fail(
        "PROJ-0003", base::ExitCode::kInput,
        fmt::format("the table has no column of {}",
                    !workers   ? "workers (world_size, gpus or nodes)"
                    : !seconds ? "step time (step_time_ms or sec/it)"
                               : "the global batch (global_batch or gbs)"),
        std::string(name), "name the columns so in the first line");
  }
  std::map<std::string, ScaleFamily> families;
  int64_t dropped = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (base::Trim(lines[i]).empty()) continue;
    const auto row = ReadRow(columns, base::Trim(lines[i]), workers_per_node);
    if (!row) {
      ++dropped;
      continue;
    }
    ScaleFamily& family = families[row->family];
    family.name = row->family.empty() ? std::string(name) : row->family;
    family.basis = "iteration";
    family.points.push_back(row->point);
  }
  if (dropped > 0) {
    left_out.push_back(fmt::format(
        "{}: {} rows without workers, batch or step time as positive numbers", name,
        dropped));
  }
  std::vector<ScaleFamily> list;
  for (auto& [key, family] : families) list.push_back(std::move(family));
  return list;
}

}  // namespace stepslack::analyze
