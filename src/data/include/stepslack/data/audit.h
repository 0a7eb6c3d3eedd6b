// Split audit: which maps are copies of each other, in whole or in part, and which test
// rows a model could have known from training or validation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/data/split.h"

namespace stepslack::data {

struct AuditOptions {
  double near_threshold = 0.03;  // relative distance of the 8x8 descriptors
  // Channels whose copy in training makes a test row leaked. Empty: the current channel
  // and the target, which identify a design. Other channels (class template, stripes,
  // pad distance) are shared by design within a floorplan: their copies are reported,
  // not counted as leaks.
  std::vector<std::string> leak_channels = {};
  bool unite_transformed =
      false;  // UniteGroups also merges flipped and turned currents
  int64_t max_listed_pairs = 200;  // per kind and channel; all are counted
  int threads = 1;                 // never changes the result
};

enum class LinkKind {
  kExactSample,        // all channels and the target, bit for bit
  kTransformedSample,  // the same after a flip or turn
  kExactChannel,  // one channel or the target, bit for bit; constant planes are not
                  // compared
  kTransformedChannel,
  kNearDuplicate,  // close descriptors, but not an exact or transformed sample
};

// "exact sample", "rotated or flipped channel: current", "near duplicate".
std::string Label(LinkKind kind, std::string_view channel);

// Maps that are linked by one kind. For the transformed kinds `variant` numbers the
// maps that are bit-identical; only maps of different variants form a pair of that
// kind.
struct DuplicateCluster {
  LinkKind kind = LinkKind::kExactSample;
  std::string channel;        // for the channel kinds; the target goes by its name
  bool leaks = true;          // a copy of this in training spoils a test row
  std::vector<int64_t> maps;  // positions, ascending by map id
  std::vector<int> variant;   // same length
};

struct NearPair {
  int64_t a = 0;
  int64_t b = 0;
  double distance = 0;
};

struct NearDuplicates {
  int64_t pairs_considered = 0;  // n (n - 1) / 2
  int64_t pairs_compared = 0;    // of them not excluded by the lower bound
  std::vector<NearPair> pairs;   // by position
};

// All links of a collection; independent of any split, so that several splits can be
// audited at the price of one search.
struct LinkSet {
  std::vector<DuplicateCluster> clusters;
  NearDuplicates near;
  AuditOptions options;
};

LinkSet FindLinks(const MapCollection& collection, const AuditOptions& options = {});

// Part of a fold that a map is in: "train", "validation", "test", "-".
struct PairPlace {
  std::string a;
  std::string b;
};

struct LinkedPair {
  LinkKind kind = LinkKind::kExactSample;
  std::string channel;
  bool leaks = true;
  int64_t a = 0;  // positions in the collection
  int64_t b = 0;
  std::string id_a;
  std::string id_b;
  std::string group_a;
  std::string group_b;
  double distance = 0;            // near duplicates only
  std::vector<PairPlace> places;  // per fold
};

struct LinkCount {
  std::string label;
  LinkKind kind = LinkKind::kExactSample;
  std::string channel;
  bool leaks = true;
  int64_t pairs = 0;
  int64_t across_groups = 0;  // of them with two groups
};

struct FoldAudit {
  std::string name;
  int64_t train = 0;
  int64_t validation = 0;
  int64_t test = 0;
  std::vector<std::string> group_overlap;  // groups on more than one side
  std::vector<int64_t> leaked_test;        // test maps linked to train or validation
  std::vector<int64_t> leaked_validation;  // validation maps linked to train
  std::map<std::string, int64_t> reasons;  // leaked test maps per reason; a map may
                                           // have several
};

struct AuditResult {
  std::vector<LinkCount> counts;  // kinds that occur
  std::vector<LinkedPair> pairs;  // capped per kind, pairs across groups first
  int64_t pairs_total = 0;
  int64_t near_considered = 0;
  int64_t near_compared = 0;
  double near_threshold = 0;
  int64_t maps = 0;
  std::vector<FoldAudit> folds;

  int64_t leaked_test_rows() const;  // over all folds
  // No group on two sides and no leaked test row in any fold.
  bool leak_free() const;
};

// A leaked test row is a test map whose group is in train or validation, or that shares
// a leaking link with a map there. `split` must be of this collection.
AuditResult AuditSplit(const MapCollection& collection, const LinkSet& links,
                       const Split& split);
AuditResult Audit(const MapCollection& collection, const Split& split,
                  const AuditOptions& options = {});

struct GroupMerge {
  std::string name;                  // "real/testcase1+real/testcase2"
  std::vector<std::string> members;  // sorted
};

// Merges groups that hold a bit-identical current channel (not constant) and renames
// them, so that a later split by group keeps a design together.
std::vector<GroupMerge> UniteGroups(MapCollection& collection,
                                    const AuditOptions& options = {});

base::Json ToJson(const AuditResult& result);
std::string Describe(const AuditResult& result);

}  // namespace stepslack::data
