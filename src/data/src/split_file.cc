#include "stepslack/data/split_file.h"

#include <fmt/format.h>

#include <set>

#include "row_reader.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

tl::unexpected<base::Error> NoSplit(const std::string& path) {
  return Fail("DATA-0330", ExitCode::kInput, "the file is no division into parts", path,
              "give a CSV id,part, JSON with parts, or a folder of train*.txt and "
              "test*.txt");
}

base::Result<SplitFile> FromJson(const std::string& path) {
  SS_TRY(const std::string text, base::ReadMaybeGzip(path));
  SS_TRY(const base::Json json, base::ParseJson(text, path));
  if (!json["parts"].is_object()) return NoSplit(path);
  SplitFile split;
  split.policy = json["policy"].AsString();
  split.seed = json["seed"].AsInt();
  for (const auto& [part, ids] : json["parts"].AsObject()) {
    auto& list = split.parts[part];
    for (const auto& id : ids.AsArray()) {
      list.push_back(id.is_string() ? id.AsString() : id.Dump(-1));
    }
  }
  for (const auto& [id, fold] : json["folds"].AsObject()) {
    split.folds[id] = fold.is_string() ? fold.AsString() : fold.Dump(-1);
  }
  return split;
}

base::Result<SplitFile> FromCsv(const std::string& path) {
  SS_TRY(const auto rows, OpenCsvRows(path));
  const auto& names = rows->names();
  if (names.size() < 2 || names.size() > 3 || names[0] != "id" || names[1] != "part" ||
      (names.size() == 3 && names[2] != "fold")) {
    return NoSplit(path);
  }
  SplitFile split;
  std::vector<std::string_view> row;
  while (true) {
    SS_TRY(const bool any, rows->Next(row));
    if (!any) return split;
    split.parts[std::string(row[1])].emplace_back(row[0]);
    if (row.size() == 3) split.folds[std::string(row[0])] = std::string(row[2]);
  }
}

base::Result<SplitFile> FromLists(const std::string& path) {
  SS_TRY(const auto names, base::ListFolder(path));
  SplitFile split;
  for (const std::string& name : names) {
    if (!name.ends_with(".txt") && !name.ends_with(".txt.gz")) continue;
    for (const char* part : {"train", "validation", "test"}) {
      if (!name.starts_with(part)) continue;
      SS_TRY(const auto text, base::ReadMaybeGzip(base::JoinPath(path, name)));
      for (const std::string_view line : base::Split(text, '\n')) {
        const std::string_view id = base::Trim(line);
        if (!id.empty()) split.parts[part].emplace_back(id);
      }
    }
  }
  return split;
}

base::Status Check(const SplitFile& split, const std::string& path) {
  std::set<std::string_view> seen;
  for (const auto& [part, ids] : split.parts) {
    if (part != "train" && part != "validation" && part != "test") {
      return Fail("DATA-0331", ExitCode::kInput,
                  fmt::format("the part \"{}\" is not known", part), path,
                  "parts are train, validation and test");
    }
    for (const std::string& id : ids) {
      if (seen.insert(id).second) continue;
      return Fail("DATA-0332", ExitCode::kInput,
                  fmt::format("the id \"{}\" occurs twice", id), path,
                  "an id belongs to one part, once");
    }
  }
  for (const char* part : {"train", "test"}) {
    const auto found = split.parts.find(part);
    if (found != split.parts.end() && !found->second.empty()) continue;
    return Fail("DATA-0333", ExitCode::kInput,
                fmt::format("the part {} is empty", part), path,
                "put at least one id into it");
  }
  return {};
}

}  // namespace

base::Result<SplitFile> ReadSplitFile(const std::string& path) {
  const bool json = path.ends_with(".json") || path.ends_with(".json.gz");
  SS_TRY(SplitFile split, base::IsFolder(path) ? FromLists(path)
                          : json               ? FromJson(path)
                                               : FromCsv(path));
  SS_RETURN_IF_ERROR(Check(split, path));
  return split;
}

base::Result<SplitFile> DivisionOf(const SplitFile& split, int64_t fold) {
  std::set<int64_t> folds;
  for (const auto& [id, name] : split.folds) {
    const auto number = base::ParseInt(name);
    folds.insert(number.value_or(-1));
  }
  const auto count = static_cast<int64_t>(folds.size());
  const bool whole = count >= 2 && *folds.begin() == 0 && *folds.rbegin() == count - 1;
  if (!whole || fold < 0 || fold >= count) {
    return Fail("DATA-0334", ExitCode::kInput,
                fmt::format("there is no division {} of {} folds", fold, count),
                "folds", "folds are numbered from 0 without a gap; name one of them");
  }
  SplitFile out;
  out.policy = split.policy;
  out.seed = split.seed;
  out.folds = split.folds;
  for (const auto& [part, ids] : split.parts) {
    for (const std::string& id : ids) {
      const auto own = split.folds.find(id);
      if (own == split.folds.end()) continue;
      const int64_t number = base::ParseInt(own->second).value_or(-1);
      const bool next = count >= 3 && number == (fold + 1) % count;
      out.parts[number == fold ? "test" : next ? "validation" : "train"].push_back(id);
    }
  }
  return out;
}

}  // namespace stepslack::data
