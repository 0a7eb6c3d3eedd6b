// ingest -> clean -> split -> audit -> tiles: from a folder or the embedded generator
// to arrays that ranks can read, with the lineage that proves where they came from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage_runner.h"
#include "stepslack/data/audit.h"
#include "stepslack/data/clean.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/lineage.h"
#include "stepslack/data/split.h"
#include "stepslack/data/tiles.h"
#include "stepslack/eda/irdrop_dataset.h"
#include "stepslack/review/review_config.h"

namespace stepslack::review {

struct DataStages {
  data::MapCollection maps;           // cleaned, groups united
  std::vector<base::Error> problems;  // maps that could not be read
  std::vector<data::UnitSuspicion> suspicions;
  std::vector<data::RuleFinding> rules;
  int64_t quarantined = 0;
  std::vector<std::string> notes;
  std::vector<data::GroupMerge> merges;

  data::Split split;  // the one that is trusted
  data::AuditResult audit;
  data::Split naive;  // what a careless split would be
  data::AuditResult naive_audit;

  data::TileSet tiles;
  std::string inputs_path, targets_path;  // objects in the room
  data::Lineage lineage;

  // Embedded data only: how the labels were made.
  std::optional<eda::IrDropOptions> generator;
  std::optional<eda::IrDropReport> generator_report;
};

base::Result<DataStages> RunDataStages(StageRunner& runner, const ReviewConfig& config);

}  // namespace stepslack::review
