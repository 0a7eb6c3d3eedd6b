#include "stepslack/analyze/hang_analysis.h"

namespace stepslack::analyze {
namespace {

base::Json RanksToJson(const std::vector<int32_t>& ranks) {
  return base::Json(base::Json::Array(ranks.begin(), ranks.end()));
}

base::Json FindingToJson(const HangFinding& finding) {
  base::Json json;
  json.Set("kind", ToString(finding.kind));
  json.Set("group", finding.group);
  json.Set("group_description", finding.group_description);
  json.Set("sequence",
           finding.sequence < 0 ? base::Json() : base::Json(finding.sequence));
  json.Set("is_p2p", finding.is_p2p);
  json.Set("operation", finding.operation);
  json.Set("sizes", finding.sizes);
  json.Set("dtypes", finding.dtypes);
  json.Set("ranks", RanksToJson(finding.ranks));
  json.Set("others", RanksToJson(finding.others));
  json.Set("unknown", RanksToJson(finding.unknown));
  json.Set("since_ns", finding.since_ns);
  json.Set("root", finding.root);
  json.Set("evidence", finding.evidence);
  return json;
}

}  // namespace

std::string_view ToString(HangKind kind) {
  switch (kind) {
    case HangKind::kMissingRank:
      return "missing_rank";
    case HangKind::kOrderMismatch:
      return "order_mismatch";
    case HangKind::kSizeMismatch:
      return "size_mismatch";
    case HangKind::kDtypeMismatch:
      return "dtype_mismatch";
    case HangKind::kNotCompleted:
      return "not_completed";
    case HangKind::kCircularWait:
      break;
  }
  return "circular_wait";
}

std::string_view ToString(HangVerdict verdict) {
  switch (verdict) {
    case HangVerdict::kNoHang:
      return "no_hang";
    case HangVerdict::kFound:
      return "found";
    case HangVerdict::kUndetermined:
      break;
  }
  return "undetermined";
}

base::Json ToJson(const HangAnalysis& analysis) {
  base::Json json;
  json.Set("verdict", ToString(analysis.verdict));
  json.Set("culprits", RanksToJson(analysis.culprits));
  json.Set("suspects", RanksToJson(analysis.suspects));
  json.Set("victims", RanksToJson(analysis.victims));
  json.Set("reason", analysis.reason);
  json.Set("dumps", analysis.dumps);
  json.Set("missing_dumps", RanksToJson(analysis.missing_dumps));
  base::Json::Array findings;
  for (const HangFinding& finding : analysis.findings) {
    findings.push_back(FindingToJson(finding));
  }
  json.Set("findings", std::move(findings));
  return json;
}

}  // namespace stepslack::analyze
