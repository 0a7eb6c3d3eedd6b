#include "stepslack/review/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "artifact_writer.h"
#include "data_stages.h"
#include "decision_stage.h"
#include "host_load.h"
#include "measurements.h"
#include "measurements_json.h"
#include "sections.h"
#include "stage_runner.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/diagnose/catalogue.h"
#include "stepslack/evidence/capsule.h"
#include "stepslack/evidence/review_json.h"
#include "stepslack/render/html_report.h"
#include "stepslack/render/markdown_report.h"
#include "stepslack/render/section_json.h"
#include "stepslack/render/text_report.h"
#include "stepslack/review/review_config.h"
#include "train_stages.h"

namespace stepslack::review {
namespace {

using base::JoinPath;
using base::Json;
using store::StageOutput;

constexpr int kStageCount = 11;

// Digest over names and contents of all files below a folder.
base::Result<std::string> FolderDigest(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entries(folder, error);
  while (!error && entries != std::filesystem::recursive_directory_iterator()) {
    if (entries->is_regular_file(error)) files.push_back(entries->path().string());
    entries.increment(error);
  }
  // An unreadable folder is refused by ingest, with the reason.
  if (error) return std::string("unreadable");
  std::sort(files.begin(), files.end());
  base::Sha256 hash;
  for (const std::string& file : files) {
    SS_TRY(const std::string digest, base::Sha256OfFile(file));
    hash.Update(file.substr(folder.size())).Update("\n").Update(digest).Update("\n");
  }
  return hash.Finish();
}

base::Result<ReviewConfig> EffectiveConfig(const ReviewOptions& options) {
  SS_TRY(ReviewConfig config, LoadReviewConfig(options.config_file));
  if (!options.data_folder.empty()) {
    config.data.source = "folder";
    config.data.folder = options.data_folder;
  } else if (config.data.source == "folder" && !config.data.folder.empty() &&
             config.data.folder.front() != '/') {
    // A relative folder is meant from where the file lies, not from where one stands.
    config.data.folder =
        JoinPath(base::ParentFolder(options.config_file), config.data.folder);
  }
  if (options.ranks) config.train.ranks = *options.ranks;
  return config;
}

base::Result<Json> ReviewIdentity(const ReviewConfig& config,
                                  const study::Launcher& launcher,
                                  const std::string& causes_sha256) {
  Json identity;
  identity.Set("config", config.text_sha256);
  identity.Set("ranks", config.train.ranks);
  identity.Set("source", config.data.source);
  if (config.data.source == "folder" && !config.data.folder.empty()) {
    SS_TRY(const std::string digest, FolderDigest(config.data.folder));
    identity.Set("data", digest);
  }
  identity.Set("worker", launcher.worker_sha256);
  identity.Set("causes", causes_sha256);
  identity.Set("host", base::HostFacts());
  return identity;
}

base::Status WriteMeasured(ArtifactWriter& writer, const ReviewConfig& config,
                           const DataStages& data, const TrainStages& runs,
                           const store::Room& room,
                           const std::vector<render::Section>& sections) {
  for (const render::Section& section : sections) {
    SS_RETURN_IF_ERROR(writer.WriteArtifact(ArtifactName(section.id),
                                            "artifacts/" + section.id + ".json",
                                            render::ToJson(section).Dump() + "\n"));
  }
  SS_RETURN_IF_ERROR(writer.WriteArtifact("host facts", "artifacts/host.json",
                                          base::HostFacts().Dump() + "\n"));
  SS_RETURN_IF_ERROR(writer.WriteArtifact("lineage digests",
                                          "artifacts/lineage-dag.json",
                                          data::ToJson(data.lineage).Dump() + "\n"));
  SS_RETURN_IF_ERROR(
      writer.WriteArtifact("split assignment", "artifacts/split.json",
                           data::ToJson(data.split, data.maps).Dump() + "\n"));
  SS_TRY(const std::string text, base::ReadFile(config.file));
  SS_RETURN_IF_ERROR(
      writer.WriteArtifact("review.toml", "artifacts/review.toml", text));
  std::string plan =
      "# Rollback plan\n\nTrigger: " + config.framing.rollback_trigger + "\n";
  for (const std::string& step : config.framing.rollback_steps) plan += "\n* " + step;
  SS_RETURN_IF_ERROR(
      writer.WriteArtifact("rollback plan", "artifacts/rollback-plan.md", plan + "\n"));
  const record::RunRecord& run = runs.honest.front().run;
  for (int rank = 0; rank < run.summary.world_size; ++rank) {
    const std::string file = fmt::format("trace.rank{}.json.gz", rank);
    const std::string path = std::filesystem::path(JoinPath(run.folder, file))
                                 .lexically_relative(room.path());
    if (!base::PathExists(JoinPath(run.folder, file))) continue;
    SS_RETURN_IF_ERROR(
        writer.ListExisting(fmt::format("trace of rank {}, first run", rank), path));
  }
  return {};
}

// Memo and decision are artifacts as well; the capsule and review.json list them all.
base::Result<StageOutput> WriteDocuments(ArtifactWriter& writer, render::Report& report,
                                         const Json& measurements) {
  SS_TRY(const std::string memo, render::RenderMemo(report.review));
  SS_TRY(const std::string decision, render::RenderDecision(report.review));
  const render::Section& kpi = report.sections.back();
  SS_RETURN_IF_ERROR(writer.WriteArtifact("deployment KPI dashboard",
                                          "artifacts/kpi.json",
                                          render::ToJson(kpi).Dump() + "\n"));
  SS_RETURN_IF_ERROR(writer.WriteArtifact("review memo", "memo.md", memo));
  SS_RETURN_IF_ERROR(writer.WriteArtifact("decision memo", "decision.md", decision));
  report.review.artifacts = writer.artifacts();
  const Json capsule = evidence::CapsuleJson(report.review);
  SS_RETURN_IF_ERROR(writer.Write("capsule.json", capsule.Dump() + "\n"));
  SS_RETURN_IF_ERROR(writer.Write("capsule.txt", evidence::CapsuleText(capsule)));
  Json review = evidence::ToJson(report.review);
  review.Set("measurements", measurements);
  SS_RETURN_IF_ERROR(writer.Write("review.json", review.Dump() + "\n"));
  SS_RETURN_IF_ERROR(writer.Write("report.html", render::RenderHtml(report)));
  SS_RETURN_IF_ERROR(writer.Write("report.md", render::RenderMarkdown(report)));
  SS_RETURN_IF_ERROR(writer.Write("summary.txt", render::RenderText(report, false)));
  StageOutput output;
  output.value.Set("ship", report.review.decision == evidence::Decision::kShip);
  output.objects = writer.objects();
  return output;
}

base::Result<StageOutput> ComputeReview(StageRunner& runner, const ReviewConfig& config,
                                        const study::Launcher& launcher,
                                        const diagnose::Catalogue& catalogue) {
  SS_TRY(const DataStages data, RunDataStages(runner, config));
  const CpuTimes before = ReadCpuTimes();
  SS_TRY(const TrainStages runs, RunTrainStages(runner, config, data, launcher));
  SS_TRY(Measurements measured, Measure(runner, config, data, runs));
  measured.steal_share = StealShare(before, ReadCpuTimes());

  runner.Begin("decide");
  ArtifactWriter writer(runner.room());
  render::Report report;
  const SectionInputs inputs{
      .config = config, .data = data, .runs = runs, .measured = measured};
  report.sections = MeasuredSections(inputs);
  SS_RETURN_IF_ERROR(
      WriteMeasured(writer, config, data, runs, runner.room(), report.sections));
  SS_TRY(report.review, DecideReview({.config = config,
                                      .data = data,
                                      .runs = runs,
                                      .measured = measured,
                                      .launcher = launcher,
                                      .catalogue = catalogue,
                                      .artifacts = writer.artifacts()}));
  report.sections.push_back(PlaybookSection(inputs, report.review));
  report.sections.push_back(KpiSection(config, report.review));
  runner.End(fmt::format("{}", evidence::ToString(report.review.decision)));

  runner.Begin("report");
  SS_TRY(StageOutput output,
         WriteDocuments(writer, report, MeasurementsJson(data, measured)));
  runner.End(fmt::format("{} artifacts", writer.artifacts().size()));
  return output;
}

}  // namespace

base::Result<ReviewOutcome> RunReview(const ReviewOptions& options,
                                      const base::Context& context) {
  SS_TRY(const ReviewConfig config, EffectiveConfig(options));
  SS_TRY(const diagnose::Catalogue catalogue, diagnose::LoadCatalogue(options.causes));
  SS_TRY(const std::string causes_sha256, base::Sha256OfFile(options.causes));
  SS_TRY(store::Room room, store::Room::Open(options.room));
  SS_TRY(const study::Launcher launcher,
         study::FindLauncher(options.worker, room.RunsFolder()));
  SS_TRY(const Json identity, ReviewIdentity(config, launcher, causes_sha256));

  StageRunner runner(room, context, kStageCount);
  ReviewOutcome outcome;
  outcome.from_cache = true;
  const auto compute = [&] {
    outcome.from_cache = false;
    return ComputeReview(runner, config, launcher, catalogue);
  };
  SS_TRY(const StageOutput output, runner.Cached("review", identity, compute));
  if (outcome.from_cache) {
    SS_RETURN_IF_ERROR(RestoreFiles(room, output.objects));
    context.progress->Say("nothing has changed: the review in the room is shown");
  }
  outcome.room = room.path();
  outcome.ship = output.value["ship"].AsBool();
  for (auto& [file, text] :
       {std::pair<const char*, std::string*>{"review.json", &outcome.json},
        {"summary.txt", &outcome.text},
        {"report.md", &outcome.markdown},
        {"report.html", &outcome.html}}) {
    SS_TRY(*text, room.GetBytes(output.objects.at(file)));
  }
  return outcome;
}

}  // namespace stepslack::review
