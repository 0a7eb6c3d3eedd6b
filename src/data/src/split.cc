#include "stepslack/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepslack/base/random.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

// A unit is what must not be divided: a group, or a single map for kRandom.
using Units = std::map<std::string, std::vector<int64_t>>;

Units UnitsOf(const MapCollection& collection, SplitPolicy policy) {
  Units units;
  for (size_t i = 0; i < collection.maps.size(); ++i) {
    const WholeMap& map = collection.maps[i];
    units[policy == SplitPolicy::kRandom ? map.id : map.group].push_back(
        static_cast<int64_t>(i));
  }
  return units;
}

void SortById(const MapCollection& collection, std::vector<int64_t>& maps) {
  std::sort(maps.begin(), maps.end(), [&](int64_t a, int64_t b) {
    return std::tie(collection.maps[size_t(a)].id, a) <
           std::tie(collection.maps[size_t(b)].id, b);
  });
}

void AddUnit(const Units& units, const std::string& name, std::vector<int64_t>& out) {
  const auto& maps = units.at(name);
  out.insert(out.end(), maps.begin(), maps.end());
}

size_t Share(double fraction, size_t count) {
  const auto rounded = std::llround(fraction * static_cast<double>(count));
  return std::max<size_t>(1, static_cast<size_t>(rounded));
}

std::vector<std::string> Shuffled(std::vector<std::string> names, uint64_t seed,
                                  std::string_view purpose) {
  base::Random random(base::DeriveSeed(seed, purpose));
  random.Shuffle(std::span<std::string>(names));
  return names;
}

// The first names go to test, the next to validation, the rest to train.
Fold Deal(const MapCollection& collection, const Units& units,
          const std::vector<std::string>& names, size_t test, size_t validation) {
  Fold fold;
  for (size_t i = 0; i < names.size(); ++i) {
    AddUnit(units, names[i],
            i < test                ? fold.test
            : i < test + validation ? fold.validation
                                    : fold.train);
  }
  for (auto* part : {&fold.train, &fold.validation, &fold.test}) {
    SortById(collection, *part);
  }
  return fold;
}

std::vector<std::string> NamesOf(const Units& units) {
  std::vector<std::string> names;
  for (const auto& [name, maps] : units) names.push_back(name);
  return names;
}

base::Result<std::vector<std::string>> HeldOutGroups(const MapCollection& collection,
                                                     const std::string& source) {
  std::set<std::string> groups;
  std::set<std::string> sources;
  for (const WholeMap& map : collection.maps) {
    sources.insert(map.source);
    if (source.empty() || map.source == source) groups.insert(map.group);
  }
  if (groups.empty()) {
    const std::vector<std::string> known(sources.begin(), sources.end());
    const std::string near = base::DidYouMean(source, known);
    return Fail("DATA-0062", ExitCode::kUsage,
                fmt::format("no map comes from the source \"{}\"", source), "split",
                near.empty() ? fmt::format("sources are: {}", fmt::join(known, ", "))
                             : fmt::format("did you mean \"{}\"?", near));
  }
  return std::vector<std::string>(groups.begin(), groups.end());
}

base::Result<std::vector<Fold>> LeaveOneOut(const MapCollection& collection,
                                            const Units& units,
                                            const SplitOptions& options) {
  SS_TRY(const auto held_out, HeldOutGroups(collection, options.source));
  std::vector<Fold> folds;
  for (const std::string& name : held_out) {
    std::vector<std::string> rest = NamesOf(units);
    std::erase(rest, name);
    // The purpose holds the name: a fold does not depend on which other folds there
    // are.
    rest = Shuffled(std::move(rest), options.seed, "split/" + name);
    const size_t validation =
        std::min(Share(options.validation_fraction, rest.size()), rest.size() - 1);
    rest.insert(rest.begin(), name);
    folds.push_back(Deal(collection, units, rest, 1, validation));
    folds.back().name = name;
  }
  return folds;
}

base::Status CheckFractions(const SplitOptions& options) {
  const double v = options.validation_fraction;
  const double t =
      options.policy == SplitPolicy::kLeaveOneGroupOut ? 0.0 : options.test_fraction;
  if (v >= 0 && t >= 0 && v + t < 1) return {};
  return Fail(
      "DATA-0061", ExitCode::kUsage,
      fmt::format("validation fraction {} and test fraction {} leave nothing to "
                  "train on",
                  v, t),
      "split", "choose fractions of at least 0 with a sum below 1");
}

}  // namespace

std::string_view ToString(SplitPolicy policy) {
  switch (policy) {
    case SplitPolicy::kRandom:
      return "random";
    case SplitPolicy::kLeaveOneGroupOut:
      return "leave_one_group_out";
    case SplitPolicy::kByGroup:
      break;
  }
  return "by_group";
}

base::Result<Split> MakeSplit(const MapCollection& collection,
                              const SplitOptions& options) {
  SS_RETURN_IF_ERROR(CheckFractions(options));
  const Units units = UnitsOf(collection, options.policy);
  const bool random = options.policy == SplitPolicy::kRandom;
  if (units.size() < 3) {
    return Fail(
        "DATA-0060", ExitCode::kInput,
        fmt::format("{} {} can not be divided into training, validation and test",
                    units.size(), random ? "maps" : "groups"),
        "split", "at least three are needed: add data of other designs");
  }
  Split split;
  split.policy = std::string(ToString(options.policy));
  split.seed = options.seed;
  split.validation_fraction = options.validation_fraction;
  if (options.policy == SplitPolicy::kLeaveOneGroupOut) {
    split.source = options.source;
    SS_TRY(split.folds, LeaveOneOut(collection, units, options));
    return split;
  }
  split.test_fraction = options.test_fraction;
  // Each side keeps one unit, whatever the fractions round to.
  const size_t test =
      std::min(Share(options.test_fraction, units.size()), units.size() - 2);
  const size_t validation = std::min(Share(options.validation_fraction, units.size()),
                                     units.size() - 1 - test);
  split.folds.push_back(Deal(collection, units,
                             Shuffled(NamesOf(units), options.seed, "split"), test,
                             validation));
  split.folds.back().name = split.policy;
  return split;
}

base::Json ToJson(const Split& split, const MapCollection& collection) {
  const auto ids = [&](const std::vector<int64_t>& maps) {
    base::Json list(base::Json::Array{});
    for (const int64_t i : maps) list.Append(collection.maps[size_t(i)].id);
    return list;
  };
  base::Json json;
  json.Set("policy", split.policy).Set("seed", split.seed);
  json.Set("validation_fraction", split.validation_fraction);
  json.Set("test_fraction", split.test_fraction).Set("source", split.source);
  base::Json folds(base::Json::Array{});
  for (const Fold& fold : split.folds) {
    base::Json one;
    one.Set("name", fold.name).Set("train", ids(fold.train));
    one.Set("validation", ids(fold.validation)).Set("test", ids(fold.test));
    folds.Append(std::move(one));
  }
  json.Set("folds", std::move(folds));
  return json;
}

std::string Describe(const Split& split, const MapCollection& collection) {
  const auto part = [&](const std::vector<int64_t>& maps) {
    std::set<std::string> groups;
    for (const int64_t i : maps) groups.insert(collection.maps[size_t(i)].group);
    return fmt::format("{} maps of {} groups", maps.size(), groups.size());
  };
  std::string text =
      fmt::format("split {} with seed {}: {} {}\n", split.policy, split.seed,
                  split.folds.size(), split.folds.size() == 1 ? "fold" : "folds");
  for (const Fold& fold : split.folds) {
    text += fmt::format("  {}: train {}, validation {}, test {}\n", fold.name,
                        part(fold.train), part(fold.validation), part(fold.test));
  }
  return text;
}

}  // namespace stepslack::data
