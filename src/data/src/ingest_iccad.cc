// ICCAD-2023 contest layout: one CSV matrix per quantity, row = x, column = y.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "csv_map.h"
#include "ingest_layout.h"
#include "stepslack/base/parallel.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

enum Role { kCurrent = 0, kClass = 1, kDistance = 2, kDrop = 3, kRoles = 4 };

struct RoleFact {
  std::string_view file_word;
  std::string_view channel;
  std::string_view unit;
  double scale;  // stored unit to ours
  bool categorical;
};

// The order of the first three is the order of the channels.
constexpr std::array<RoleFact, kRoles> kFacts = {{
    {"current", "current", "uA", 1e6, false},
    {"pdn_density", "template", "class", 1.0, true},
    {"eff_dist", "pad_distance", "um", 1.0, false},
    {"ir_drop", "ir_drop", "mV", 1e3, false},
}};

struct Recognised {
  Role role;
  std::string id;
};

// "real/testcase1/current_map.csv.gz" -> (current, "real/testcase1");
// "synthetic/current_map11_eff_dist.csv" -> (distance, "synthetic/current_map11").
std::optional<Recognised> Recognise(std::string_view file) {
  std::string_view path = file;
  if (EndsWith(path, ".gz")) path.remove_suffix(3);
  if (!EndsWith(path, ".csv")) return std::nullopt;
  path.remove_suffix(4);
  if (EndsWith(path, "_map")) path.remove_suffix(4);
  const size_t slash = path.rfind('/');
  const std::string_view folder =
      slash == std::string_view::npos ? "" : path.substr(0, slash);
  const std::string_view stem =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (int role = 0; role < kRoles; ++role) {
    const std::string_view word = kFacts[static_cast<size_t>(role)].file_word;
    if (stem == word) return Recognised{Role(role), std::string(folder)};
    if (stem.size() > word.size() + 1 && EndsWith(stem, word) &&
        stem[stem.size() - word.size() - 1] == '_') {
      path.remove_suffix(word.size() + 1);
      return Recognised{Role(role), std::string(path)};
    }
  }
  return std::nullopt;
}

struct Case {
  std::string id;
  std::array<std::string, kRoles> files;
  std::optional<WholeMap> map;
  std::vector<FileRecord> records;
  std::optional<base::Error> problem;
};

tl::unexpected<base::Error> SameMapTwice(const std::string& first,
                                         const std::string& second) {
  return Fail(
      "DATA-0023", ExitCode::kInput,
      fmt::format("this file and {} are the same quantity of the same map", first),
      second, "keep one of the two");
}

std::string SourceOf(const std::string& id, const FolderListing& listing) {
  const size_t slash = id.find('/');
  return slash == std::string::npos ? listing.name : id.substr(0, slash);
}

base::Result<CsvMap> ReadPlane(const FolderListing& listing, Case& test_case,
                               int role) {
  const std::string& file = test_case.files[static_cast<size_t>(role)];
  const RoleFact& fact = kFacts[static_cast<size_t>(role)];
  if (file.empty()) {
    return Fail("DATA-0020", ExitCode::kInput,
                fmt::format("the map has no {} file", fact.file_word), test_case.id,
                "add the file, or leave the whole map out");
  }
  FileRecord record;
  auto text = ReadInput(listing, file, record);
  if (!record.file.empty()) test_case.records.push_back(record);
  if (!text.has_value()) return tl::unexpected(text.error());
  return ParseCsvMap(*text, file, fact.scale);
}

// `present` tells which quantities any map of the folder has; a map must have all of
// them.
base::Result<WholeMap> ReadCase(const FolderListing& listing,
                                const std::array<bool, kRoles>& present,
                                Case& test_case) {
  WholeMap map;
  map.id = test_case.id.empty() ? listing.name : test_case.id;
  map.group = map.id;
  map.source = SourceOf(test_case.id, listing);
  for (int role = 0; role < kRoles; ++role) {
    if (!present[static_cast<size_t>(role)]) continue;
    SS_TRY(CsvMap plane, ReadPlane(listing, test_case, role));
    if (map.height == 0) {
      map.height = plane.height;
      map.width = plane.width;
    }
    if (plane.height != map.height || plane.width != map.width) {
      return Fail("DATA-0021", ExitCode::kInput,
                  fmt::format("the map is {}x{}, but the current map has {}x{} pixels",
                              plane.height, plane.width, map.height, map.width),
                  test_case.files[static_cast<size_t>(role)],
                  "all files of one map must cover the same area");
    }
    if (role == kDrop) {
      map.target = std::move(plane.values);
    } else {
      map.channels.push_back(std::move(plane.values));
    }
  }
  return map;
}

std::map<std::string, Case> CollectCases(const FolderListing& listing,
                                         IngestResult& result) {
  std::map<std::string, Case> cases;
  for (const std::string& file : listing.files) {
    const auto recognised = Recognise(file);
    if (!recognised.has_value()) {
      const bool spice = file.find(".sp") != std::string::npos;
      result.skipped.push_back(
          {file, spice ? "SPICE netlist, not needed here" : "not a map file"});
      continue;
    }
    Case& test_case = cases[recognised->id];
    test_case.id = recognised->id;
    std::string& slot = test_case.files[static_cast<size_t>(recognised->role)];
    if (slot.empty()) {
      slot = file;
    } else {
      test_case.problem = SameMapTwice(slot, file).value();
    }
  }
  return cases;
}

}  // namespace

bool LooksLikeIccad(const FolderListing& listing) {
  bool current = false;
  bool drop = false;
  for (const std::string& file : listing.files) {
    const auto recognised = Recognise(file);
    if (!recognised.has_value()) continue;
    current = current || recognised->role == kCurrent;
    drop = drop || recognised->role == kDrop;
  }
  return current || drop;
}

base::Result<IngestResult> IngestIccad(const FolderListing& listing,
                                       const IngestOptions& options) {
  IngestResult result;
  result.layout = "iccad";
  std::map<std::string, Case> by_id = CollectCases(listing, result);
  std::array<bool, kRoles> present = {true, false, false, true};
  std::vector<Case*> cases;
  for (auto& [id, test_case] : by_id) {
    for (size_t role = 0; role < kRoles; ++role) {
      present[role] = present[role] || !test_case.files[role].empty();
    }
    cases.push_back(&test_case);
  }
  base::ParallelFor(cases.size(), options.threads, [&](size_t i) {
    Case& test_case = *cases[i];
    if (test_case.problem.has_value()) return;
    auto map = ReadCase(listing, present, test_case);
    if (map.has_value()) {
      test_case.map = std::move(*map);
    } else {
      test_case.problem = map.error();
    }
  });
  for (size_t role = 0; role < kDrop; ++role) {
    if (!present[role]) continue;
    result.collection.channels.push_back({std::string(kFacts[role].channel),
                                          std::string(kFacts[role].unit),
                                          kFacts[role].categorical});
  }
  for (Case* test_case : cases) {
    if (test_case->map.has_value()) {
      result.collection.maps.push_back(std::move(*test_case->map));
    }
    if (test_case->problem.has_value()) result.problems.push_back(*test_case->problem);
    result.files.insert(result.files.end(), test_case->records.begin(),
                        test_case->records.end());
  }
  return result;
}

}  // namespace stepslack::data
