#include <fmt/format.h>

#include "stepslack/base/text.h"
#include "stepslack/data/audit.h"

namespace stepslack::data {
namespace {

using base::Json;

Json CountsJson(const std::vector<LinkCount>& counts) {
  Json list(Json::Array{});
  for (const LinkCount& count : counts) {
    Json one;
    one.Set("kind", count.label).Set("pairs", count.pairs);
    one.Set("across_groups", count.across_groups);
    one.Set("counts_as_leak", count.leaks);
    list.Append(std::move(one));
  }
  return list;
}

Json PairJson(const LinkedPair& pair) {
  Json one;
  one.Set("kind", Label(pair.kind, pair.channel)).Set("counts_as_leak", pair.leaks);
  one.Set("a", pair.id_a).Set("b", pair.id_b);
  one.Set("group_a", pair.group_a).Set("group_b", pair.group_b);
  if (pair.kind == LinkKind::kNearDuplicate) one.Set("distance", pair.distance);
  Json places(Json::Array{});
  for (const PairPlace& place : pair.places) {
    Json where(Json::Array{});
    where.Append(place.a).Append(place.b);
    places.Append(std::move(where));
  }
  one.Set("partitions_per_fold", std::move(places));
  return one;
}

Json FoldJson(const FoldAudit& fold) {
  Json one;
  one.Set("name", fold.name).Set("train", fold.train);
  one.Set("validation", fold.validation).Set("test", fold.test);
  Json overlap(Json::Array{});
  for (const std::string& group : fold.group_overlap) overlap.Append(group);
  one.Set("group_overlap", std::move(overlap));
  one.Set("leaked_test", static_cast<int64_t>(fold.leaked_test.size()));
  one.Set("leaked_validation", static_cast<int64_t>(fold.leaked_validation.size()));
  Json reasons(Json::Object{});
  for (const auto& [reason, count] : fold.reasons) reasons.Set(reason, count);
  one.Set("leaked_test_by_reason", std::move(reasons));
  return one;
}

}  // namespace

base::Json ToJson(const AuditResult& result) {
  Json json;
  json.Set("maps", result.maps).Set("leak_free", result.leak_free());
  json.Set("leaked_test_rows", result.leaked_test_rows());
  json.Set("link_counts", CountsJson(result.counts));
  json.Set("pairs_total", result.pairs_total);
  json.Set("pairs_listed", static_cast<int64_t>(result.pairs.size()));
  Json near;
  near.Set("pairs_considered", result.near_considered);
  near.Set("pairs_compared_in_full", result.near_compared);
  near.Set("threshold", result.near_threshold);
  json.Set("near_search", std::move(near));
  Json pairs(Json::Array{});
  for (const LinkedPair& pair : result.pairs) pairs.Append(PairJson(pair));
  json.Set("pairs", std::move(pairs));
  Json folds(Json::Array{});
  for (const FoldAudit& fold : result.folds) folds.Append(FoldJson(fold));
  json.Set("folds", std::move(folds));
  return json;
}

std::string Describe(const AuditResult& result) {
  int64_t test = 0;
  for (const FoldAudit& fold : result.folds) test += fold.test;
  std::string text = fmt::format(
      "split audit of {} maps: {}; {} of {} test rows leaked\n", result.maps,
      result.leak_free() ? "no leak found" : "LEAK", result.leaked_test_rows(), test);
  for (const LinkCount& count : result.counts) {
    text +=
        fmt::format("  {}: {} pairs, {} of them across groups{}\n", count.label,
                    count.pairs, count.across_groups,
                    count.leaks ? "" : " (shared by design, not counted as a leak)");
  }
  text += fmt::format(
      "  near duplicates: {} pairs considered, {} compared in full, threshold {}\n",
      result.near_considered, result.near_compared, base::Human(result.near_threshold));
  for (const FoldAudit& fold : result.folds) {
    if (fold.leaked_test.empty() && fold.group_overlap.empty()) continue;
    text += fmt::format(
        "  fold {}: {} of {} test maps leaked, {} groups on two sides\n", fold.name,
        fold.leaked_test.size(), fold.test, fold.group_overlap.size());
    for (const auto& [reason, count] : fold.reasons) {
      text += fmt::format("    {}: {} test maps\n", reason, count);
    }
  }
  return text;
}

}  // namespace stepslack::data
