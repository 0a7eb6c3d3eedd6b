// One .npz per map: "x" [c,h,w] and "y" [h,w].
#include <fmt/format.h>

#include <map>
#include <optional>

#include "ingest_layout.h"
#include "sample_table.h"
#include "stepslack/base/parallel.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using Arrays = std::map<std::string, record::FloatArray>;

struct Sample {
  std::string file;
  FileRecord record;
  std::optional<WholeMap> map;
  std::optional<base::Error> problem;
};

// "real/a.npz" -> "real/a".
std::string IdOf(const std::string& file) { return file.substr(0, file.size() - 4); }

base::Result<WholeMap> MapFrom(const Arrays& arrays, const std::string& file) {
  const auto x = arrays.find("x");
  const auto y = arrays.find("y");
  if (x == arrays.end() || y == arrays.end()) {
    return Fail("DATA-0040", ExitCode::kInput,
                "the file must hold the arrays \"x\" and \"y\"", file,
                "store the channels as x [c,h,w] and the label as y [h,w]");
  }
  const auto& xs = x->second.shape;
  const auto& ys = y->second.shape;
  if (xs.size() != 3 || ys.size() != 2 || xs[0] <= 0 || xs[1] <= 0 || xs[2] <= 0 ||
      xs[1] != ys[0] || xs[2] != ys[1]) {
    return Fail("DATA-0041", ExitCode::kInput,
                fmt::format("x [{}] and y [{}] do not belong together",
                            fmt::join(xs, ","), fmt::join(ys, ",")),
                file,
                "x must be [c,h,w] and y [h,w] with equal h and w, none of them 0");
  }
  WholeMap map;
  map.id = IdOf(file);
  map.group = map.id;
  map.height = xs[1];
  map.width = xs[2];
  const auto plane = static_cast<int64_t>(xs[1] * xs[2]);
  for (int64_t c = 0; c < xs[0]; ++c) {
    const auto begin = x->second.values.begin() + c * plane;
    map.channels.emplace_back(begin, begin + plane);
  }
  map.target = y->second.values;
  return map;
}

void ReadSample(const FolderListing& listing, Sample& sample) {
  const auto read = [&]() -> base::Result<WholeMap> {
    SS_TRY(const std::string bytes, ReadInput(listing, sample.file, sample.record));
    SS_TRY(const Arrays arrays, record::ParseNpz(bytes, sample.file));
    return MapFrom(arrays, sample.file);
  };
  auto map = read();
  if (map.has_value()) {
    sample.map = std::move(*map);
  } else {
    sample.problem = map.error();
  }
}

// The channel count that most maps have (the smaller one when two are as common).
size_t CommonChannelCount(const std::vector<Sample>& samples) {
  std::map<size_t, int64_t> votes;
  for (const Sample& sample : samples) {
    if (sample.map.has_value()) ++votes[sample.map->channels.size()];
  }
  size_t best = 0;
  int64_t most = 0;
  for (const auto& [count, number] : votes) {
    if (number > most) {
      best = count;
      most = number;
    }
  }
  return best;
}

base::Error OddChannels(const std::string& file, size_t count, size_t expected) {
  return Fail(
             "DATA-0042", ExitCode::kInput,
             fmt::format("the map has {} channels, most maps have {}", count, expected),
             file, "all maps of a folder need the same channels")
      .value();
}

// Groups from a table with a column file or id next to the group column.
std::map<std::string, std::string> GroupsFrom(const std::optional<SampleTable>& table) {
  std::map<std::string, std::string> groups;
  if (!table.has_value()) return groups;
  const auto key = table->Column({"file", "id", "name", "sample"});
  const auto group = table->GroupColumn();
  if (!key.has_value() || !group.has_value()) return groups;
  for (const auto& row : table->rows) {
    const std::string& name = row[*key];
    groups[EndsWith(name, ".npz") ? IdOf(name) : name] =
        GroupName(table->header[*group], row[*group]);
  }
  return groups;
}

void NameMaps(const FolderListing& listing, const std::optional<SampleTable>& table,
              IngestResult& result) {
  const auto groups = GroupsFrom(table);
  int64_t alone = 0;
  for (WholeMap& map : result.collection.maps) {
    const size_t slash = map.id.find('/');
    map.source = slash == std::string::npos ? listing.name : map.id.substr(0, slash);
    const auto found = groups.find(map.id);
    if (found != groups.end() && !found->second.empty()) {
      map.group = found->second;
    } else {
      ++alone;
    }
  }
  if (alone > 0) {
    result.notes.push_back(
        fmt::format("{} maps are in no table of groups (a CSV with the columns file "
                    "and design): each "
                    "counts as a design of its own",
                    alone));
  }
}

}  // namespace

bool LooksLikeSamples(const FolderListing& listing) {
  for (const std::string& file : listing.files) {
    if (!EndsWith(file, ".npz")) continue;
    FileRecord record;
    const auto bytes = ReadInput(listing, file, record);
    if (!bytes.has_value()) continue;
    const auto arrays = record::ParseNpz(*bytes, file);
    if (!arrays.has_value()) continue;
    for (const auto& [name, array] : *arrays) {
      if (array.shape.size() == 4) return false;
    }
    return true;
  }
  return true;  // none is readable: every file will be named as a problem
}

base::Result<IngestResult> IngestSamples(const FolderListing& listing,
                                         const IngestOptions& options) {
  IngestResult result;
  result.layout = "samples";
  std::vector<Sample> samples;
  for (const std::string& file : listing.files) {
    if (EndsWith(file, ".npz")) {
      samples.push_back({file, {}, {}, {}});
    } else if (!EndsWith(file, ".csv") && !EndsWith(file, ".csv.gz")) {
      result.skipped.push_back({file, "neither a .npz nor a table"});
    }
  }
  base::ParallelFor(samples.size(), options.threads,
                    [&](size_t i) { ReadSample(listing, samples[i]); });
  const size_t channels = CommonChannelCount(samples);
  for (Sample& sample : samples) {
    if (!sample.record.file.empty()) result.files.push_back(sample.record);
    if (sample.map.has_value() && sample.map->channels.size() != channels) {
      sample.problem = OddChannels(sample.file, sample.map->channels.size(), channels);
    }
    if (sample.problem.has_value()) {
      result.problems.push_back(*sample.problem);
    } else {
      result.collection.maps.push_back(std::move(*sample.map));
    }
  }
  SS_TRY(const TableSearch tables, FindTables(listing, result));
  auto& names = result.collection.channels;
  SS_TRY(names,
         NameChannels(tables.channels, static_cast<int64_t>(channels), result.notes));
  for (size_t c = 0; c < names.size(); ++c) {
    const double scale = ToOurUnit(names[c]);
    if (scale == 1.0) continue;
    for (WholeMap& map : result.collection.maps) {
      for (float& v : map.channels[c]) {
        v = static_cast<float>(static_cast<double>(v) * scale);
      }
    }
  }
  result.notes.push_back("the target y is taken as mV");
  NameMaps(listing, tables.samples, result);
  return result;
}

}  // namespace stepslack::data
