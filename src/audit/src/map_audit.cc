// The audit of a folder of labelled maps: links of the searches in data/audit.h as
// findings, perceptual hashes, and what a split does with them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit_rows.h"
#include "stepslack/audit/map_hash.h"
#include "stepslack/data/audit.h"

namespace stepslack::audit {
namespace {

using data::MapCollection;

constexpr const char* kNoMetric =
    "a model of maps has to be trained for that: `stepslack review` compares the "
    "splits";

std::string CheckId(const data::LinkCount& count) {
  std::string id;
  switch (count.kind) {
    case data::LinkKind::kExactSample:
      id = "exact_maps";
      break;
    case data::LinkKind::kTransformedSample:
      id = "transformed_maps";
      break;
    case data::LinkKind::kExactChannel:
      id = "exact_channel";
      break;
    case data::LinkKind::kTransformedChannel:
      id = "transformed_channel";
      break;
    case data::LinkKind::kNearDuplicate:
      id = "near_maps";
      break;
  }
  return count.channel.empty() ? id : id + ":" + count.channel;
}

void AddGroups(const MapCollection& maps, const std::set<int64_t>& which,
               Finding& finding) {
  std::set<std::string> groups;
  for (const int64_t map : which) {
    if (groups.size() < kMostExamples) {
      groups.insert(maps.maps[static_cast<size_t>(map)].group);
    }
  }
  finding.groups.assign(groups.begin(), groups.end());
}

// Copies across leakage units are one unit that goes by two names; inside a unit they
// are what a family is.
void AuditLinks(const MapCollection& maps, const data::AuditResult& result,
                DataAudit& audit) {
  std::set<std::string> reported;
  for (const data::LinkCount& count : result.counts) {
    const std::string id = CheckId(count);
    reported.insert(id);
    const std::string reason =
        fmt::format("{}: {} pairs, {} of them of two groups", count.label, count.pairs,
                    count.across_groups);
    const bool whole = count.kind == data::LinkKind::kExactSample ||
                       count.kind == data::LinkKind::kTransformedSample;
    if (count.across_groups == 0 && !whole) {
      Report(audit, id, std::nullopt, reason, audit.rows);
      continue;
    }
    Finding finding;
    finding.kind = count.label;
    finding.leakage_type = leakage::kDuplicates;
    finding.warning = !count.leaks || count.kind == data::LinkKind::kNearDuplicate;
    std::set<int64_t> touched;
    for (const data::LinkedPair& pair : result.pairs) {
      if (pair.kind != count.kind || pair.channel != count.channel) continue;
      if (!whole && pair.group_a == pair.group_b) continue;
      touched.insert({pair.a, pair.b});
      if (finding.examples.size() < kMostExamples) {
        finding.examples.push_back(pair.id_a + " = " + pair.id_b);
      }
    }
    finding.rows = static_cast<int64_t>(touched.size());
    finding.share =
        static_cast<double>(touched.size()) / static_cast<double>(audit.rows);
    finding.share_of = "maps";
    finding.facts = {{"pairs", count.pairs},
                     {"pairs_across_leakage_units", count.across_groups},
                     {"pairs_listed", static_cast<int64_t>(result.pairs.size())}};
    AddGroups(maps, touched, finding);
    finding.metric_reason = kNoMetric;
    finding.text = reason;
    if (!count.leaks && !whole) {
      // Templates, stripes and pads are drawn from few: said, but no fault.
      finding.id = id;
      audit.warnings.push_back(std::move(finding));
      audit.checks.push_back({id, CheckVerdict::kWarning, reason, audit.rows});
      continue;
    }
    Report(audit, id, std::move(finding), reason, audit.rows);
  }
  for (const char* id : {"exact_maps", "transformed_maps", "near_maps"}) {
    if (!reported.contains(id)) {
      Report(audit, id, std::nullopt, fmt::format("none among {} maps", audit.rows),
             audit.rows);
    }
  }
}

void AuditHashes(const MapCollection& maps, DataAudit& audit) {
  const std::string id = "perceptual_hash";
  std::vector<MapHash> hashes;
  int64_t unusable = 0;
  for (const data::WholeMap& map : maps.maps) {
    hashes.push_back(HashMap(map.channels.empty() ? map.target : map.channels.front(),
                             map.height, map.width));
    unusable += !hashes.back().usable;
  }
  Finding finding;
  std::set<int64_t> touched;
  int64_t pairs = 0;
  for (size_t a = 0; a < hashes.size(); ++a) {
    for (size_t b = a + 1; b < hashes.size(); ++b) {
      if (!hashes[a].usable || !hashes[b].usable ||
          maps.maps[a].group == maps.maps[b].group ||
          HashDistance(hashes[a].bits, hashes[b].bits) > kMapHashCut) {
        continue;
      }
      ++pairs;
      touched.insert({static_cast<int64_t>(a), static_cast<int64_t>(b)});
      if (finding.examples.size() < kMostExamples) {
        finding.examples.push_back(
            fmt::format("{} ~ {} ({} of 64 bits)", maps.maps[a].id, maps.maps[b].id,
                        HashDistance(hashes[a].bits, hashes[b].bits)));
      }
    }
  }
  const std::string reason = fmt::format(
      "{} pairs of two groups within {} of 64 bits in {}, whatever flip or turn; {} "
      "maps "
      "without a hash; crops are not recognised",
      pairs, kMapHashCut,
      maps.channels.empty() ? maps.target_name : maps.channels.front().name, unusable);
  if (pairs == 0) return Report(audit, id, std::nullopt, reason, audit.rows);
  finding.kind = "perceptual hash";
  finding.leakage_type = leakage::kDuplicates;
  finding.warning = true;
  finding.rows = static_cast<int64_t>(touched.size());
  finding.share = static_cast<double>(touched.size()) / static_cast<double>(audit.rows);
  finding.share_of = "maps";
  finding.facts = {{"pairs", pairs}};
  AddGroups(maps, touched, finding);
  finding.metric_reason = kNoMetric;
  finding.text = reason;
  Report(audit, id, std::move(finding), reason, audit.rows);
}

data::Split SplitOf(const std::vector<int>& part, const std::string& policy) {
  data::Split split;
  split.policy = policy;
  data::Fold fold;
  fold.name = policy;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == kTrain) fold.train.push_back(static_cast<int64_t>(i));
    if (part[i] == kValidation) fold.validation.push_back(static_cast<int64_t>(i));
    if (part[i] == kTest) fold.test.push_back(static_cast<int64_t>(i));
  }
  split.folds.push_back(std::move(fold));
  return split;
}

// Test maps that share a leaking link with a map of train; whole families are not
// counted, because nobody has asked for that split yet.
std::vector<int64_t> LeakedByLinks(const data::LinkSet& links,
                                   const std::vector<int>& part) {
  std::set<int64_t> leaked;
  const auto is = [&](int64_t map, int which) {
    return part[static_cast<size_t>(map)] == which;
  };
  for (const data::DuplicateCluster& cluster : links.clusters) {
    const bool in_train =
        std::ranges::any_of(cluster.maps, [&](int64_t map) { return is(map, kTrain); });
    if (!cluster.leaks || !in_train) continue;
    for (const int64_t map : cluster.maps) {
      if (is(map, kTest)) leaked.insert(map);
    }
  }
  for (const data::NearPair& pair : links.near.pairs) {
    if (is(pair.a, kTrain) && is(pair.b, kTest)) leaked.insert(pair.b);
    if (is(pair.b, kTrain) && is(pair.a, kTest)) leaked.insert(pair.a);
  }
  return {leaked.begin(), leaked.end()};
}

void AuditFold(const MapCollection& maps, const data::FoldAudit& fold,
               const std::string& id, const std::string& which, DataAudit& audit) {
  const auto test = fold.test;
  const auto leaked = static_cast<int64_t>(fold.leaked_test.size());
  const double share =
      test > 0 ? static_cast<double>(leaked) / static_cast<double>(test) : 0;
  const std::string reason = fmt::format(
      "{} of {} test maps ({:.1f} %) are known from train or validation "
      "under {}; {} groups on both sides",
      leaked, test, 100 * share, which, fold.group_overlap.size());
  if (leaked == 0) return Report(audit, id, std::nullopt, reason, test);
  Finding finding;
  finding.kind = "leaked test maps";
  finding.leakage_type = leakage::kNonIndependence;
  finding.rows = leaked;
  finding.share = share;
  finding.share_of = "test maps";
  for (const auto& [name, count] : fold.reasons) finding.facts[name] = count;
  finding.facts["groups_on_both_sides"] =
      static_cast<int64_t>(fold.group_overlap.size());
  std::set<int64_t> touched(fold.leaked_test.begin(), fold.leaked_test.end());
  AddGroups(maps, touched, finding);
  for (const int64_t map : fold.leaked_test) {
    if (finding.examples.size() >= kMostExamples) break;
    finding.examples.push_back(maps.maps[static_cast<size_t>(map)].id);
  }
  finding.metric_reason = kNoMetric;
  finding.text = reason;
  Report(audit, id, std::move(finding), reason, test);
}

}  // namespace

base::Result<DataAudit> AuditMaps(const MapCollection& maps,
                                  const AuditOptions& options) {
  DataAudit audit;
  audit.kind = "maps";
  audit.rows = static_cast<int64_t>(maps.maps.size());
  std::vector<std::string> names;
  std::set<std::string> groups;
  for (const data::WholeMap& map : maps.maps) {
    names.push_back(map.id);
    groups.insert(map.group);
  }
  audit.groups = static_cast<int64_t>(groups.size());
  audit.group_column = "group";
  audit.label_column = maps.target_name;
  std::vector<int> part;
  std::string id = "leaked_test_maps", which = options.split;
  if (!options.split.empty()) {
    SS_TRY(const data::SplitFile split, data::ReadSplitFile(options.split));
    std::map<int, std::vector<std::string>> foreign;
    SS_TRY(part, PartsOf(names, split, options.split, foreign, audit.notes));
  } else {
    part = RandomParts(audit.rows, options.test_share, options.seed);
    id = "random_split_leak";
    which = fmt::format("a random split with {:.0f} % test (seed {})",
                        100 * options.test_share, options.seed);
  }
  audit.split = options.split.empty() ? "none given" : options.split;
  data::AuditOptions search;
  search.threads = options.threads;
  const data::LinkSet links = data::FindLinks(maps, search);
  data::AuditResult result = data::AuditSplit(maps, links, SplitOf(part, which));
  AuditLinks(maps, result, audit);
  AuditHashes(maps, audit);
  data::FoldAudit& fold = result.folds.front();
  if (options.split.empty()) {
    if (!fold.group_overlap.empty()) {
      audit.notes.push_back(
          fmt::format("a random split would part {} of {} groups: split by group",
                      fold.group_overlap.size(), audit.groups));
    }
    fold.leaked_test = LeakedByLinks(links, part);
    fold.reasons.clear();
  }
  AuditFold(maps, fold, id, which, audit);
  return audit;
}

}  // namespace stepslack::audit
