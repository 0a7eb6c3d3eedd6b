#include "stepslack/study/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "command_template.h"
#include "stepslack/base/config.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/study/search.h"

namespace stepslack::study {
namespace {

using base::ConfigTable;
using base::Json;

constexpr int kMostRanks = 65536;
constexpr int64_t kMostSeeds = 1000;
constexpr int64_t kMostTrials = 10000;
constexpr double kMonthSeconds = 31 * 86400.0;
constexpr int kMostGridPoints = 1000;

std::string Beside(const std::string& file, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return base::JoinPath(base::ParentFolder(file), path);
}

// Asks for the value first, so that the key is known to hints when it is absent.
std::optional<double> OptionalDouble(ConfigTable& table, std::string_view key) {
  if (table.Value(key).is_null()) return std::nullopt;
  return table.Double(key, {}, -1e300, 1e300);
}

Settings ReadSettings(ConfigTable& table) {
  Settings settings;
  for (const std::string& key : table.Keys()) {
    const Json value = table.Value(key);
    if (!value.is_string() && !value.is_number() && !value.is_bool()) {
      table.Reject(key,
                   fmt::format("`{}` must be a text, a number, true or false", key),
                   "put keys with dots in quotes: \"train.learning_rate\" = 0.1");
    }
    settings[key] = value;
  }
  return settings;
}

void ReadRun(ConfigTable& table, StudyFile& study) {
  study.train = Beside(study.file, table.String("train", ""));
  study.command = table.String("command", "");
  if (study.train.empty() == study.command.empty()) {
    table.Reject(
        study.train.empty() ? "" : "command",
        "[run] needs one of `train` and `command`",
        "train = \"run.toml\", or command = \"python3 train.py --seed {seed}\"");
  }
  study.slurm = table.Choice("where", "local", {"local", "slurm"}) == "slurm";
  study.slurm_settings.options = table.Strings("slurm_options");
  study.slurm_settings.poll_seconds =
      table.Double("slurm_poll_seconds", study.slurm_settings.poll_seconds, 0.01, 600);
  study.timeout_seconds =
      table.Double("timeout_seconds", study.timeout_seconds, 0.1, kMonthSeconds);
  study.values = ReadSettings(table.Table("values"));
  if (study.slurm && !study.train.empty()) {
    table.Reject("where", "a run.toml is trained on this machine only",
                 "give a command: \"srun stepslack train run.toml --room {out}\"");
  }
}

void ReadObjective(ConfigTable& table, StudyFile& study) {
  StudyObjective& objective = study.objective;
  objective.metric = table.String(
      "metric", study.train.empty() ? std::optional<std::string>() : "relative_mae");
  objective.maximise = table.Choice("goal", "min", {"min", "max"}) == "max";
  objective.target = OptionalDouble(table, "target");
  objective.last = table.Choice("at", "best", {"best", "last"}) == "last";
  objective.log = table.String("log", "");
  objective.pattern = table.String("pattern", "");
  if (objective.pattern.empty()) return;
  try {
    const std::regex pattern(objective.pattern);
    if (pattern.mark_count() != 1) {
      table.Reject("pattern", "the pattern needs one group, around the number",
                   "for example pattern = 'accuracy[:=] *([0-9.e+-]+)'");
    }
  } catch (const std::regex_error& error) {
    table.Reject("pattern", fmt::format("no regular expression: {}", error.what()),
                 "ECMAScript syntax; single quotes keep backslashes");
  }
}

void ReadSeeds(ConfigTable& root, StudyFile& study) {
  std::set<int64_t> seen;
  for (const int64_t seed : root.Ints("seeds", 0, INT64_MAX)) {
    if (!seen.insert(seed).second) {
      root.Reject("seeds", fmt::format("seed {} stands there twice", seed),
                  "equal seeds give equal runs; use other seeds");
    }
    study.seeds.push_back(static_cast<uint64_t>(seed));
  }
  if (study.seeds.size() > kMostSeeds || (root.Has("seeds") && study.seeds.empty())) {
    root.Reject("seeds", fmt::format("needs 1 to {} seeds", kMostSeeds),
                "seeds = [1, 2, 3]");
  }
  // A search tries every configuration with every seed, so it begins with one.
  if (study.seeds.empty()) {
    study.seeds = study.kind == StudyKind::kSweep ? std::vector<uint64_t>{1}
                                                  : std::vector<uint64_t>{1, 2, 3};
  }
}

void ReadScale(ConfigTable& table, StudyFile& study) {
  study.rule = table.Choice("rule", "strong", {"strong", "weak"}) == "weak"
                   ? ScalingRule::kWeak
                   : ScalingRule::kStrong;
  study.batch = table.Int("batch", 0, 0, int64_t{1} << 40);
  const auto workers = table.Ints("workers", 1, kMostRanks);
  std::set<int64_t> seen;
  for (const int64_t ranks : workers) {
    if (!seen.insert(ranks).second) {
      table.Reject("workers", fmt::format("{} stands there twice", ranks),
                   "every number of workers once");
    }
    study.arms.push_back(
        {fmt::format("{} workers", ranks), {}, static_cast<int>(ranks)});
  }
  if (workers.size() < 2) {
    table.Reject("workers", "a scaling study needs two numbers of workers or more",
                 "workers = [1, 2, 4]");
  }
}

void ReadArms(ConfigTable& root, StudyFile& study, int ranks) {
  std::set<std::string> seen;
  for (ConfigTable* table : root.Tables("arm")) {
    StudyArm arm;
    arm.name = table->String("name");
    arm.ranks = static_cast<int>(table->Int("ranks", ranks, 1, kMostRanks));
    arm.values = ReadSettings(table->Table("values"));
    if (!seen.insert(arm.name).second) {
      table->Reject("name", fmt::format("there is another arm `{}`", arm.name),
                    "every arm needs a name of its own");
    }
    study.arms.push_back(std::move(arm));
  }
  if (study.kind == StudyKind::kArms && study.arms.size() < 2) {
    root.Reject("kind", "needs two arms or more",
                "add [[arm]] tables; the first is the "
                "one the others are compared with");
  }
}

SearchDimension ReadDimension(ConfigTable& table, const std::string& key) {
  SearchDimension dimension;
  dimension.key = key;
  const std::string scale = table.Choice(
      "scale", table.Has("values") ? "list" : "linear", {"list", "linear", "log"});
  if (scale == "list") {
    dimension.values = table.Value("values").AsArray();
    if (dimension.values.empty()) {
      table.Reject("values", "a list of at least one value is needed",
                   "values = [0.01, 0.1]");
    }
    return dimension;
  }
  dimension.scale =
      scale == "log" ? SearchDimension::Scale::kLog : SearchDimension::Scale::kLinear;
  const double least = scale == "log" ? 1e-300 : -1e300;
  dimension.low = table.Double("low", {}, least, 1e300);
  dimension.high = table.Double("high", {}, least, 1e300);
  dimension.whole = table.Bool("whole", false);
  dimension.grid = static_cast<int>(table.Int("grid", 3, 2, kMostGridPoints));
  if (!(dimension.low < dimension.high)) {
    table.Reject("high", "must be above `low`", "correct one of the two");
  }
  return dimension;
}

void ReadResource(ConfigTable& table, StudySearch& search) {
  search.resource = table.String("resource");
  search.least_resource = table.Int("least_resource", 1, 1, 1000000000);
  search.most_resource = table.Int("most_resource", {}, 1, 1000000000);
  search.eta = table.Int("eta", 3, 2, 1000);
  if (search.most_resource < search.least_resource) {
    table.Reject("most_resource", "is below least_resource", "correct one of the two");
  }
}

void ReadSweep(ConfigTable& table, StudyFile& study) {
  static const std::vector<std::string> kMethods = {"grid", "random", "bayes", "asha",
                                                    "hyperband"};
  StudySearch& search = study.search;
  const std::string method = table.Choice("method", "grid", kMethods);
  search.method =
      static_cast<SearchMethod>(std::ranges::find(kMethods, method) - kMethods.begin());
  search.trials = static_cast<int>(table.Int("trials", search.trials, 1, kMostTrials));
  search.seed = static_cast<uint64_t>(table.Int("seed", 1, 0, INT64_MAX));
  search.batch = static_cast<int>(table.Int("batch", 1, 1, 1024));
  search.fresh_seeds = static_cast<int>(table.Int("fresh_seeds", 3, 0, kMostSeeds));
  ConfigTable& space = table.Table("space");
  for (const std::string& key : space.Keys()) {
    search.space.push_back(ReadDimension(space.Table(key), key));
  }
  if (search.space.empty()) {
    table.Reject("", "[sweep.space] names nothing to search",
                 "[sweep.space.lr] with low, high and scale, or values");
  }
  if (search.method == SearchMethod::kGrid && GridSize(search.space) > kMostTrials) {
    table.Reject("space", fmt::format("the grid has more than {} points", kMostTrials),
                 "search fewer values, or use method = \"bayes\"");
  }
  if (search.method == SearchMethod::kAsha ||
      search.method == SearchMethod::kHyperband) {
    ReadResource(table, search);
  }
}

void ReadChecks(ConfigTable& table, StudyFile& study) {
  study.check_reproducibility = table.Bool("reproducibility", true);
  study.require_bit_equal = table.Bool("bit_equal", false);
  study.tolerance = table.Double("tolerance", study.tolerance, 0, 10);
  study.expected = OptionalDouble(table, "baseline");
  study.margin = table.Double("margin", study.margin, 0, 10);
}

// Names that the study itself fills in.
const std::set<std::string, std::less<>>& OwnNames() {
  static const std::set<std::string, std::less<>> names = {"ranks", "seed", "batch",
                                                           "out",   "log",  "previous"};
  return names;
}

// Every placeholder has a value in every trial, and every value a placeholder.
void CheckPlaceholders(ConfigTable& run, const StudyFile& study) {
  if (study.command.empty()) return;
  const auto used = Placeholders(study.command);
  if (!used) {
    run.Reject("command", used.error().what, used.error().help);
    return;
  }
  if (const std::string name = QuotedPlaceholder(study.command); !name.empty()) {
    run.Reject(
        "command", fmt::format("{{{}}} stands inside quotes", name),
        "leave the quotes out: values are quoted for the shell where they need it");
  }
  std::set<std::string> known(OwnNames().begin(), OwnNames().end());
  for (const auto& [key, value] : study.values) known.insert(key);
  for (const auto& dimension : study.search.space) known.insert(dimension.key);
  if (!study.search.resource.empty()) known.insert(study.search.resource);
  std::set<std::string> varied;
  for (const StudyArm& arm : study.arms) {
    for (const auto& [key, value] : arm.values) varied.insert(key);
  }
  known.insert(varied.begin(), varied.end());
  for (const std::string& name : *used) {
    if (known.contains(name)) continue;
    run.Reject("command", fmt::format("nothing gives {{{}}} a value", name),
               fmt::format("known: {}; a brace itself is written twice",
                           fmt::join(known, ", ")));
  }
  for (const auto& dimension : study.search.space) varied.insert(dimension.key);
  for (const std::string& name : varied) {
    if (used->contains(name)) continue;
    run.Reject("command", fmt::format("{{{}}} is not in the command", name),
               "the arms would all be the same run; put it where the value belongs");
  }
  if (study.seeds.size() > 1 && !used->contains("seed")) {
    run.Reject("command", "{seed} is not in the command",
               "runs of several seeds would all be the same; add --seed {seed}");
  }
}

}  // namespace

std::string_view ToString(StudyKind kind) {
  switch (kind) {
    case StudyKind::kScale:
      return "scale";
    case StudyKind::kSeeds:
      return "seeds";
    case StudyKind::kSweep:
      return "sweep";
    case StudyKind::kArms:
      return "arms";
  }
  return "seeds";
}

std::string_view ToString(SearchMethod method) {
  switch (method) {
    case SearchMethod::kGrid:
      return "grid";
    case SearchMethod::kRandom:
      return "random";
    case SearchMethod::kBayes:
      return "bayes";
    case SearchMethod::kAsha:
      return "asha";
    case SearchMethod::kHyperband:
      return "hyperband";
  }
  return "grid";
}

base::Result<StudyFile> ParseStudyFile(std::string_view text, const std::string& path) {
  SS_TRY(ConfigTable root, ConfigTable::Parse(text, path));
  StudyFile study;
  study.file = path;
  study.title = root.String("title", base::FileName(path));
  const std::string kind = root.Choice("kind", {}, {"scale", "seeds", "sweep", "arms"});
  study.kind = kind == "scale"   ? StudyKind::kScale
               : kind == "sweep" ? StudyKind::kSweep
               : kind == "arms"  ? StudyKind::kArms
                                 : StudyKind::kSeeds;
  const int ranks = static_cast<int>(root.Int("ranks", 1, 1, kMostRanks));
  ConfigTable& run = root.Table("run");
  ReadRun(run, study);
  ReadObjective(root.Table("objective"), study);
  ReadSeeds(root, study);
  if (study.kind == StudyKind::kScale) ReadScale(root.Table("scale"), study);
  if (study.kind == StudyKind::kArms) ReadArms(root, study, ranks);
  if (study.kind == StudyKind::kSweep) ReadSweep(root.Table("sweep"), study);
  if (study.kind == StudyKind::kSweep || study.kind == StudyKind::kSeeds) {
    study.arms.push_back({"baseline", ReadSettings(root.Table("baseline")), ranks});
  }
  ReadChecks(root.Table("checks"), study);
  CheckPlaceholders(run, study);
  SS_RETURN_IF_ERROR(root.Finish());
  return study;
}

base::Result<StudyFile> ReadStudyFile(const std::string& path) {
  auto text = base::ReadFile(path);
  if (!text) {
    base::Error error = text.error();
    error.exit_code = base::ExitCode::kUsage;
    return tl::unexpected(error);
  }
  SS_TRY(StudyFile study, ParseStudyFile(*text, path));
  if (!study.train.empty()) {
    SS_TRY(study.train_sha256, base::Sha256OfFile(study.train));
  }
  return study;
}

}  // namespace stepslack::study
