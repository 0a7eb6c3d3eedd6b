#include "stepslack/data/array_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

base::Status CheckShapes(const MapCollection& collection) {
  if (collection.maps.empty()) {
    return Fail("DATA-0091", ExitCode::kInput, "there is no map to write", "data",
                "give a collection with maps");
  }
  const WholeMap& first = collection.maps.front();
  for (const WholeMap& map : collection.maps) {
    if (map.height != first.height || map.width != first.width) {
      return Fail("DATA-0092", ExitCode::kInput,
                  fmt::format("{} is {} x {}, {} is {} x {}", first.id, first.height,
                              first.width, map.id, map.height, map.width),
                  "data", "one array holds maps of one size; cut them into tiles");
    }
  }
  return {};
}

base::Status CheckFolder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_empty(path, error)) {
    return Fail("DATA-0090", ExitCode::kUsage, "exists and is not an empty folder",
                path, "name a new folder, so that nothing is overwritten");
  }
  return base::MakeFolders(path);
}

}  // namespace

base::Status WriteArrayFolder(const MapCollection& collection,
                              const std::string& path) {
  SS_RETURN_IF_ERROR(CheckShapes(collection));
  SS_RETURN_IF_ERROR(CheckFolder(path));
  std::vector<float> inputs, targets;
  std::string samples = "id,family,source\n";
  for (const WholeMap& map : collection.maps) {
    for (const auto& plane : map.channels) {
      inputs.insert(inputs.end(), plane.begin(), plane.end());
    }
    targets.insert(targets.end(), map.target.begin(), map.target.end());
    samples += fmt::format("{},{},{}\n", map.id, map.group, map.source);
  }
  std::string channels = "name,unit,categorical\n";
  for (const Channel& channel : collection.channels) {
    channels += fmt::format("{},{},{}\n", channel.name, channel.unit,
                            channel.categorical ? 1 : 0);
  }
  const WholeMap& first = collection.maps.front();
  const auto count = static_cast<int64_t>(collection.maps.size());
  const auto planes = static_cast<int64_t>(collection.channels.size());
  SS_RETURN_IF_ERROR(record::WriteNpy(JoinPath(path, "x.npy"),
                                      {count, planes, first.height, first.width},
                                      inputs.data()));
  SS_RETURN_IF_ERROR(record::WriteNpy(
      JoinPath(path, "y.npy"), {count, first.height, first.width}, targets.data()));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(JoinPath(path, "samples.csv"), samples));
  return base::WriteFileAtomic(JoinPath(path, "channels.csv"), channels);
}

}  // namespace stepslack::data
