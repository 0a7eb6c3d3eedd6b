#include "data_stages.h"

#include <fmt/format.h>

#include <set>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/data/collection_file.h"

namespace stepslack::review {
namespace {

using base::JoinPath;
using base::Json;
using store::StageOutput;

eda::IrDropOptions GeneratorOptions(const ReviewConfig& config, int threads) {
  return {.seed = config.data.seed,
          .families = config.data.families,
          .variants = config.data.variants,
          .tiles = config.data.tile,
          .threads = threads};
}

Json ReportJson(const eda::IrDropReport& report) {
  Json json;
  json.Set("maps", report.maps);
  json.Set("total_seconds", report.total_seconds);
  json.Set("solve_wall_median_ns", report.solve_wall_median_ns);
  json.Set("solve_wall_p95_ns", report.solve_wall_p95_ns);
  json.Set("solve_cpu_median_ns", report.solve_cpu_median_ns);
  json.Set("max_relative_residual", report.max_relative_residual);
  json.Set("iterations_median", report.iterations_median);
  return json;
}

eda::IrDropReport ReportFromJson(const Json& json) {
  eda::IrDropReport report;
  report.maps = static_cast<int>(json["maps"].AsInt());
  report.total_seconds = json["total_seconds"].AsDouble();
  report.solve_wall_median_ns = json["solve_wall_median_ns"].AsInt();
  report.solve_wall_p95_ns = json["solve_wall_p95_ns"].AsInt();
  report.solve_cpu_median_ns = json["solve_cpu_median_ns"].AsInt();
  report.max_relative_residual = json["max_relative_residual"].AsDouble();
  report.iterations_median = static_cast<int>(json["iterations_median"].AsInt());
  return report;
}

int64_t GroupCount(const data::MapCollection& maps) {
  std::set<std::string> groups;
  for (const data::WholeMap& map : maps.maps) groups.insert(map.group);
  return static_cast<int64_t>(groups.size());
}

// Stores the collection as an object and notes its digest under `name`.
base::Status KeepCollection(StageRunner& runner, const data::MapCollection& maps,
                            StageOutput& output) {
  const std::string path = JoinPath(runner.room().ScratchFolder(), "maps");
  SS_RETURN_IF_ERROR(data::WriteCollection(maps, path));
  SS_TRY(output.objects["maps"], runner.room().PutFile(path));
  return {};
}

base::Status IngestEmbedded(StageRunner& runner, const ReviewConfig& config,
                            DataStages& out) {
  const eda::IrDropOptions options = GeneratorOptions(config, runner.context().threads);
  Json inputs;
  inputs.Set("seed", options.seed);
  inputs.Set("families", options.families);
  inputs.Set("variants", options.variants);
  inputs.Set("tiles", options.tiles);
  std::optional<data::MapCollection> made;
  const auto compute = [&]() -> base::Result<StageOutput> {
    const auto draw = [&](int done, int total) {
      runner.context().progress->Update(
          fmt::format("solved {} of {} maps", done, total),
          static_cast<double>(done) / total);
    };
    SS_TRY(auto result, eda::MakeIrDropMaps(options, draw, runner.context().stop));
    StageOutput output;
    output.value.Set("report", ReportJson(result.second));
    SS_RETURN_IF_ERROR(KeepCollection(runner, result.first, output));
    made = std::move(result.first);
    return output;
  };
  SS_TRY(const StageOutput output, runner.Cached("ingest", inputs, compute));
  if (made) {
    out.maps = std::move(*made);
  } else {
    SS_TRY(out.maps,
           data::ReadCollection(runner.room().ObjectPath(output.objects.at("maps"))));
  }
  out.generator = options;
  out.generator_report = ReportFromJson(output.value["report"]);
  out.notes.push_back(fmt::format(
      "labels: exact solve, largest relative residual {:.1e}, {} iterations (median)",
      out.generator_report->max_relative_residual,
      out.generator_report->iterations_median));
  out.lineage.stages.push_back(
      {.name = "ingest",
       .parameters = inputs,
       .inputs = {},
       .output = data::DigestOf(out.maps, runner.context().threads),
       .counts = {{"maps", out.generator_report->maps}}});
  return {};
}

base::Status IngestUserFolder(StageRunner& runner, const ReviewConfig& config,
                              DataStages& out) {
  if (config.data.folder.empty()) {
    return base::Fail("REV-0003", base::ExitCode::kUsage, "no data folder is given",
                      config.file, "set folder under [data], or pass --data DIR");
  }
  SS_TRY(data::IngestResult result,
         data::IngestFolder(config.data.folder, {.threads = runner.context().threads,
                                                 .check_units = true}));
  Json parameters;
  parameters.Set("layout", result.layout);
  out.lineage.stages.push_back(
      {.name = "ingest",
       .parameters = std::move(parameters),
       .inputs = {{"files", data::DigestOf(result.files)}},
       .output = data::DigestOf(result.collection, runner.context().threads),
       .counts = {{"maps", static_cast<int64_t>(result.collection.maps.size())},
                  {"files", static_cast<int64_t>(result.files.size())},
                  {"unreadable", static_cast<int64_t>(result.problems.size())},
                  {"skipped files", static_cast<int64_t>(result.skipped.size())}}});
  out.maps = std::move(result.collection);
  out.problems = std::move(result.problems);
  out.suspicions = std::move(result.suspicions);
  out.notes = std::move(result.notes);
  return {};
}

void RunClean(StageRunner& runner, const ReviewConfig& config, DataStages& out) {
  const std::string input = out.lineage.stages.back().output;
  data::CleanResult cleaned = data::Clean(
      std::move(out.maps), {.tile = int64_t{config.data.tile} * config.data.downscale});
  out.rules = cleaned.rules;
  out.quarantined = static_cast<int64_t>(cleaned.quarantined.size());
  out.lineage.stages.push_back(
      {.name = "clean",
       .parameters = data::ToJson(cleaned)["options"],
       .inputs = {{"maps", input}},
       .output = data::DigestOf(cleaned, runner.context().threads),
       .counts = {{"kept", static_cast<int64_t>(cleaned.kept.maps.size())},
                  {"quarantined", out.quarantined}}});
  out.maps = std::move(cleaned.kept);
}

data::SplitOptions SplitOptionsOf(const SplitConfig& config) {
  data::SplitOptions options;
  options.policy = config.policy == "by_group" ? data::SplitPolicy::kByGroup
                                               : data::SplitPolicy::kLeaveOneGroupOut;
  options.seed = config.seed;
  options.validation_fraction = config.validation_share;
  options.test_fraction = config.test_share;
  options.source = config.source;
  return options;
}

// The honest split keeps designs together; the naive one is what it would be without
// knowing designs: single maps, or every file its own design.
base::Status RunSplit(StageRunner& runner, const ReviewConfig& config,
                      DataStages& out) {
  const std::string input = out.lineage.stages.back().output;
  data::SplitOptions options = SplitOptionsOf(config.split);
  data::SplitOptions naive = options;
  if (options.policy == data::SplitPolicy::kByGroup) {
    naive.policy = data::SplitPolicy::kRandom;
  }
  SS_TRY(out.naive, data::MakeSplit(out.maps, naive));
  out.merges = data::UniteGroups(out.maps);
  SS_TRY(out.split, data::MakeSplit(out.maps, options));
  Json parameters;
  parameters.Set("policy", config.split.policy);
  parameters.Set("seed", config.split.seed);
  parameters.Set("test_share", config.split.test_share);
  parameters.Set("validation_share", config.split.validation_share);
  out.lineage.stages.push_back(
      {.name = "split",
       .parameters = std::move(parameters),
       .inputs = {{"maps", input}},
       .output = data::DigestOf(out.split, out.maps, runner.context().threads),
       .counts = {{"groups", GroupCount(out.maps)},
                  {"groups united", static_cast<int64_t>(out.merges.size())},
                  {"folds", static_cast<int64_t>(out.split.folds.size())}}});
  return {};
}

void RunAudit(StageRunner& runner, DataStages& out) {
  data::AuditOptions options;
  options.threads = runner.context().threads;
  const data::LinkSet links = data::FindLinks(out.maps, options);
  out.audit = data::AuditSplit(out.maps, links, out.split);
  out.naive_audit = data::AuditSplit(out.maps, links, out.naive);
}

base::Status RunTiles(StageRunner& runner, const ReviewConfig& config,
                      DataStages& out) {
  SS_TRY(out.tiles, data::CutTiles(out.maps, config.data.tile, config.data.stride,
                                   config.data.downscale));
  Json inputs;
  inputs.Set("dataset", out.lineage.stages.back().output);
  inputs.Set("tile", config.data.tile);
  inputs.Set("stride", config.data.stride);
  inputs.Set("downscale", config.data.downscale);
  const auto compute = [&]() -> base::Result<StageOutput> {
    const std::string x = JoinPath(runner.room().ScratchFolder(), "inputs.npy");
    const std::string y = JoinPath(runner.room().ScratchFolder(), "targets.npy");
    SS_RETURN_IF_ERROR(data::WriteTiles(out.tiles, x, y));
    StageOutput output;
    SS_TRY(output.objects["inputs"], runner.room().PutFile(x));
    SS_TRY(output.objects["targets"], runner.room().PutFile(y));
    return output;
  };
  SS_TRY(const StageOutput output, runner.Cached("tiles", inputs, compute));
  out.inputs_path = runner.room().ObjectPath(output.objects.at("inputs"));
  out.targets_path = runner.room().ObjectPath(output.objects.at("targets"));
  return {};
}

// "below_tile_size (24 maps, for example m0)".
std::string BrokenRules(const std::vector<data::RuleFinding>& rules) {
  std::string text;
  for (const data::RuleFinding& rule : rules) {
    if (rule.count == 0) continue;
    text += fmt::format("{}{} ({} maps, for example {})", text.empty() ? "" : "; ",
                        rule.id, rule.count, rule.examples.front());
  }
  return text.empty() ? "there were none" : text;
}

}  // namespace

base::Result<DataStages> RunDataStages(StageRunner& runner,
                                       const ReviewConfig& config) {
  DataStages out;
  runner.Begin("ingest");
  if (config.data.source == "embedded") {
    SS_RETURN_IF_ERROR(IngestEmbedded(runner, config, out));
  } else {
    SS_RETURN_IF_ERROR(IngestUserFolder(runner, config, out));
  }
  runner.End(
      fmt::format("{} maps, {} unreadable", out.maps.maps.size(), out.problems.size()));

  runner.Begin("clean");
  RunClean(runner, config, out);
  runner.End(
      fmt::format("{} kept, {} in quarantine", out.maps.maps.size(), out.quarantined));
  if (out.maps.maps.empty()) {
    return base::Fail("REV-0004", base::ExitCode::kInput,
                      "no map is left after cleaning: " + BrokenRules(out.rules),
                      config.data.folder.empty() ? config.file : config.data.folder,
                      "correct the maps, or tile and downscale under [data]");
  }

  runner.Begin("split");
  SS_RETURN_IF_ERROR(RunSplit(runner, config, out));
  runner.End(fmt::format("{} groups, {} united from identical currents",
                         GroupCount(out.maps), out.merges.size()));

  runner.Begin("audit");
  RunAudit(runner, out);
  runner.End(fmt::format("{} leaked test rows (careless split: {})",
                         out.audit.leaked_test_rows(),
                         out.naive_audit.leaked_test_rows()));
  SS_RETURN_IF_ERROR(runner.CheckStop());
  SS_RETURN_IF_ERROR(RunTiles(runner, config, out));
  return out;
}

}  // namespace stepslack::review
