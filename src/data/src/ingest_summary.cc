#include <fmt/format.h>

#include <set>

#include "stepslack/data/ingest.h"

namespace stepslack::data {

using base::Json;

base::Json ToJson(const IngestResult& result) {
  Json json;
  json.Set("layout", result.layout);
  json.Set("maps", static_cast<int64_t>(result.collection.maps.size()));
  Json channels(Json::Array{});
  for (const Channel& channel : result.collection.channels) {
    Json one;
    one.Set("name", channel.name).Set("unit", channel.unit);
    one.Set("categorical", channel.categorical);
    channels.Append(std::move(one));
  }
  json.Set("channels", std::move(channels));
  Json files(Json::Array{});
  for (const FileRecord& file : result.files) {
    Json one;
    one.Set("file", file.file).Set("sha256", file.sha256).Set("bytes", file.bytes);
    files.Append(std::move(one));
  }
  json.Set("files", std::move(files));
  Json problems(Json::Array{});
  for (const base::Error& problem : result.problems) {
    Json one;
    one.Set("id", problem.id).Set("where", problem.where);
    one.Set("what", problem.what).Set("help", problem.help);
    problems.Append(std::move(one));
  }
  json.Set("problems", std::move(problems));
  Json skipped(Json::Array{});
  for (const SkippedFile& file : result.skipped) {
    Json one;
    one.Set("file", file.file).Set("reason", file.reason);
    skipped.Append(std::move(one));
  }
  json.Set("skipped", std::move(skipped));
  Json suspicions(Json::Array{});
  for (const UnitSuspicion& suspicion : result.suspicions) {
    Json one;
    one.Set("map", suspicion.map_id).Set("plane", suspicion.plane);
    one.Set("mean", suspicion.mean).Set("median_of_source", suspicion.median);
    one.Set("power_of_ten", suspicion.power_of_ten).Set("text", suspicion.text);
    suspicions.Append(std::move(one));
  }
  json.Set("unit_suspicions", std::move(suspicions));
  Json notes(Json::Array{});
  for (const std::string& note : result.notes) notes.Append(note);
  json.Set("notes", std::move(notes));
  return json;
}

std::string Describe(const IngestResult& result) {
  std::set<std::string> sources;
  for (const WholeMap& map : result.collection.maps) sources.insert(map.source);
  std::string text = fmt::format(
      "{} maps from {} files (layout {}, sources: {}); {} maps not readable, {} files "
      "skipped\n",
      result.collection.maps.size(), result.files.size(), result.layout,
      fmt::join(sources, ", "), result.problems.size(), result.skipped.size());
  for (const base::Error& problem : result.problems) {
    text += fmt::format("  left out [{}] {}: {}\n", problem.id, problem.where,
                        problem.what);
  }
  for (const UnitSuspicion& suspicion : result.suspicions) {
    text += fmt::format("  check the unit: {} of {} is {}\n", suspicion.plane,
                        suspicion.map_id, suspicion.text);
  }
  for (const std::string& note : result.notes)
    text += fmt::format("  note: {}\n", note);
  return text;
}

}  // namespace stepslack::data
