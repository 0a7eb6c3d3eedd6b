#include <algorithm>
#include <map>
#include <string>

#include "dihedral.h"
#include "map_planes.h"
#include "near_duplicates.h"
#include "stepslack/base/parallel.h"
#include "stepslack/data/audit.h"

namespace stepslack::data {
namespace {

struct Fingerprint {
  std::string sample;
  std::string sample_invariant;
  std::vector<std::string> plane;  // channels, then target; "" for a constant plane
  std::vector<std::string> plane_invariant;
};

Fingerprint FingerprintOf(const WholeMap& map) {
  Fingerprint out;
  const auto planes = PlanesOf(map);
  out.sample = HashOf(planes, map.height, map.width);
  out.sample_invariant = InvariantHashOf(planes, map.height, map.width);
  for (const auto* plane : planes) {
    const bool constant = IsConstant(*plane);
    out.plane.push_back(constant ? "" : HashOf({plane}, map.height, map.width));
    out.plane_invariant.push_back(
        constant ? "" : InvariantHashOf({plane}, map.height, map.width));
  }
  return out;
}

// Maps with the same key, in order of id; keys that occur once are dropped.
using KeyOf = const std::string& (*)(const Fingerprint&, size_t plane);
std::vector<std::vector<int64_t>> GroupByKey(const std::vector<Fingerprint>& prints,
                                             const std::vector<int64_t>& by_id,
                                             size_t plane, KeyOf key) {
  std::map<std::string, size_t> slot;
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t i : by_id) {
    const std::string& k = key(prints[static_cast<size_t>(i)], plane);
    if (k.empty()) continue;
    const auto [at, fresh] = slot.try_emplace(k, groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

const std::string& SampleKey(const Fingerprint& print, size_t) { return print.sample; }
const std::string& SampleInvariantKey(const Fingerprint& print, size_t) {
  return print.sample_invariant;
}
const std::string& PlaneKey(const Fingerprint& print, size_t plane) {
  return print.plane[plane];
}
const std::string& PlaneInvariantKey(const Fingerprint& print, size_t plane) {
  return print.plane_invariant[plane];
}

// Numbers the bit-identical maps of a group by first occurrence.
std::vector<int> VariantsOf(const std::vector<Fingerprint>& prints,
                            const std::vector<int64_t>& maps, size_t plane, KeyOf key) {
  std::map<std::string, int> number;
  std::vector<int> out;
  for (const int64_t i : maps) {
    const auto next = static_cast<int>(number.size());
    out.push_back(number.try_emplace(key(prints[static_cast<size_t>(i)], plane), next)
                      .first->second);
  }
  return out;
}

bool AllEqual(const std::vector<int>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](int v) { return v == values.front(); });
}

struct PlaneFact {
  std::string name;
  bool leaks = false;
};

std::vector<PlaneFact> PlaneFacts(const MapCollection& collection,
                                  const AuditOptions& options) {
  std::vector<std::string> leaking = options.leak_channels;
  const int current = CurrentChannel(collection.channels);
  if (leaking.empty()) {
    leaking.push_back(collection.target_name);
    if (current >= 0) leaking.push_back(collection.channels[size_t(current)].name);
  }
  std::vector<PlaneFact> facts;
  for (const Channel& channel : collection.channels) facts.push_back({channel.name});
  facts.push_back({collection.target_name});
  for (PlaneFact& fact : facts) {
    fact.leaks = std::find(leaking.begin(), leaking.end(), fact.name) != leaking.end();
  }
  return facts;
}

class ClusterSearch {
 public:
  ClusterSearch(const std::vector<Fingerprint>& prints, std::vector<int64_t> by_id)
      : prints_(prints), by_id_(std::move(by_id)) {}

  std::vector<DuplicateCluster> Find(const std::vector<PlaneFact>& planes) const {
    std::vector<DuplicateCluster> out;
    AddExact(LinkKind::kExactSample, {"", true}, 0, SampleKey, out);
    AddTransformed(LinkKind::kTransformedSample, {"", true}, 0, SampleInvariantKey,
                   SampleKey, out);
    for (size_t p = 0; p < planes.size(); ++p) {
      AddExact(LinkKind::kExactChannel, planes[p], p, PlaneKey, out);
    }
    for (size_t p = 0; p < planes.size(); ++p) {
      AddTransformed(LinkKind::kTransformedChannel, planes[p], p, PlaneInvariantKey,
                     PlaneKey, out);
    }
    return out;
  }

 private:
  void AddExact(LinkKind kind, const PlaneFact& plane, size_t p, KeyOf key,
                std::vector<DuplicateCluster>& out) const {
    for (auto& maps : GroupByKey(prints_, by_id_, p, key)) {
      // Copies of whole samples are listed as such, not once more per channel.
      if (kind == LinkKind::kExactChannel &&
          AllEqual(VariantsOf(prints_, maps, 0, SampleKey))) {
        continue;
      }
      std::vector<int> variant(maps.size(), 0);
      out.push_back(
          {kind, plane.name, plane.leaks, std::move(maps), std::move(variant)});
    }
  }

  void AddTransformed(LinkKind kind, const PlaneFact& plane, size_t p, KeyOf invariant,
                      KeyOf exact, std::vector<DuplicateCluster>& out) const {
    for (auto& maps : GroupByKey(prints_, by_id_, p, invariant)) {
      std::vector<int> variant = VariantsOf(prints_, maps, p, exact);
      if (AllEqual(variant)) continue;
      if (kind == LinkKind::kTransformedChannel &&
          AllEqual(VariantsOf(prints_, maps, 0, SampleInvariantKey))) {
        continue;
      }
      out.push_back(
          {kind, plane.name, plane.leaks, std::move(maps), std::move(variant)});
    }
  }

  const std::vector<Fingerprint>& prints_;
  std::vector<int64_t> by_id_;
};

std::vector<int64_t> OrderById(const MapCollection& collection) {
  std::vector<int64_t> order(collection.maps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return collection.maps[size_t(a)].id < collection.maps[size_t(b)].id;
  });
  return order;
}

}  // namespace

LinkSet FindLinks(const MapCollection& collection, const AuditOptions& options) {
  LinkSet links;
  links.options = options;
  std::vector<Fingerprint> prints(collection.maps.size());
  base::ParallelFor(prints.size(), options.threads,
                    [&](size_t i) { prints[i] = FingerprintOf(collection.maps[i]); });
  links.clusters = ClusterSearch(prints, OrderById(collection))
                       .Find(PlaneFacts(collection, options));
  links.near = FindNearDuplicates(collection, options.near_threshold, options.threads);
  // Exact and transformed samples have their own kinds.
  std::erase_if(links.near.pairs, [&](const NearPair& pair) {
    return prints[size_t(pair.a)].sample_invariant ==
           prints[size_t(pair.b)].sample_invariant;
  });
  return links;
}

}  // namespace stepslack::data
