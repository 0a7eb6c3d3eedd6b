// One array of inputs [n,c,h,w] with one array of targets [n,h,w].
#include <fmt/format.h>

#include <algorithm>

#include "ingest_layout.h"
#include "sample_table.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using record::FloatArray;

struct NamedArray {
  std::string file;  // "maps.npz" or "x.npy"
  std::string name;  // where its unit may stand: the file name, or the name in the .npz
  FloatArray array;
};

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

// All arrays of the folder with three or four dimensions.
base::Result<std::vector<NamedArray>> ReadArrays(const FolderListing& listing,
                                                 IngestResult& result) {
  std::vector<NamedArray> found;
  for (const std::string& file : listing.files) {
    const bool npy = EndsWith(file, ".npy");
    const bool npz = EndsWith(file, ".npz");
    if (!npy && !npz) {
      if (!EndsWith(file, ".csv") && !EndsWith(file, ".csv.gz")) {
        result.skipped.push_back({file, "neither an array nor a table"});
      }
      continue;
    }
    FileRecord record;
    SS_TRY(const std::string bytes, ReadInput(listing, file, record));
    std::vector<NamedArray> here;
    if (npy) {
      SS_TRY(FloatArray array, record::ParseNpy(bytes, file));
      here.push_back({file, file, std::move(array)});
    } else {
      SS_TRY(auto arrays, record::ParseNpz(bytes, file));
      for (auto& [name, array] : arrays) here.push_back({file, name, std::move(array)});
    }
    const auto used = std::erase_if(here, [](const NamedArray& entry) {
      return entry.array.shape.size() != 3 && entry.array.shape.size() != 4;
    });
    static_cast<void>(used);
    if (here.empty()) {
      result.skipped.push_back({file, "no array with three or four dimensions"});
      continue;
    }
    result.files.push_back(record);
    std::move(here.begin(), here.end(), std::back_inserter(found));
  }
  return found;
}

struct Pair {
  NamedArray inputs;
  NamedArray targets;
};

base::Result<Pair> ChoosePair(std::vector<NamedArray> arrays,
                              const std::string& where) {
  Pair pair;
  int inputs = 0;
  int targets = 0;
  std::string seen;
  for (NamedArray& entry : arrays) {
    const bool is_input = entry.array.shape.size() == 4;
    (is_input ? inputs : targets) += 1;
    seen += fmt::format("{}{} {}", seen.empty() ? "" : ", ", entry.name,
                        ShapeText(entry.array.shape));
    (is_input ? pair.inputs : pair.targets) = std::move(entry);
  }
  if (inputs != 1 || targets != 1) {
    return Fail("DATA-0030", ExitCode::kInput,
                fmt::format("the folder must hold one inputs array [n,c,h,w] and one "
                            "targets array [n,h,w]; found: {}",
                            seen.empty() ? "none" : seen),
                where, "leave exactly these two arrays in the folder");
  }
  const auto& x = pair.inputs.array.shape;
  const auto& y = pair.targets.array.shape;
  const bool empty = std::any_of(x.begin(), x.end(), [](int64_t d) { return d <= 0; });
  if (empty || x[0] != y[0] || x[2] != y[1] || x[3] != y[2]) {
    return Fail("DATA-0031", ExitCode::kInput,
                fmt::format("the inputs {} and the targets {} do not belong together",
                            ShapeText(x), ShapeText(y)),
                pair.targets.file,
                "inputs [n,c,h,w] and targets [n,h,w] need equal n, h and w, none of "
                "them 0");
  }
  return pair;
}

// Multiplies in double so that a converted map equals one stored in our unit.
std::vector<float> ScaledCopy(const float* begin, size_t count, double scale) {
  std::vector<float> out(begin, begin + count);
  if (scale != 1.0) {
    for (float& v : out) v = static_cast<float>(static_cast<double>(v) * scale);
  }
  return out;
}

void CutSamples(const Pair& pair, const std::vector<double>& channel_scale,
                double target_scale, const std::vector<SampleName>& names,
                MapCollection& out) {
  const auto& shape = pair.inputs.array.shape;
  const size_t channels = static_cast<size_t>(shape[1]);
  const size_t plane = static_cast<size_t>(shape[2] * shape[3]);
  for (size_t i = 0; i < names.size(); ++i) {
    WholeMap map;
    map.id = names[i].id;
    map.group = names[i].group;
    map.source = names[i].source;
    map.height = shape[2];
    map.width = shape[3];
    for (size_t c = 0; c < channels; ++c) {
      map.channels.push_back(
          ScaledCopy(pair.inputs.array.values.data() + (i * channels + c) * plane,
                     plane, channel_scale[c]));
    }
    map.target =
        ScaledCopy(pair.targets.array.values.data() + i * plane, plane, target_scale);
    out.maps.push_back(std::move(map));
  }
}

}  // namespace

base::Result<IngestResult> IngestArrays(const FolderListing& listing) {
  IngestResult result;
  result.layout = "arrays";
  SS_TRY(std::vector<NamedArray> arrays, ReadArrays(listing, result));
  SS_TRY(const Pair pair, ChoosePair(std::move(arrays), listing.root));
  SS_TRY(const TableSearch tables, FindTables(listing, result));
  const auto& shape = pair.inputs.array.shape;
  auto& channels = result.collection.channels;
  SS_TRY(channels, NameChannels(tables.channels, shape[1], result.notes));
  std::vector<double> scales;
  for (Channel& channel : channels) scales.push_back(ToOurUnit(channel));
  SS_TRY(const auto names,
         NameSamples(tables.samples, shape[0], listing.name, result.notes));
  const double target_scale = TargetScale(pair.targets.name, result.notes);
  CutSamples(pair, scales, target_scale, names, result.collection);
  return result;
}

}  // namespace stepslack::data
