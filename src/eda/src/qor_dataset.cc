#include "stepslack/eda/qor_dataset.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include "qor_files.h"
#include "qor_flow.h"
#include "scratch_folder.h"
#include "step_cache.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"

namespace stepslack::eda {
namespace {

using base::ExitCode;
using base::JoinPath;

// A finished data set of another seed or technology, or a larger one, is not replaced
// by what --resume would make.
base::Status CheckResumed(const QorOptions& options) {
  const std::string path = JoinPath(options.out, "lineage.json");
  if (!options.resume || !base::PathExists(path)) return {};
  SS_TRY(const std::string text, base::ReadFile(path));
  SS_TRY(const base::Json lineage, base::ParseJson(text, path));
  const auto& stages = lineage["stages"].AsArray();
  if (stages.empty()) return {};
  const base::Json& made = stages.front();
  const auto seed = static_cast<uint64_t>(made["seed"].AsInt());
  const std::string& technology = made["library"]["technology"].AsString();
  const int64_t rows = made["rows"].AsInt();
  if (seed == options.seed && technology == options.technology &&
      rows <= options.count) {
    return {};
  }
  return base::Fail("EDA-0119", ExitCode::kUsage,
                    fmt::format("the folder holds {} rows of seed {}, {}; {} rows of "
                                "seed {}, {} would replace them",
                                rows, seed, technology, options.count, options.seed,
                                options.technology),
                    options.out, "choose another folder, or the same seed and --tech");
}

base::Status CheckOptions(const QorOptions& options, int64_t most) {
  if (options.count < 1 || options.count > most || !(options.timeout_s > 0) ||
      options.threads < 0) {
    return base::Fail("EDA-0109", ExitCode::kUsage,
                      fmt::format("{} samples cannot be made", options.count),
                      "synthesis data",
                      fmt::format("choose a count from 1 to {}", most));
  }
  if (options.technology != "osu035" && options.technology != "osu018") {
    return base::Fail("EDA-0111", ExitCode::kUsage,
                      "there is no technology " + options.technology, "synthesis data",
                      "choose osu035 or osu018");
  }
  std::error_code ignored;
  if (base::PathExists(options.out) && !options.resume &&
      !std::filesystem::is_empty(options.out, ignored)) {
    return base::Fail("EDA-0110", ExitCode::kUsage, "the folder is not empty",
                      options.out, "choose another, or go on with --resume");
  }
  return CheckResumed(options);
}

class QorMaker {
 public:
  QorMaker(const QorOptions& options, const QorSurroundings& around,
           const StepCache& cache, const std::vector<QorRecipe>& recipes,
           const std::function<void(int64_t, int64_t)>& progress)
      : options_(options),
        around_(around),
        cache_(cache),
        recipes_(recipes),
        progress_(progress) {}

  base::Result<std::vector<QorRow>> Make(const std::vector<VerilogDesign>& designs) {
    rows_.resize(static_cast<size_t>(options_.count));
    const size_t per_design = recipes_.size();
    const size_t used = (rows_.size() + per_design - 1) / per_design;
    std::vector<std::optional<base::Error>> errors(used);
    std::atomic<bool> abandon = false;
    base::ParallelFor(used, options_.threads, [&](size_t i) {
      if (abandon.load()) return;
      const auto made = MakeDesign(designs[i], i * per_design);
      if (made.has_value()) return;
      errors[i] = made.error();
      abandon.store(true);
    });
    for (const auto& error : errors) {
      if (error.has_value()) return tl::unexpected(*error);
    }
    return std::move(rows_);
  }
  int64_t from_cache() const { return from_cache_.load(); }

 private:
  base::Status MakeDesign(const VerilogDesign& design, size_t first) {
    const std::string design_key = cache_.Key("design\n" + design.text);
    SynthesisedDesign synthesised;
    if (const auto kept = cache_.Find(design_key)) {
      synthesised = DesignFromJson(*kept);
    } else {
      SS_TRY(synthesised, Synthesise(design, around_));
      SS_RETURN_IF_ERROR(cache_.Keep(design_key, ToJson(synthesised)));
    }
    for (size_t r = 0; r < recipes_.size() && first + r < rows_.size(); ++r) {
      QorRow& row = rows_[first + r];
      row.design = &design;
      row.recipe = &recipes_[r];
      row.words = synthesised.words;
      row.synthesis_ms = synthesised.wall_ms;
      const std::string key =
          cache_.Key("sample\n" + design.text + "\n" + recipes_[r].script);
      if (const auto kept = cache_.Find(key)) {
        row.sample = SampleFromJson(*kept);
        from_cache_.fetch_add(1);
      } else {
        SS_TRY(row.sample,
               MapAndTime(synthesised, design.design, recipes_[r], around_));
        SS_RETURN_IF_ERROR(cache_.Keep(key, ToJson(row.sample)));
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      ++done_;
      if (progress_) progress_(done_, options_.count);
    }
    return {};
  }

  const QorOptions& options_;
  const QorSurroundings& around_;
  const StepCache& cache_;
  const std::vector<QorRecipe>& recipes_;
  const std::function<void(int64_t, int64_t)>& progress_;
  std::vector<QorRow> rows_;
  std::atomic<int64_t> from_cache_ = 0;
  std::mutex mutex_;
  int64_t done_ = 0;
};

QorReport Summarise(const std::vector<QorRow>& rows, int64_t from_cache) {
  QorReport report;
  std::set<std::string> designs;
  std::set<std::string> families;
  for (const QorRow& row : rows) {
    designs.insert(row.design->design);
    families.insert(row.design->family);
    const QorOutcome& outcome = row.sample.outcome;
    std::string name(ToString(outcome.status));
    if (!outcome.stage.empty()) name += " in " + outcome.stage;
    ++report.outcomes[name];
  }
  report.rows = static_cast<int64_t>(rows.size());
  report.designs = static_cast<int64_t>(designs.size());
  report.families = static_cast<int64_t>(families.size());
  report.from_cache = from_cache;
  return report;
}

base::Result<std::string> LibertyPath(const QorOptions& options) {
  const std::string path =
      options.liberty.empty()
          ? fmt::format("/usr/share/qflow/tech/{0}/{0}_stdcells.lib",
                        options.technology)
          : options.liberty;
  if (base::PathExists(path)) return path;
  return base::Fail(
      "EDA-0108", ExitCode::kEnvironment, "the cell library is not here", path,
      fmt::format("install the package qflow-tech-{}", options.technology));
}

base::Status WriteFiles(const QorOptions& options, const QorSurroundings& around,
                        const std::string& liberty_digest,
                        const std::vector<QorRow>& rows, const QorReport& report) {
  const std::string csv = QorCsv(rows);
  const auto write = [&options](std::string_view name, const std::string& text) {
    return base::WriteFileAtomic(JoinPath(options.out, name), text);
  };
  const VerilogDesign* last = nullptr;
  for (const QorRow& row : rows) {
    if (row.design == last) continue;
    last = row.design;
    SS_RETURN_IF_ERROR(write("verilog/" + last->design + ".v", last->text));
  }
  SS_RETURN_IF_ERROR(write("costs.csv", CostsCsv(rows)));
  SS_RETURN_IF_ERROR(write("dataset.toml", QorSchema()));
  SS_RETURN_IF_ERROR(
      write("lineage.json", QorLineage(options, around, liberty_digest, csv, report)));
  return write("qor.csv", csv);
}

}  // namespace

base::Result<QorReport> MakeQor(const QorOptions& options,
                                const std::function<void(int64_t, int64_t)>& progress,
                                const std::atomic<bool>* stop) {
  const std::vector<VerilogDesign> designs =
      options.designs.empty() ? MakeVerilogDesigns(options.seed) : options.designs;
  const std::vector<QorRecipe> recipes = QorRecipes();
  SS_RETURN_IF_ERROR(
      CheckOptions(options, static_cast<int64_t>(designs.size() * recipes.size())));
  SS_RETURN_IF_ERROR(base::MakeFolders(JoinPath(options.out, "cache")));
  SS_TRY(const ScratchFolder scratch,
         ScratchFolder::Make(ScratchPath("qor", options.out)));
  QorSurroundings around;
  around.folder = scratch.path();
  around.timeout_s = options.timeout_s;
  around.stop = stop;
  SS_TRY(around.tools,
         FindQorTools(options.yosys, options.abc, options.sta, around.folder));
  SS_TRY(around.liberty_path, LibertyPath(options));
  SS_TRY(const std::string liberty, base::ReadFile(around.liberty_path));
  SS_TRY(around.library, ParseLiberty(liberty, around.liberty_path));
  const std::string liberty_digest = base::Sha256Of(liberty);
  const QorTools& tools = around.tools;
  const StepCache cache(
      JoinPath(options.out, "cache"),
      fmt::format("qor/1\n{}{}\n{}{}\n{}{}\n{}\n{}", tools.yosys.version,
                  tools.yosys.digest, tools.abc.version, tools.abc.digest,
                  tools.sta.version, tools.sta.digest, liberty_digest,
                  options.timeout_s));
  QorMaker maker(options, around, cache, recipes, progress);
  SS_TRY(const std::vector<QorRow> rows, maker.Make(designs));
  const QorReport report = Summarise(rows, maker.from_cache());
  SS_RETURN_IF_ERROR(WriteFiles(options, around, liberty_digest, rows, report));
  return report;
}

}  // namespace stepslack::eda
