#include "stepslack/data/table_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ingest_layout.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::data {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kExamples = 3;

void AddNumbers(const Column& column, int64_t rows, ColumnSummary& out) {
  std::vector<double> values;
  for (int64_t row = 0; row < rows; ++row) {
    if (MissingAt(column, row) != Missing::kPresent) continue;
    values.push_back(column.numbers[static_cast<size_t>(row)]);
  }
  out.low = out.median = out.high = kNaN;
  if (values.empty()) return;
  std::ranges::sort(values);
  out.low = values.front();
  out.median = values[(values.size() - 1) / 2];
  out.high = values.back();
  const auto past = std::unique(values.begin(), values.end());
  out.distinct = past - values.begin();
}

void AddTexts(const Column& column, int64_t rows, ColumnSummary& out) {
  std::vector<int64_t> counts(column.texts.size());
  for (int64_t row = 0; row < rows; ++row) {
    if (MissingAt(column, row) != Missing::kPresent) continue;
    ++counts[column.codes[static_cast<size_t>(row)]];
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) order.push_back(i);
  }
  out.distinct = static_cast<int64_t>(order.size());
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b]
                                  : column.texts[a] < column.texts[b];
  });
  for (size_t i = 0; i < std::min(kExamples, order.size()); ++i) {
    const std::string& text = column.texts[order[i]];
    const bool longer = text.size() > 24;
    out.examples.push_back(fmt::format("{}{} ({})", Shortened(text, 24),
                                       longer ? ".." : "", counts[order[i]]));
  }
}

std::string MissingText(const ColumnSummary& column) {
  std::string text;
  for (const auto& [reason, count] : column.missing) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, ToString(reason));
  }
  return text;
}

base::Json NumberJson(double value) {
  return std::isfinite(value) ? base::Json(value) : base::Json();
}

struct Plane {
  std::string name, unit;
  float low = std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::lowest();
  int64_t not_finite = 0;
  void Add(const std::vector<float>& values) {
    for (const float value : values) {
      if (!std::isfinite(value)) {
        ++not_finite;
        continue;
      }
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
};

std::vector<Plane> PlanesOfAll(const MapCollection& maps) {
  std::vector<Plane> planes;
  for (const Channel& channel : maps.channels) {
    planes.push_back({.name = channel.name, .unit = channel.unit});
  }
  planes.push_back({.name = maps.target_name, .unit = maps.target_unit});
  for (const WholeMap& map : maps.maps) {
    for (size_t c = 0; c < map.channels.size() && c + 1 < planes.size(); ++c) {
      planes[c].Add(map.channels[c]);
    }
    planes.back().Add(map.target);
  }
  return planes;
}

std::map<std::string, int64_t> ShapesOf(const MapCollection& maps) {
  std::map<std::string, int64_t> shapes;
  for (const WholeMap& map : maps.maps) {
    ++shapes[fmt::format("{}x{}", map.height, map.width)];
  }
  return shapes;
}

std::map<std::string, int64_t> GroupsOf(const MapCollection& maps) {
  std::map<std::string, int64_t> groups;
  for (const WholeMap& map : maps.maps) ++groups[map.group];
  return groups;
}

base::Json CountsJson(const std::map<std::string, int64_t>& counts) {
  base::Json json{base::Json::Object{}};
  for (const auto& [name, count] : counts) json.Set(name, count);
  return json;
}

}  // namespace

TableSummary Summarize(const Table& table) {
  TableSummary out;
  out.source = table.source;
  out.rows = table.rows;
  out.notes = table.notes;
  for (const Column& column : table.columns) {
    ColumnSummary& one = out.columns.emplace_back();
    one.name = column.name;
    one.unit = column.unit;
    one.role = column.role;
    one.kind = column.kind;
    for (int64_t row = 0; row < table.rows; ++row) {
      const Missing missing = MissingAt(column, row);
      if (missing == Missing::kPresent) {
        ++one.present;
      } else {
        ++one.missing[missing];
      }
    }
    if (column.kind == ColumnKind::kNumber) {
      AddNumbers(column, table.rows, one);
    } else {
      AddTexts(column, table.rows, one);
    }
  }
  return out;
}

base::Json ToJson(const TableSummary& summary) {
  base::Json columns{base::Json::Array{}};
  for (const ColumnSummary& column : summary.columns) {
    base::Json one;
    one.Set("name", column.name).Set("unit", column.unit);
    one.Set("role", ToString(column.role));
    const bool number = column.kind == ColumnKind::kNumber;
    one.Set("kind", number ? "number" : "text");
    one.Set("present", column.present).Set("distinct", column.distinct);
    base::Json missing{base::Json::Object{}};
    for (const auto& [reason, count] : column.missing) {
      missing.Set(ToString(reason), count);
    }
    one.Set("missing", std::move(missing));
    if (number) {
      one.Set("low", NumberJson(column.low)).Set("median", NumberJson(column.median));
      one.Set("high", NumberJson(column.high));
    } else {
      base::Json examples{base::Json::Array{}};
      for (const std::string& text : column.examples) examples.Append(text);
      one.Set("examples", std::move(examples));
    }
    columns.Append(std::move(one));
  }
  base::Json notes{base::Json::Array{}};
  for (const std::string& note : summary.notes) notes.Append(note);
  base::Json json;
  json.Set("schema", "stepslack.data_show/1").Set("kind", "table");
  json.Set("source", summary.source).Set("rows", summary.rows);
  json.Set("columns", std::move(columns));
  json.Set("notes", std::move(notes));
  return json;
}

std::string Describe(const TableSummary& summary) {
  std::string text = fmt::format("{}: {} rows, {} columns\n", summary.source,
                                 summary.rows, summary.columns.size());
  for (const ColumnSummary& column : summary.columns) {
    const std::string name = column.unit.empty()
                                 ? column.name
                                 : fmt::format("{} [{}]", column.name, column.unit);
    text += fmt::format("  {:<28} {:<8} ", name, ToString(column.role));
    if (column.kind == ColumnKind::kText) {
      text += fmt::format("{} texts: {}", column.distinct,
                          fmt::join(column.examples, ", "));
    } else if (column.present == 0) {
      text += "no value";
    } else {
      text += fmt::format("{} .. {} .. {}", base::Human(column.low),
                          base::Human(column.median), base::Human(column.high));
    }
    const std::string missing = MissingText(column);
    text += (missing.empty() ? "" : "; missing: " + missing) + "\n";
  }
  for (const std::string& note : summary.notes) text += "note: " + note + "\n";
  return text;
}

base::Json MapSummaryJson(const IngestResult& maps) {
  base::Json json;
  json.Set("schema", "stepslack.data_show/1").Set("kind", "maps");
  json.Set("maps", static_cast<int64_t>(maps.collection.maps.size()));
  json.Set("shapes", CountsJson(ShapesOf(maps.collection)));
  json.Set("groups", CountsJson(GroupsOf(maps.collection)));
  base::Json planes{base::Json::Array{}};
  for (const Plane& plane : PlanesOfAll(maps.collection)) {
    base::Json one;
    one.Set("name", plane.name).Set("unit", plane.unit);
    const bool any = plane.low <= plane.high;
    one.Set("low", any ? base::Json(double{plane.low}) : base::Json());
    one.Set("high", any ? base::Json(double{plane.high}) : base::Json());
    one.Set("not_finite", plane.not_finite);
    planes.Append(std::move(one));
  }
  json.Set("planes", std::move(planes));
  json.Set("read", ToJson(maps));
  return json;
}

std::string DescribeMaps(const IngestResult& maps) {
  std::string text = Describe(maps);
  for (const auto& [shape, count] : ShapesOf(maps.collection)) {
    text += fmt::format("  {} maps of {}\n", count, shape);
  }
  for (const Plane& plane : PlanesOfAll(maps.collection)) {
    text += fmt::format("  {} [{}]: {} .. {}, {} values not finite\n", plane.name,
                        plane.unit, plane.low, plane.high, plane.not_finite);
  }
  const auto groups = GroupsOf(maps.collection);
  text += fmt::format("  {} groups\n", groups.size());
  return text;
}

base::Result<bool> HoldsMaps(const std::string& path) {
  if (!base::IsFolder(path)) return false;
  if (base::PathExists(base::JoinPath(path, "dataset.toml"))) return false;
  SS_TRY(const FolderListing listing, ListInputs(path));
  return LooksLikeIccad(listing) ||
         std::ranges::any_of(listing.files, [](const std::string& file) {
           return EndsWith(file, ".npy") || EndsWith(file, ".npz");
         });
}

}  // namespace stepslack::data
