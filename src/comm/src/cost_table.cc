#include "stepslack/comm/cost_table.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stepslack/base/digest.h"
#include "stepslack/base/process.h"

namespace stepslack::comm {
namespace {

constexpr std::string_view kSchema = "stepslack.comm_table/1";
constexpr size_t kMostCurves = 1000;
constexpr size_t kMostPoints = 10'000;

// Sums of the weighted normal equations: y = alpha + beta x with weight 1 / y^2.
struct Sums {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
};

Sums Weigh(std::span<const CostPoint> points) {
  Sums sums;
  for (const CostPoint& point : points) {
    const auto x = static_cast<double>(point.bytes);
    const double y = point.p10_us;
    const double weight = 1.0 / (y * y);
    sums.w += weight;
    sums.x += weight * x;
    sums.y += weight * y;
    sums.xx += weight * x * x;
    sums.xy += weight * x * y;
  }
  return sums;
}

base::Json ToJson(const CostCurve& curve) {
  base::Json json;
  json.Set("backend", curve.backend);
  json.Set("algorithm", curve.algorithm);
  json.Set("collective", curve.collective);
  base::Json::Array points;
  for (const CostPoint& point : curve.points) {
    base::Json item;
    item.Set("bytes", point.bytes);
    item.Set("min_us", point.min_us);
    item.Set("p10_us", point.p10_us);
    item.Set("median_us", point.median_us);
    points.push_back(std::move(item));
  }
  json.Set("points", std::move(points));
  base::Json fit;
  fit.Set("alpha_us", curve.fit.alpha_us);
  fit.Set("us_per_byte", curve.fit.us_per_byte);
  fit.Set("worst_ratio", curve.fit.worst_ratio);
  json.Set("fit", std::move(fit));
  return json;
}

CostCurve CurveFrom(const base::Json& json) {
  CostCurve curve;
  curve.backend = json["backend"].AsString();
  curve.algorithm = json["algorithm"].AsString();
  curve.collective = json["collective"].AsString();
  for (const base::Json& item : json["points"].AsArray()) {
    if (curve.points.size() == kMostPoints) break;
    const CostPoint point = {item["bytes"].AsInt(), item["min_us"].AsDouble(),
                             item["p10_us"].AsDouble(), item["median_us"].AsDouble()};
    if (point.bytes > 0 && point.p10_us > 0) curve.points.push_back(point);
  }
  curve.fit = FitCost(curve.points);
  return curve;
}

// Of the lines of one backend, one for each algorithm, that with the point whose size
// has the least ratio to `bytes`, and of several the cheapest; null: there is none.
const CostCurve* CurveFor(const CostTable& table, std::string_view backend,
                          int64_t bytes) {
  const CostCurve* nearest = nullptr;
  double least = 0;
  for (const CostCurve& curve : table.curves) {
    if (curve.collective != "all_reduce" || curve.backend != backend) continue;
    for (const CostPoint& point : curve.points) {
      const double distance = std::abs(
          std::log(static_cast<double>(point.bytes) / static_cast<double>(bytes)));
      const bool cheaper = nearest != nullptr && distance == least &&
                           curve.fit.At(bytes) < nearest->fit.At(bytes);
      if (nearest == nullptr || distance < least || cheaper) {
        nearest = &curve;
        least = distance;
      }
    }
  }
  return nearest;
}

}  // namespace

CostFit FitCost(std::span<const CostPoint> points) {
  CostFit fit;
  if (points.empty()) return fit;
  const Sums s = Weigh(points);
  const double determinant = s.w * s.xx - s.x * s.x;
  double alpha = -1;
  double beta = -1;
  if (determinant > 1e-12 * s.w * s.xx) {
    alpha = (s.y * s.xx - s.x * s.xy) / determinant;
    beta = (s.w * s.xy - s.x * s.y) / determinant;
  }
  // The least squares under a bound lie on the bound that is violated.
  if (alpha < 0) {
    alpha = 0;
    beta = s.xx > 0 ? s.xy / s.xx : 0;
  } else if (beta < 0) {
    beta = 0;
    alpha = s.y / s.w;
  }
  fit.alpha_us = alpha;
  fit.us_per_byte = beta;
  for (const CostPoint& point : points) {
    const double ratio = point.p10_us / fit.At(point.bytes);
    fit.worst_ratio = std::max({fit.worst_ratio, ratio, 1.0 / ratio});
  }
  return fit;
}

std::string HardwareTag() {
  const base::Json facts = base::HostFacts();
  base::Json tag;
  tag.Set("cpu_model", facts["cpu_model"]);
  tag.Set("machine", facts["machine"]);
  // Not the cores that this process may use: ranks are pinned to one.
  tag.Set("cores", static_cast<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return base::Sha256Of(tag.Dump(-1)).substr(0, 16);
}

base::Json ToJson(const CostTable& table) {
  base::Json json;
  json.Set("schema", kSchema);
  json.Set("hardware", table.hardware);
  json.Set("measured_utc", table.measured_utc);
  json.Set("ranks", table.ranks);
  base::Json::Array curves;
  for (const CostCurve& curve : table.curves) curves.push_back(ToJson(curve));
  json.Set("curves", std::move(curves));
  return json;
}

base::Result<CostTable> CostTableFromJson(const base::Json& json,
                                          std::string_view name) {
  if (json["schema"].AsString() != kSchema) {
    return base::Fail("COMM-0051", base::ExitCode::kInput,
                      "this is not a table of communication costs of this version",
                      std::string(name),
                      "measure again: stepslack bench comm --room DIR");
  }
  CostTable table;
  table.hardware = json["hardware"].AsString();
  table.measured_utc = json["measured_utc"].AsString();
  table.ranks = static_cast<int>(json["ranks"].AsInt());
  for (const base::Json& curve : json["curves"].AsArray()) {
    if (table.curves.size() == kMostCurves) break;
    table.curves.push_back(CurveFrom(curve));
  }
  return table;
}

std::optional<std::string> CheapestBackend(const CostTable& table, int ranks,
                                           int64_t bytes,
                                           std::span<const std::string> candidates) {
  if (table.ranks != ranks || table.hardware != HardwareTag()) return std::nullopt;
  std::optional<std::string> best;
  double least_us = 0;
  for (const std::string& backend : candidates) {
    const CostCurve* curve = CurveFor(table, backend, bytes);
    if (curve == nullptr) continue;
    const double us = curve->fit.At(bytes);
    if (!best || us < least_us) {
      best = backend;
      least_us = us;
    }
  }
  return best;
}

std::string AllReduceRulesFrom(const CostTable& table, int ranks,
                               std::string_view backend) {
  if (table.ranks != ranks || table.hardware != HardwareTag()) return "";
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  std::map<int64_t, std::pair<double, std::string>> fastest;  // by bytes
  std::set<std::string> compared;
  for (const CostCurve& curve : table.curves) {
    const bool same_bits = curve.algorithm == "doubling" ||
                           curve.algorithm == "halving_doubling" ||
                           (curve.algorithm == "tree" && power_of_two);
    if (curve.collective != "all_reduce" || curve.backend != backend || !same_bits) {
      continue;
    }
    compared.insert(curve.algorithm);
    for (const CostPoint& point : curve.points) {
      const auto [at, is_new] =
          fastest.try_emplace(point.bytes, point.p10_us, curve.algorithm);
      if (!is_new && point.p10_us < at->second.first) {
        at->second = {point.p10_us, curve.algorithm};
      }
    }
  }
  if (compared.size() < 2) return "";
  std::string rules;
  std::string last;
  for (const auto& [bytes, best] : fastest) {
    if (best.second == last) continue;
    rules += rules.empty() ? "0" : "," + std::to_string(bytes);
    rules += ":" + best.second;
    last = best.second;
  }
  return rules;
}

}  // namespace stepslack::comm
