// The data half of a training job: make or read, clean, divide, write.
#include <fmt/format.h>

#include <set>

#include "data_check.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/data/audit.h"
#include "stepslack/data/clean.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/split.h"
#include "stepslack/data/tiles.h"
#include "stepslack/eda/irdrop_dataset.h"
#include "stepslack/record/mapped_array.h"
#include "stepslack/study/train_job.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;
using base::Json;

constexpr std::string_view kStage = "train-data";

struct Division {
  std::vector<int64_t> train, validation, test;
};

Json IndicesJson(const std::vector<int64_t>& indices) {
  return Json(Json::Array(indices.begin(), indices.end()));
}

std::vector<int64_t> IndicesOf(const Json& json) {
  std::vector<int64_t> indices;
  for (const Json& item : json.AsArray()) indices.push_back(item.AsInt());
  return indices;
}

// A list of the split file: sample numbers, each in range and in one list only.
base::Result<std::vector<int64_t>> ReadPart(const Json& json, const std::string& part,
                                            const std::string& file, int64_t samples,
                                            std::set<int64_t>& seen) {
  std::vector<int64_t> indices;
  for (const Json& item : json[part].AsArray()) {
    const int64_t index = item.AsInt();
    if (!item.is_int() || index < 0 || index >= samples || !seen.insert(index).second) {
      return Fail(
          "STUDY-0021", ExitCode::kInput,
          fmt::format("`{}` in list \"{}\" is no sample number from 0 to {}, or "
                      "stands in two places",
                      item.Dump(-1), part, samples - 1),
          file, "every sample belongs to one of train, validation and test");
    }
    indices.push_back(index);
  }
  return indices;
}

base::Result<Division> ReadDivision(const std::string& file, int64_t samples) {
  SS_TRY(const std::string text, base::ReadFile(file));
  SS_TRY(const Json json, base::ParseJson(text, file));
  Division division;
  std::set<int64_t> seen;
  SS_TRY(division.train, ReadPart(json, "train", file, samples, seen));
  SS_TRY(division.validation, ReadPart(json, "validation", file, samples, seen));
  SS_TRY(division.test, ReadPart(json, "test", file, samples, seen));
  if (division.train.empty() || division.validation.empty()) {
    return Fail("STUDY-0022", ExitCode::kInput,
                "the split file names no training or no validation samples", file,
                "write {\"train\": [0, 1], \"validation\": [2], \"test\": [3]}");
  }
  return division;
}

// Positions in `collection`.
base::Result<Division> Divide(const TrainJob& job,
                              const data::MapCollection& collection) {
  const auto samples = static_cast<int64_t>(collection.maps.size());
  if (job.split.policy == "file") return ReadDivision(job.split.file, samples);
  data::SplitOptions options;
  options.policy = job.split.policy == "random" ? data::SplitPolicy::kRandom
                                                : data::SplitPolicy::kByGroup;
  options.seed = job.split.seed;
  options.validation_fraction = job.split.validation_share;
  options.test_fraction = job.split.test_share;
  SS_TRY(const data::Split split, data::MakeSplit(collection, options));
  const data::Fold& fold = split.folds.front();
  return Division{fold.train, fold.validation, fold.test};
}

int64_t GroupCount(const data::MapCollection& collection) {
  std::set<std::string_view> groups;
  for (const data::WholeMap& map : collection.maps) groups.insert(map.group);
  return static_cast<int64_t>(groups.size());
}

void NoteRandomSplit(const TrainJob& job, PreparedData& prepared) {
  if (job.split.policy != "random") return;
  prepared.notes.push_back(
      "the split is random: samples of one design lie on both sides, so validation "
      "says "
      "nothing about unseen designs");
}

// The dataset tag.
std::string DatasetDigest(const std::string& inputs, const std::string& targets,
                          const record::TrainPlan& plan) {
  Json identity;
  identity.Set("inputs", inputs);
  identity.Set("targets", targets);
  identity.Set("train", IndicesJson(plan.train_indices));
  identity.Set("validation", IndicesJson(plan.validation_indices));
  identity.Set("test", IndicesJson(plan.test_indices));
  return base::Sha256Of(identity.Dump(-1));
}

base::Result<data::MapCollection> MakeOrReadMaps(const TrainJob& job,
                                                 const base::Context& context,
                                                 PreparedData& prepared) {
  if (job.data.source == "embedded") {
    const eda::IrDropOptions options{.seed = job.data.seed,
                                     .families = job.data.families,
                                     .variants = job.data.variants,
                                     .tiles = job.data.tile,
                                     .threads = context.threads};
    const auto draw = [&](int done, int total) {
      context.progress->Update(fmt::format("solved {} of {} maps", done, total),
                               static_cast<double>(done) / total);
    };
    SS_TRY(auto made, eda::MakeIrDropMaps(options, draw, context.stop));
    return std::move(made.first);
  }
  SS_TRY(auto read, data::IngestFolder(job.data.folder, {.threads = context.threads,
                                                         .check_units = true}));
  if (!read.problems.empty()) {
    prepared.notes.push_back(fmt::format("{} maps could not be read, for example: {}",
                                         read.problems.size(),
                                         read.problems.front().what));
  }
  for (const data::UnitSuspicion& suspicion : read.suspicions) {
    prepared.notes.push_back(fmt::format("unit of {} {} looks wrong: {}",
                                         suspicion.map_id, suspicion.plane,
                                         suspicion.text));
  }
  return std::move(read.collection);
}

base::Result<data::MapCollection> CleanMaps(const TrainJob& job,
                                            data::MapCollection maps,
                                            PreparedData& prepared) {
  data::CleanResult cleaned = data::Clean(
      std::move(maps), {.tile = int64_t{job.data.tile} * job.data.downscale});
  if (!cleaned.quarantined.empty()) {
    const auto& first = cleaned.quarantined.front();
    prepared.notes.push_back(fmt::format("{} maps in quarantine, for example {} ({})",
                                         cleaned.quarantined.size(), first.map.id,
                                         fmt::join(first.rules, ", ")));
  }
  if (cleaned.kept.maps.empty()) {
    return Fail("STUDY-0023", ExitCode::kInput, "no map is left after cleaning",
                job.data.folder.empty() ? job.file : job.data.folder,
                "correct the maps, or tile and downscale under [data]");
  }
  data::UniteGroups(cleaned.kept);
  return std::move(cleaned.kept);
}

// Cuts, divides and stores maps; what it returns is enough to fill the plan again.
base::Result<store::StageOutput> StoreMaps(const TrainJob& job, store::Room& room,
                                           const base::Context& context) {
  PreparedData prepared;
  SS_TRY(data::MapCollection maps, MakeOrReadMaps(job, context, prepared));
  SS_TRY(maps, CleanMaps(job, std::move(maps), prepared));
  SS_TRY(const Division division, Divide(job, maps));
  SS_TRY(const data::TileSet tiles,
         data::CutTiles(maps, job.data.tile, job.data.stride, job.data.downscale));
  const std::string x = JoinPath(room.ScratchFolder(), "inputs.npy");
  const std::string y = JoinPath(room.ScratchFolder(), "targets.npy");
  SS_RETURN_IF_ERROR(data::WriteTiles(tiles, x, y));
  store::StageOutput output;
  SS_TRY(output.objects["inputs"], room.PutFile(x));
  SS_TRY(output.objects["targets"], room.PutFile(y));
  Json& value = output.value;
  value.Set("train", IndicesJson(data::TilesOfMaps(tiles, division.train)));
  value.Set("validation", IndicesJson(data::TilesOfMaps(tiles, division.validation)));
  value.Set("test", IndicesJson(data::TilesOfMaps(tiles, division.test)));
  std::vector<int64_t> channels, classes;
  for (const data::CategoricalChannel& found : data::CategoricalChannels(tiles)) {
    channels.push_back(found.channel);
    classes.push_back(found.classes);
  }
  value.Set("categorical_channels", IndicesJson(channels));
  value.Set("category_counts", IndicesJson(classes));
  value.Set("samples", tiles.size());
  value.Set("groups", GroupCount(maps));
  value.Set("notes", Json(Json::Array(prepared.notes.begin(), prepared.notes.end())));
  return output;
}

std::string EmbeddedKey(const TrainJob& job) {
  Json key;
  key.Set("data",
          Json(Json::Array{job.data.seed, job.data.families, job.data.variants,
                           job.data.tile, job.data.stride, job.data.downscale}));
  key.Set("policy", job.split.policy);
  key.Set("split", Json(Json::Array{job.split.seed, job.split.validation_share,
                                    job.split.test_share}));
  return base::Sha256Of(key.Dump(-1));
}

base::Result<store::StageOutput> StoredMaps(const TrainJob& job, store::Room& room,
                                            const base::Context& context) {
  // A folder is read anew each time: its files may have changed.
  if (job.data.source != "embedded" || job.split.policy == "file") {
    return StoreMaps(job, room, context);
  }
  const std::string key = EmbeddedKey(job);
  SS_TRY(const auto found, room.FindStage(kStage, key));
  if (found) return *found;
  const int64_t start_ns = base::NowNs();
  SS_TRY(const store::StageOutput output, StoreMaps(job, room, context));
  const double seconds = static_cast<double>(base::NowNs() - start_ns) * 1e-9;
  SS_RETURN_IF_ERROR(room.SaveStage(kStage, key, output, seconds));
  return output;
}

base::Result<PreparedData> PrepareMaps(TrainJob& job, store::Room& room,
                                       const base::Context& context) {
  SS_TRY(const store::StageOutput output, StoredMaps(job, room, context));
  record::TrainPlan& plan = job.plan;
  plan.inputs_path = room.ObjectPath(output.objects.at("inputs"));
  plan.targets_path = room.ObjectPath(output.objects.at("targets"));
  plan.train_indices = IndicesOf(output.value["train"]);
  plan.validation_indices = IndicesOf(output.value["validation"]);
  plan.test_indices = IndicesOf(output.value["test"]);
  for (const int64_t channel : IndicesOf(output.value["categorical_channels"])) {
    plan.categorical_channels.push_back(static_cast<int>(channel));
  }
  for (const int64_t classes : IndicesOf(output.value["category_counts"])) {
    plan.category_counts.push_back(static_cast<int>(classes));
  }
  PreparedData prepared;
  prepared.samples = output.value["samples"].AsInt();
  prepared.groups = output.value["groups"].AsInt();
  for (const Json& note : output.value["notes"].AsArray()) {
    prepared.notes.push_back(note.AsString());
  }
  prepared.sha256 =
      DatasetDigest(output.objects.at("inputs"), output.objects.at("targets"), plan);
  return prepared;
}

base::Result<int64_t> CountGraphs(const std::string& path) {
  if (path.ends_with(".npz")) {
    SS_TRY(const auto arrays, record::MapNpz(path));
    const auto offsets = arrays.find("node_offset");
    if (offsets != arrays.end() && offsets->second.shape().size() == 1 &&
        offsets->second.shape().front() > 1) {
      return offsets->second.shape().front() - 1;
    }
  }
  return Fail("STUDY-0020", ExitCode::kInput,
              "there is neither a targets array nor a set of graphs", path,
              "set targets under [data], or give an .npz with node_offset");
}

// How many samples the arrays hold: rows of the targets, or graphs.
base::Result<int64_t> CountSamples(const TrainJob& job) {
  const bool graphs = job.data.targets.empty();
  SS_TRY(const auto shards,
         record::ListShards(graphs ? job.data.inputs : job.data.targets,
                            graphs ? ".npz" : ".npy"));
  int64_t samples = 0;
  for (const std::string& shard : shards) {
    if (graphs) {
      SS_TRY(const int64_t count, CountGraphs(shard));
      samples += count;
      continue;
    }
    SS_TRY(const record::MappedArray targets, record::MapNpy(shard));
    samples += targets.shape().empty() ? 0 : targets.shape().front();
  }
  return samples;
}

// Of one file its own digest, of shards that of all of theirs.
base::Result<std::string> DigestOfShards(const std::string& path,
                                         std::string_view extension) {
  SS_TRY(const auto shards, record::ListShards(path, extension));
  if (shards.size() == 1) return base::Sha256OfFile(shards.front());
  std::string digests;
  for (const std::string& shard : shards) {
    SS_TRY(const std::string digest, base::Sha256OfFile(shard));
    digests += digest;
  }
  return base::Sha256Of(digests);
}

// Names only: what MakeSplit needs to know of samples.
base::Result<data::MapCollection> NamesOfSamples(const TrainJob& job, int64_t samples) {
  data::MapCollection names;
  std::vector<std::string> groups;
  if (!job.data.groups.empty()) {
    SS_TRY(const std::string text, base::ReadFile(job.data.groups));
    for (const std::string_view line : base::Split(text, '\n')) {
      const std::string_view name = base::Trim(line);
      if (!name.empty()) groups.emplace_back(name);
    }
    if (static_cast<int64_t>(groups.size()) != samples) {
      return Fail("STUDY-0024", ExitCode::kInput,
                  fmt::format("there are {} group names for {} samples", groups.size(),
                              samples),
                  job.data.groups, "write one group name a line, in sample order");
    }
  } else if (job.split.policy == "by_group") {
    return Fail("STUDY-0025", ExitCode::kUsage,
                "a split by group needs to know the group of every sample", job.file,
                "set groups under [data] (a text file, one design name a sample), or "
                "policy = \"random\" under [split] and read its warning");
  }
  for (int64_t sample = 0; sample < samples; ++sample) {
    data::WholeMap map;
    map.id = fmt::format("{:012}", sample);
    map.group = groups.empty() ? map.id : groups[static_cast<size_t>(sample)];
    names.maps.push_back(std::move(map));
  }
  return names;
}

base::Result<PreparedData> PrepareArrays(TrainJob& job) {
  SS_RETURN_IF_ERROR(CheckArrayShapes(job));
  SS_TRY(const int64_t samples, CountSamples(job));
  SS_TRY(const data::MapCollection names, NamesOfSamples(job, samples));
  SS_TRY(const Division division, Divide(job, names));
  record::TrainPlan& plan = job.plan;
  plan.inputs_path = job.data.inputs;
  plan.targets_path = job.data.targets;
  plan.train_indices = division.train;
  plan.validation_indices = division.validation;
  plan.test_indices = division.test;
  PreparedData prepared;
  prepared.samples = samples;
  prepared.groups = GroupCount(names);
  const bool graphs = job.data.targets.empty();
  SS_TRY(const std::string inputs,
         DigestOfShards(job.data.inputs, graphs ? ".npz" : ".npy"));
  std::string targets;
  if (!graphs) {
    SS_TRY(targets, DigestOfShards(job.data.targets, ".npy"));
  }
  prepared.sha256 = DatasetDigest(inputs, targets, plan);
  return prepared;
}

}  // namespace

base::Result<PreparedData> PrepareTrainData(TrainJob& job, store::Room& room,
                                            const base::Context& context) {
  auto prepared = job.data.source == "arrays" ? PrepareArrays(job)
                                              : PrepareMaps(job, room, context);
  if (!prepared) return prepared;
  SS_RETURN_IF_ERROR(CheckBatch(job));
  NoteRandomSplit(job, *prepared);
  job.plan.dataset_sha256 = prepared->sha256;
  return prepared;
}

}  // namespace stepslack::study
