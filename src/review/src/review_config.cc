#include "stepslack/review/review_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "stepslack/base/config.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/review/metrics.h"

namespace stepslack::review {
namespace {

using base::ConfigTable;

constexpr double kHuge = 1e18;
constexpr double kLargestSeed = 9007199254740992;   // 2^53: every whole number is exact
constexpr int64_t kMostSamples = int64_t{1} << 40;  // as the worker allows

constexpr std::array kRoles = {"training_infra_owner", "cluster_engineer",
                               "ml_platform_lead"};

// "ml_platform_lead" as people write it: "ML platform lead".
std::string RoleName(std::string_view key) {
  if (key == "ml_platform_lead") return "ML platform lead";
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

evidence::Framing ReadFraming(ConfigTable& root) {
  evidence::Framing framing;
  framing.title = root.String("title");
  framing.path = root.String("path");
  ConfigTable& decision = root.Table("decision");
  framing.workflow_decision = decision.String("workflow");
  framing.limits = decision.String("limits");
  ConfigTable& owners = root.Table("owners");
  for (const char* role : kRoles) framing.owners[RoleName(role)] = owners.String(role);
  ConfigTable& rollback = root.Table("rollback");
  framing.rollback_trigger = rollback.String("trigger", "");
  framing.rollback_steps = rollback.Strings("steps");
  return framing;
}

DataConfig ReadData(ConfigTable& table) {
  DataConfig data;
  data.source = table.Choice("source", "embedded", {"embedded", "folder"});
  data.folder = table.String("folder", "");
  if (data.source == "embedded") {
    data.seed = static_cast<uint64_t>(table.Int("seed", 1, 0, INT64_MAX));
    data.families = static_cast<int>(table.Int("families", 256, 3, 100000));
    data.variants = static_cast<int>(table.Int("variants", 4, 1, 1000));
  }
  data.tile = static_cast<int>(table.Int("tile", 64, 16, 512));
  data.stride = static_cast<int>(table.Int("stride", data.tile, 1, 512));
  data.downscale = static_cast<int>(table.Int("downscale", 1, 1, 64));
  return data;
}

SplitConfig ReadSplit(ConfigTable& table) {
  SplitConfig split;
  split.policy =
      table.Choice("policy", "by_group", {"by_group", "leave_one_group_out"});
  split.source = table.String("source", "");
  split.seed = static_cast<uint64_t>(table.Int("seed", 1, 0, INT64_MAX));
  split.test_share = table.Double("test_share", 0.15, 0.01, 0.8);
  split.validation_share = table.Double("validation_share", 0.10, 0.01, 0.8);
  split.min_test_groups = static_cast<int>(table.Int("min_test_groups", 10, 1, 100000));
  if (split.test_share + split.validation_share > 0.9) {
    table.Reject("test_share",
                 "test and validation shares leave less than 10 % to train",
                 "lower test_share or validation_share");
  }
  return split;
}

TrainConfig ReadTrain(ConfigTable& table) {
  TrainConfig train;
  train.ranks = static_cast<int>(table.Int("ranks", 2, 1, 1024));
  train.base_channels = static_cast<int>(table.Int("base_channels", 16, 1, 512));
  train.levels = static_cast<int>(table.Int("levels", 4, 1, 6));
  train.samples = table.Int("samples", 6000, 1, kMostSamples);
  train.global_batch = table.Int("global_batch", 16, 1, 1 << 20);
  train.learning_rate = table.Double("learning_rate", 3e-3, 1e-9, 100);
  train.weight_decay = table.Double("weight_decay", 1e-4, 0, 10);
  train.warmup_samples = table.Int("warmup_samples", 500, 0, kMostSamples);
  train.eval_every_samples = table.Int("eval_every_samples", 1000, 1, kMostSamples);
  train.target_relative_mae = table.Double("target_relative_mae", 0.3, 0, 100);
  train.augment_turns = table.Bool("augment_turns", false);
  for (const double seed : table.Doubles("seeds")) {
    if (!(seed >= 0 && seed <= kLargestSeed && seed == std::floor(seed))) {
      table.Reject("seeds", fmt::format("`{}` is no seed", seed),
                   "seeds are whole numbers from 0 to 9007199254740992");
      return train;
    }
    train.seeds.push_back(static_cast<uint64_t>(seed));
  }
  if (!table.Has("seeds")) train.seeds = {1, 2, 3};
  const std::set<uint64_t> distinct(train.seeds.begin(), train.seeds.end());
  if (distinct.size() != train.seeds.size() || train.seeds.size() < 3) {
    table.Reject("seeds", "at least three different seeds are needed for an interval",
                 "write seeds = [1, 2, 3]");
  }
  return train;
}

StudyConfig ReadStudy(ConfigTable& root, int64_t train_samples) {
  StudyConfig study;
  ConfigTable& tune = root.Table("tune");
  study.tune_learning_rates = tune.Doubles("learning_rates");
  study.tune_samples =
      tune.Int("samples", std::max<int64_t>(1, train_samples / 4), 1, kMostSamples);
  for (const double rate : study.tune_learning_rates) {
    if (!(rate > 0 && rate < 100)) {
      tune.Reject("learning_rates", "a learning rate must lie between 0 and 100",
                  "correct the list");
    }
  }
  ConfigTable& scale = root.Table("scale");
  study.scale_repeats = static_cast<int>(scale.Int("repeats", 3, 2, 100));
  study.scale_steps = scale.Int("steps", 24, 4, 100000);
  study.scale_batch = scale.Int("batch", 16, 1, 1 << 20);
  return study;
}

GatedRequirement ReadRequirement(ConfigTable& table) {
  GatedRequirement gated;
  base::Requirement& requirement = gated.requirement;
  requirement.id = table.String("id");
  requirement.metric = table.String("metric");
  requirement.title = table.String("title", requirement.id);
  requirement.owner =
      RoleName(table.Choice("owner", "", {kRoles.begin(), kRoles.end()}));
  gated.gate = table.Choice("gate", "ship", {"ship", "pilot"});
  const bool least = table.Has("at_least");
  if (least == table.Has("at_most")) {
    table.Reject("id", "a requirement needs exactly one of at_least and at_most",
                 "add at_most = NUMBER or at_least = NUMBER");
  }
  requirement.direction = least ? base::Direction::kAtLeast : base::Direction::kAtMost;
  requirement.bound = table.Double(least ? "at_least" : "at_most", 0.0, -kHuge, kHuge);
  if (const MetricInfo* info = FindMetric(requirement.metric)) {
    requirement.unit = info->unit;
    gated.category = info->category;
  } else {
    std::vector<std::string> names;
    for (const MetricInfo& metric : Metrics()) names.emplace_back(metric.name);
    const std::string near = base::DidYouMean(requirement.metric, names);
    table.Reject("metric", fmt::format("metric `{}` is not known", requirement.metric),
                 near.empty() ? fmt::format("known metrics: {}", fmt::join(names, ", "))
                              : fmt::format("did you mean `{}`?", near));
  }
  return gated;
}

std::string FirstQuality(const std::vector<GatedRequirement>& requirements) {
  for (const GatedRequirement& gated : requirements) {
    if (gated.category == "quality") return gated.requirement.id;
  }
  return requirements.front().requirement.id;
}

}  // namespace

base::Result<ReviewConfig> LoadReviewConfig(const std::string& path) {
  SS_TRY(ConfigTable root, ConfigTable::Load(path));
  SS_TRY(const std::string text, base::ReadFile(path));
  ReviewConfig config;
  config.file = path;
  config.text_sha256 = base::Sha256Of(text);
  config.framing = ReadFraming(root);
  config.baseline_in_production =
      root.Table("decision").Bool("baseline_in_production", false);
  config.primary = root.Table("decision").String("primary", "");
  config.data = ReadData(root.Table("data"));
  config.split = ReadSplit(root.Table("split"));
  config.train = ReadTrain(root.Table("train"));
  config.study = ReadStudy(root, config.train.samples);
  std::set<std::string> ids;
  for (ConfigTable* table : root.Tables("requirement")) {
    config.requirements.push_back(ReadRequirement(*table));
    if (!ids.insert(config.requirements.back().requirement.id).second) {
      table->Reject("id", "two requirements have this id", "give each its own id");
    }
  }
  if (config.primary.empty() && !config.requirements.empty()) {
    config.primary = FirstQuality(config.requirements);
  } else if (!ids.contains(config.primary)) {
    root.Table("decision")
        .Reject("primary",
                fmt::format("no requirement has the id `{}`", config.primary),
                "name one of the [[requirement]] ids");
  }
  if (config.requirements.empty()) {
    root.Reject("requirement", "no requirement is stated: nothing could be decided",
                "add a [[requirement]]");
  }
  const int least = 1 << (config.train.levels - 1);
  if (config.data.tile % least != 0) {
    root.Table("data").Reject(
        "tile",
        fmt::format("a network of {} levels needs a tile that is a multiple of {}",
                    config.train.levels, least),
        "change tile, or levels under [train]");
  }
  SS_RETURN_IF_ERROR(root.Finish());
  return config;
}

}  // namespace stepslack::review
