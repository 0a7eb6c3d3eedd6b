// Where a data set came from: one digest per stage, so that two runs can be shown to
// have used the same data, and the stage at which they part can be named.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/data/clean.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/data/split.h"

namespace stepslack::data {

// SHA-256 over id, group, source, shape and all values of a map.
std::string DigestOf(const WholeMap& map);
// Over the channels and the sorted digests of the maps: their order does not matter.
std::string DigestOf(const MapCollection& collection, int threads = 1);
// Over what was kept, what went to quarantine and why, and the rules.
std::string DigestOf(const CleanResult& result, int threads = 1);
// Over the collection and, by map id, the part of every map in every fold: the data set
// tag of everything that is trained on it.
std::string DigestOf(const Split& split, const MapCollection& collection,
                     int threads = 1);
// Over the names and digests of the files that were read.
std::string DigestOf(const std::vector<FileRecord>& files);

struct LineageStage {
  std::string name;  // "ingest", "clean", "unite", "split"
  base::Json parameters;
  std::map<std::string, std::string> inputs;  // name to digest
  std::string output;                         // digest
  std::map<std::string, int64_t> counts;      // "maps", "quarantined", "groups"
};

struct Lineage {
  std::vector<LineageStage> stages;  // in order of execution

  // The stage with that name, or null.
  const LineageStage* Find(std::string_view name) const;
  // Digest of the split stage; "" before there is one.
  std::string dataset_tag() const;
};

base::Json ToJson(const Lineage& lineage);  // schema "stepslack.lineage/1"
std::string Describe(const Lineage& lineage);

}  // namespace stepslack::data
