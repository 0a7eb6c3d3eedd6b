#include "stepslack/eda/pnr_dataset.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include "pnr_files.h"
#include "scratch_folder.h"
#include "step_cache.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"
#include "stepslack/base/random.h"

namespace stepslack::eda {
namespace {

using base::ExitCode;
using base::JoinPath;

constexpr int64_t kPlacements = 16;  // at most, of one design
constexpr const char* kTilesHeader =
    "family,design,placement,ix,iy,pin_count,rudy_um,cell_area_um2,routed_um\n";
constexpr const char* kNetsHeader =
    "family,design,placement,net,pins,bbox_dx_um,bbox_dy_um,hpwl_um,routed_um,vias\n";

base::Status CheckOptions(const PnrOptions& options, size_t designs) {
  const int64_t most = static_cast<int64_t>(designs) * kPlacements;
  if (options.count < 1 || options.count > most || !(options.timeout_s > 0) ||
      options.threads < 0) {
    return base::Fail("EDA-0261", ExitCode::kUsage,
                      fmt::format("{} placements cannot be made", options.count),
                      "congestion data",
                      fmt::format("choose a count from 1 to {}", most));
  }
  if (options.route_layers < 2 || options.route_layers > 4) {
    return base::Fail("EDA-0263", ExitCode::kUsage,
                      fmt::format("{} routing layers", options.route_layers),
                      "congestion data", "choose 2, 3 or 4");
  }
  std::error_code ignored;
  if (base::PathExists(options.out) && !options.resume &&
      !std::filesystem::is_empty(options.out, ignored)) {
    return base::Fail("EDA-0262", ExitCode::kUsage, "the folder is in use", options.out,
                      "choose another, or go on with --resume");
  }
  return {};
}

// Appends the digest of a file that must be there to `digests`; gives its text.
base::Result<std::string> Need(const std::string& path, const char* package,
                               std::string& digests) {
  if (!base::PathExists(path)) {
    return base::Fail("EDA-0260", ExitCode::kEnvironment,
                      "a file of the flow is not here", path,
                      fmt::format("install the package {}", package));
  }
  SS_TRY(std::string text, base::ReadFile(path));
  digests += base::Sha256Of(text) + "\n";
  return text;
}

base::Result<PnrTools> FindTools(const PnrOptions& options, const std::string& folder) {
  PnrTools tools;
  SS_TRY(tools.yosys, FindTool(options.yosys, "yosys", {"-V"}, "Yosys", folder));
  SS_TRY(tools.graywolf,
         FindTool(options.graywolf, "graywolf", {"-v"}, "twflow version", folder));
  SS_TRY(tools.qrouter,
         FindTool(options.qrouter, "qrouter", {"-v", "0", "-h"}, "version", folder));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(JoinPath(folder, "version.tcl"),
                                           "puts \"Tcl [info patchlevel]\"\nexit\n"));
  SS_TRY(tools.tclsh, FindTool(options.tclsh, "tcl", {JoinPath(folder, "version.tcl")},
                               "Tcl", folder));
  tools.scripts = options.scripts;
  std::string digests;
  for (const char* script : {"blif2cel", "place2def", "addspacers", "arrangepins"}) {
    SS_RETURN_IF_ERROR(Need(JoinPath(options.scripts, fmt::format("{}.tcl", script)),
                            "qflow", digests));
  }
  tools.scripts_digest = base::Sha256Of(digests);
  return tools;
}

base::Result<PnrTechnology> FindTechnology(const PnrOptions& options) {
  constexpr const char* kPackage = "qflow-tech-osu035";
  PnrTechnology technology;
  technology.liberty_path = JoinPath(options.technology, "osu035_stdcells.lib");
  technology.lef_path = JoinPath(options.technology, "osu035_stdcells.lef");
  std::string digests;
  SS_RETURN_IF_ERROR(Need(technology.liberty_path, kPackage, digests));
  SS_TRY(const std::string lef, Need(technology.lef_path, kPackage, digests));
  SS_TRY(technology.parameters,
         Need(JoinPath(options.technology, "osu035.par"), kPackage, digests));
  SS_TRY(technology.lef, ParseLef(lef, technology.lef_path));
  technology.digest = base::Sha256Of(digests);
  return technology;
}

class PnrMaker {
 public:
  PnrMaker(const PnrOptions& options, const PnrSurroundings& around,
           const StepCache& cache,
           const std::function<void(int64_t, int64_t)>& progress)
      : options_(options), around_(around), cache_(cache), progress_(progress) {}

  base::Result<std::vector<PnrRow>> Make(const std::vector<VerilogDesign>& designs) {
    std::vector<PnrRow> rows(static_cast<size_t>(options_.count));
    std::vector<std::optional<base::Error>> errors(rows.size());
    std::atomic<bool> abandon = false;
    base::ParallelFor(rows.size(), options_.threads, [&](size_t i) {
      if (abandon.load()) return;
      rows[i].design = &designs[i % designs.size()];
      rows[i].placement = static_cast<int64_t>(i / designs.size());
      const auto made = MakeSample(rows[i]);
      if (made.has_value()) return;
      errors[i] = made.error();
      abandon.store(true);
    });
    for (const auto& error : errors) {
      if (error.has_value()) return tl::unexpected(*error);
    }
    return rows;
  }
  int64_t from_cache() const { return from_cache_.load(); }

 private:
  base::Status MakeSample(PnrRow& row) {
    // The placer takes a seed of 31 bits.
    const uint64_t seed = base::DeriveSeed(options_.seed, "placement",
                                           static_cast<uint64_t>(row.placement)) %
                              1'000'000'000 +
                          1;
    const std::string name = PnrRowKey(*row.design, row.placement);
    const std::string key =
        cache_.Key(fmt::format("{}\n{}\n{}", name, seed, row.design->text));
    if (const auto kept = cache_.Find(key)) {
      row.sample = PnrSampleFromJson(*kept);
      from_cache_.fetch_add(1);
    } else {
      SS_TRY(row.sample, PlaceAndRoute(*row.design, name, seed, around_));
      SS_RETURN_IF_ERROR(cache_.Keep(key, ToJson(row.sample)));
    }
    if (!row.sample.def.empty()) {
      SS_RETURN_IF_ERROR(base::WriteFileAtomic(
          JoinPath(options_.out, "def/" + PnrSampleName(row) + ".routed.def.gz"),
          base::Gzip(row.sample.def)));
      row.sample.def.clear();  // a large set need not fit into memory
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    if (progress_) progress_(done_, options_.count);
    return {};
  }

  const PnrOptions& options_;
  const PnrSurroundings& around_;
  const StepCache& cache_;
  const std::function<void(int64_t, int64_t)>& progress_;
  std::atomic<int64_t> from_cache_ = 0;
  std::mutex mutex_;
  int64_t done_ = 0;
};

PnrReport Summarise(const std::vector<PnrRow>& rows, int64_t from_cache) {
  PnrReport report;
  std::set<std::string> designs;
  std::set<std::string> families;
  for (const PnrRow& row : rows) {
    const PnrSample& sample = row.sample;
    designs.insert(row.design->design);
    families.insert(row.design->family);
    report.tiles += sample.tiles;
    report.nets += sample.nets;
    if (sample.status == ToolStatus::kOk && sample.router.failed_nets.value_or(0) > 0) {
      ++report.samples_with_failed_nets;
    }
    std::string name(ToString(sample.status));
    if (!sample.ended_in.empty()) name += " in " + sample.ended_in;
    ++report.outcomes[name];
  }
  report.samples = static_cast<int64_t>(rows.size());
  report.designs = static_cast<int64_t>(designs.size());
  report.families = static_cast<int64_t>(families.size());
  report.from_cache = from_cache;
  return report;
}

base::Status WriteFiles(const PnrOptions& options, const PnrSurroundings& around,
                        const std::vector<PnrRow>& rows, const PnrReport& report) {
  const auto write = [&options](std::string_view name, const std::string& text) {
    return base::WriteFileAtomic(JoinPath(options.out, name), text);
  };
  for (const PnrRow& row : rows) {
    if (row.placement != 0) break;
    SS_RETURN_IF_ERROR(write("verilog/" + row.design->design + ".v", row.design->text));
  }
  const std::string tiles = JoinTables(rows, &PnrSample::tiles_csv, kTilesHeader);
  const std::string nets = JoinTables(rows, &PnrSample::nets_csv, kNetsHeader);
  SS_RETURN_IF_ERROR(write("stages.csv", StagesCsv(rows)));
  SS_RETURN_IF_ERROR(write("dataset.toml", PnrSchema()));
  SS_RETURN_IF_ERROR(
      write("lineage.json", PnrLineage(options, around, tiles, nets, report)));
  SS_RETURN_IF_ERROR(write("nets.csv", nets));
  return write("tiles.csv", tiles);
}

}  // namespace

base::Result<PnrReport> MakePnr(const PnrOptions& options,
                                const std::function<void(int64_t, int64_t)>& progress,
                                const std::atomic<bool>* stop) {
  const std::vector<VerilogDesign> designs =
      options.designs.empty() ? MakeVerilogDesigns(options.seed) : options.designs;
  SS_RETURN_IF_ERROR(CheckOptions(options, designs.size()));
  SS_TRY(const ScratchFolder scratch,
         ScratchFolder::Make(ScratchPath("pnr", options.out)));
  PnrSurroundings around;
  around.folder = scratch.path();
  around.timeout_s = options.timeout_s;
  around.stop = stop;
  around.route_layers = options.route_layers;
  SS_TRY(around.tools, FindTools(options, around.folder));
  SS_TRY(around.technology, FindTechnology(options));
  SS_RETURN_IF_ERROR(base::MakeFolders(JoinPath(options.out, "cache")));
  std::string common = fmt::format("pnr/1\n{}\n{}\n{}\n{}\n", options.route_layers,
                                   around.tools.scripts_digest,
                                   around.technology.digest, options.timeout_s);
  for (const Tool* tool : {&around.tools.yosys, &around.tools.graywolf,
                           &around.tools.qrouter, &around.tools.tclsh}) {
    common += tool->version + tool->digest + "\n";
  }
  const StepCache cache(JoinPath(options.out, "cache"), common);
  PnrMaker maker(options, around, cache, progress);
  SS_TRY(const std::vector<PnrRow> rows, maker.Make(designs));
  const PnrReport report = Summarise(rows, maker.from_cache());
  SS_RETURN_IF_ERROR(WriteFiles(options, around, rows, report));
  return report;
}

}  // namespace stepslack::eda
