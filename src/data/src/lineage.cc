#include "stepslack/data/lineage.h"

#include <fmt/format.h>

#include <algorithm>

#include "map_planes.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/parallel.h"

namespace stepslack::data {
namespace {

// Text with its length in front, so that no two field sequences have the same bytes.
void Add(base::Sha256& hash, std::string_view text) {
  hash.Update(fmt::format("{}:", text.size())).Update(text);
}

void Add(base::Sha256& hash, int64_t value) { hash.Update(fmt::format("{};", value)); }

void AddHeader(base::Sha256& hash, const MapCollection& collection) {
  for (const Channel& channel : collection.channels) {
    Add(hash, channel.name);
    Add(hash, channel.unit);
    Add(hash, int64_t{channel.categorical});
  }
  Add(hash, collection.target_name);
  Add(hash, collection.target_unit);
}

}  // namespace

std::string DigestOf(const WholeMap& map) {
  base::Sha256 hash;
  Add(hash, map.id);
  Add(hash, map.group);
  Add(hash, map.source);
  Add(hash, map.height);
  Add(hash, map.width);
  for (const auto* plane : PlanesOf(map)) {
    Add(hash, static_cast<int64_t>(plane->size()));
    hash.Update(plane->data(), plane->size() * sizeof(float));
  }
  return hash.Finish();
}

std::string DigestOf(const MapCollection& collection, int threads) {
  std::vector<std::string> digests(collection.maps.size());
  base::ParallelFor(digests.size(), threads,
                    [&](size_t i) { digests[i] = DigestOf(collection.maps[i]); });
  std::sort(digests.begin(), digests.end());
  base::Sha256 hash;
  Add(hash, "stepslack.maps/1");
  AddHeader(hash, collection);
  for (const std::string& digest : digests) Add(hash, digest);
  return hash.Finish();
}

std::string DigestOf(const CleanResult& result, int threads) {
  std::vector<std::string> quarantined;
  for (const QuarantinedMap& entry : result.quarantined) {
    quarantined.push_back(
        fmt::format("{} {}", DigestOf(entry.map), fmt::join(entry.rules, ",")));
  }
  std::sort(quarantined.begin(), quarantined.end());
  base::Sha256 hash;
  Add(hash, "stepslack.clean/1");
  Add(hash, DigestOf(result.kept, threads));
  for (const std::string& entry : quarantined) Add(hash, entry);
  for (const RuleFinding& rule : result.rules) {
    Add(hash, rule.id);
    Add(hash, rule.description);
    Add(hash, rule.count);
  }
  return hash.Finish();
}

std::string DigestOf(const Split& split, const MapCollection& collection, int threads) {
  base::Sha256 hash;
  Add(hash, "stepslack.split/1");
  Add(hash, DigestOf(collection, threads));
  Add(hash, split.policy);
  Add(hash, fmt::format("{}", split.seed));
  for (const Fold& fold : split.folds) {
    Add(hash, fold.name);
    for (const auto* part : {&fold.train, &fold.validation, &fold.test}) {
      std::vector<std::string> ids;
      for (const int64_t i : *part) ids.push_back(collection.maps[size_t(i)].id);
      std::sort(ids.begin(), ids.end());
      Add(hash, static_cast<int64_t>(ids.size()));
      for (const std::string& id : ids) Add(hash, id);
    }
  }
  return hash.Finish();
}

std::string DigestOf(const std::vector<FileRecord>& files) {
  std::vector<std::string> lines;
  for (const FileRecord& file : files) {
    lines.push_back(fmt::format("{} {}", file.sha256, file.file));
  }
  std::sort(lines.begin(), lines.end());
  base::Sha256 hash;
  Add(hash, "stepslack.files/1");
  for (const std::string& line : lines) Add(hash, line);
  return hash.Finish();
}

const LineageStage* Lineage::Find(std::string_view name) const {
  for (const LineageStage& stage : stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

std::string Lineage::dataset_tag() const {
  const LineageStage* split = Find("split");
  return split == nullptr ? "" : split->output;
}

base::Json ToJson(const Lineage& lineage) {
  base::Json json;
  json.Set("schema", "stepslack.lineage/1").Set("dataset_tag", lineage.dataset_tag());
  base::Json stages(base::Json::Array{});
  for (const LineageStage& stage : lineage.stages) {
    base::Json one;
    one.Set("name", stage.name).Set("parameters", stage.parameters);
    base::Json inputs(base::Json::Object{});
    for (const auto& [name, digest] : stage.inputs) inputs.Set(name, digest);
    one.Set("inputs", std::move(inputs));
    one.Set("output", stage.output);
    base::Json counts(base::Json::Object{});
    for (const auto& [name, count] : stage.counts) counts.Set(name, count);
    one.Set("counts", std::move(counts));
    stages.Append(std::move(one));
  }
  json.Set("stages", std::move(stages));
  return json;
}

std::string Describe(const Lineage& lineage) {
  std::string text;
  for (const LineageStage& stage : lineage.stages) {
    text += fmt::format("{}: {}", stage.name, stage.output.substr(0, 12));
    for (const auto& [name, count] : stage.counts) {
      text += fmt::format(", {} {}", count, name);
    }
    text += "\n";
  }
  return text;
}

}  // namespace stepslack::data
