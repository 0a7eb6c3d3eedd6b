#include "stepslack/data/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "stepslack/base/result.h"

namespace stepslack::data {
namespace {

enum Part : uint8_t { kOutside, kTrain, kValidation, kTest };

std::string PartName(Part part) {
  constexpr const char* kNames[] = {"-", "train", "validation", "test"};
  return kNames[part];
}

std::vector<Part> PartsOf(const Fold& fold, size_t maps) {
  std::vector<Part> parts(maps, kOutside);
  const auto mark = [&](const std::vector<int64_t>& list, Part part) {
    for (const int64_t i : list) {
      SS_CHECK(i >= 0 && static_cast<size_t>(i) < maps);
      parts[static_cast<size_t>(i)] = part;
    }
  };
  mark(fold.train, kTrain);
  mark(fold.validation, kValidation);
  mark(fold.test, kTest);
  return parts;
}

// Which maps of one fold are spoiled, gathered link by link.
class LeakCount {
 public:
  LeakCount(std::vector<Part> parts) : parts_(std::move(parts)) {}

  Part part(int64_t map) const { return parts_[static_cast<size_t>(map)]; }

  // All of `maps` know each other.
  void AddSet(const std::vector<int64_t>& maps, const std::string& reason) {
    bool train = false;
    bool validation = false;
    for (const int64_t i : maps) {
      train = train || part(i) == kTrain;
      validation = validation || part(i) == kValidation;
    }
    for (const int64_t i : maps) {
      if (part(i) == kTest && (train || validation)) by_reason_[reason].insert(i);
      if (part(i) == kValidation && train) leaked_validation_.insert(i);
    }
  }

  void Finish(FoldAudit& out) const {
    std::set<int64_t> all;
    for (const auto& [reason, maps] : by_reason_) {
      out.reasons[reason] = static_cast<int64_t>(maps.size());
      all.insert(maps.begin(), maps.end());
    }
    out.leaked_test.assign(all.begin(), all.end());
    out.leaked_validation.assign(leaked_validation_.begin(), leaked_validation_.end());
  }

 private:
  std::vector<Part> parts_;
  std::map<std::string, std::set<int64_t>> by_reason_;
  std::set<int64_t> leaked_validation_;
};

FoldAudit AuditFold(const MapCollection& collection, const LinkSet& links,
                    const Fold& fold) {
  FoldAudit out;
  out.name = fold.name;
  out.train = static_cast<int64_t>(fold.train.size());
  out.validation = static_cast<int64_t>(fold.validation.size());
  out.test = static_cast<int64_t>(fold.test.size());
  LeakCount leaks(PartsOf(fold, collection.maps.size()));
  std::map<std::string, std::vector<int64_t>> groups;
  for (size_t i = 0; i < collection.maps.size(); ++i) {
    groups[collection.maps[i].group].push_back(static_cast<int64_t>(i));
  }
  for (const auto& [group, maps] : groups) {
    std::set<Part> sides;
    for (const int64_t i : maps) {
      if (leaks.part(i) != kOutside) sides.insert(leaks.part(i));
    }
    if (sides.size() > 1) out.group_overlap.push_back(group);
    leaks.AddSet(maps, "same group");
  }
  for (const DuplicateCluster& cluster : links.clusters) {
    if (!cluster.leaks) continue;
    leaks.AddSet(cluster.maps, Label(cluster.kind, cluster.channel));
  }
  for (const NearPair& pair : links.near.pairs) {
    leaks.AddSet({pair.a, pair.b}, Label(LinkKind::kNearDuplicate, ""));
  }
  leaks.Finish(out);
  return out;
}

int64_t PairsIn(int64_t n) { return n * (n - 1) / 2; }

// Pairs of the cluster whose maps differ in variant (transformed kinds) or all pairs
// (exact kinds): all, and those within one group, by counting instead of listing.
struct PairTally {
  int64_t all = 0;
  int64_t same_group = 0;
};

PairTally Tally(const MapCollection& collection, const DuplicateCluster& cluster) {
  std::map<std::string, int64_t> by_group;
  std::map<int, int64_t> by_variant;
  std::map<std::pair<std::string, int>, int64_t> by_both;
  for (size_t k = 0; k < cluster.maps.size(); ++k) {
    const std::string& group = collection.maps[size_t(cluster.maps[k])].group;
    ++by_group[group];
    ++by_variant[cluster.variant[k]];
    ++by_both[{group, cluster.variant[k]}];
  }
  PairTally tally;
  tally.all = PairsIn(static_cast<int64_t>(cluster.maps.size()));
  for (const auto& [group, n] : by_group) tally.same_group += PairsIn(n);
  const bool exact =
      cluster.kind == LinkKind::kExactSample || cluster.kind == LinkKind::kExactChannel;
  if (exact) return tally;
  for (const auto& [variant, n] : by_variant) tally.all -= PairsIn(n);
  for (const auto& [both, n] : by_both) tally.same_group -= PairsIn(n);
  return tally;
}

class PairList {
 public:
  PairList(const MapCollection& collection, int64_t cap)
      : collection_(collection), cap_(cap) {}

  bool full() const { return static_cast<int64_t>(pairs_.size()) >= cap_; }

  void Add(LinkKind kind, const std::string& channel, bool leaks, int64_t a, int64_t b,
           double distance) {
    if (collection_.maps[size_t(b)].id < collection_.maps[size_t(a)].id)
      std::swap(a, b);
    const WholeMap& x = collection_.maps[size_t(a)];
    const WholeMap& y = collection_.maps[size_t(b)];
    pairs_.push_back(
        {kind, channel, leaks, a, b, x.id, y.id, x.group, y.group, distance, {}});
  }

  // Pairs of the cluster that cross groups, or those that do not.
  void AddCluster(const DuplicateCluster& cluster, bool across) {
    const bool exact = cluster.kind == LinkKind::kExactSample ||
                       cluster.kind == LinkKind::kExactChannel;
    for (size_t i = 0; i < cluster.maps.size() && !full(); ++i) {
      for (size_t j = i + 1; j < cluster.maps.size() && !full(); ++j) {
        if (!exact && cluster.variant[i] == cluster.variant[j]) continue;
        if (Crosses(cluster.maps[i], cluster.maps[j]) != across) continue;
        Add(cluster.kind, cluster.channel, cluster.leaks, cluster.maps[i],
            cluster.maps[j], 0.0);
      }
    }
  }

  bool Crosses(int64_t a, int64_t b) const {
    return collection_.maps[size_t(a)].group != collection_.maps[size_t(b)].group;
  }

  std::vector<LinkedPair> Take() { return std::move(pairs_); }

 private:
  const MapCollection& collection_;
  int64_t cap_;
  std::vector<LinkedPair> pairs_;
};

void AddCount(LinkKind kind, const std::string& channel, bool leaks, int64_t pairs,
              int64_t across, std::vector<LinkCount>& counts) {
  const std::string label = Label(kind, channel);
  auto at = std::find_if(counts.begin(), counts.end(),
                         [&](const LinkCount& count) { return count.label == label; });
  if (at == counts.end()) {
    counts.push_back({label, kind, channel, leaks, 0, 0});
    at = counts.end() - 1;
  }
  at->pairs += pairs;
  at->across_groups += across;
}

void CountLinks(const MapCollection& collection, const LinkSet& links,
                std::vector<LinkCount>& counts) {
  for (const DuplicateCluster& cluster : links.clusters) {
    const PairTally tally = Tally(collection, cluster);
    AddCount(cluster.kind, cluster.channel, cluster.leaks, tally.all,
             tally.all - tally.same_group, counts);
  }
  for (const NearPair& pair : links.near.pairs) {
    const bool across =
        collection.maps[size_t(pair.a)].group != collection.maps[size_t(pair.b)].group;
    AddCount(LinkKind::kNearDuplicate, "", true, 1, across ? 1 : 0, counts);
  }
}

// Closest first, so that the cap keeps the most telling ones.
std::vector<NearPair> ByDistance(std::vector<NearPair> pairs) {
  std::stable_sort(
      pairs.begin(), pairs.end(),
      [](const NearPair& x, const NearPair& y) { return x.distance < y.distance; });
  return pairs;
}

std::vector<LinkedPair> ListPairs(const MapCollection& collection, const LinkSet& links,
                                  const std::vector<LinkCount>& counts) {
  std::vector<LinkedPair> out;
  for (const LinkCount& count : counts) {
    PairList list(collection, links.options.max_listed_pairs);
    for (const bool across : {true, false}) {
      if (count.kind == LinkKind::kNearDuplicate) {
        for (const NearPair& pair : ByDistance(links.near.pairs)) {
          if (list.full()) break;
          if (list.Crosses(pair.a, pair.b) != across) continue;
          list.Add(count.kind, "", true, pair.a, pair.b, pair.distance);
        }
        continue;
      }
      for (const DuplicateCluster& cluster : links.clusters) {
        if (cluster.kind != count.kind || cluster.channel != count.channel) continue;
        list.AddCluster(cluster, across);
      }
    }
    auto pairs = list.Take();
    std::move(pairs.begin(), pairs.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace

std::string Label(LinkKind kind, std::string_view channel) {
  switch (kind) {
    case LinkKind::kExactSample:
      return "exact sample";
    case LinkKind::kTransformedSample:
      return "rotated or flipped sample";
    case LinkKind::kExactChannel:
      return "exact channel: " + std::string(channel);
    case LinkKind::kTransformedChannel:
      return "rotated or flipped channel: " + std::string(channel);
    case LinkKind::kNearDuplicate:
      break;
  }
  return "near duplicate";
}

int64_t AuditResult::leaked_test_rows() const {
  int64_t rows = 0;
  for (const FoldAudit& fold : folds) {
    rows += static_cast<int64_t>(fold.leaked_test.size());
  }
  return rows;
}

bool AuditResult::leak_free() const {
  return std::all_of(folds.begin(), folds.end(), [](const FoldAudit& fold) {
    return fold.leaked_test.empty() && fold.group_overlap.empty();
  });
}

AuditResult AuditSplit(const MapCollection& collection, const LinkSet& links,
                       const Split& split) {
  AuditResult result;
  result.maps = static_cast<int64_t>(collection.maps.size());
  result.near_considered = links.near.pairs_considered;
  result.near_compared = links.near.pairs_compared;
  result.near_threshold = links.options.near_threshold;
  CountLinks(collection, links, result.counts);
  for (const LinkCount& count : result.counts) result.pairs_total += count.pairs;
  result.pairs = ListPairs(collection, links, result.counts);
  for (const Fold& fold : split.folds) {
    result.folds.push_back(AuditFold(collection, links, fold));
    const std::vector<Part> parts = PartsOf(fold, collection.maps.size());
    for (LinkedPair& pair : result.pairs) {
      pair.places.push_back(
          {PartName(parts[size_t(pair.a)]), PartName(parts[size_t(pair.b)])});
    }
  }
  return result;
}

AuditResult Audit(const MapCollection& collection, const Split& split,
                  const AuditOptions& options) {
  return AuditSplit(collection, FindLinks(collection, options), split);
}

}  // namespace stepslack::data
