// A division of rows as a file, and in words.
#include <fmt/format.h>

#include <set>

#include "stepslack/data/row_split.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::data {
namespace {

constexpr const char* kParts[] = {"train", "validation", "test"};

struct PartSize {
  int64_t rows = 0;
  std::set<std::string> groups;
};

std::vector<PartSize> SizesOf(const RowSplit& split) {
  std::vector<PartSize> sizes(3);
  for (size_t i = 0; i < split.items.size(); ++i) {
    PartSize& size = sizes[static_cast<size_t>(split.part[i])];
    ++size.rows;
    size.groups.insert(split.items[i].group);
  }
  return sizes;
}

std::vector<PartSize> FoldsOf(const RowSplit& split) {
  std::vector<PartSize> sizes;
  if (!split.fold.empty()) sizes.resize(static_cast<size_t>(split.options.folds));
  for (size_t i = 0; i < split.fold.size(); ++i) {
    PartSize& size = sizes[static_cast<size_t>(split.fold[i])];
    ++size.rows;
    size.groups.insert(split.items[i].group);
  }
  return sizes;
}

base::Json SizeJson(const PartSize& size) {
  base::Json json;
  json.Set("rows", size.rows).Set("groups", static_cast<int64_t>(size.groups.size()));
  return json;
}

base::Json TextsJson(const std::vector<std::string>& texts) {
  base::Json json{base::Json::Array{}};
  for (const std::string& text : texts) json.Append(text);
  return json;
}

}  // namespace

std::string CsvOf(const RowSplit& split) {
  std::string out = split.fold.empty() ? "id,part\n" : "id,part,fold\n";
  for (size_t i = 0; i < split.items.size(); ++i) {
    AppendCsvCell(split.items[i].id, true, out);
    AppendCsvCell(kParts[split.part[i]], false, out);
    if (!split.fold.empty()) {
      AppendCsvCell(std::to_string(split.fold[i]), false, out);
    }
    out += '\n';
  }
  return out;
}

base::Json SummaryOf(const RowSplit& split) {
  base::Json json;
  json.Set("schema", "stepslack.split/1");
  json.Set("policy", ToString(split.options.policy));
  json.Set("seed", static_cast<int64_t>(split.options.seed));
  json.Set("group", split.options.group).Set("groups", split.groups);
  json.Set("label", split.options.label).Set("time", split.options.time);
  json.Set("rows", static_cast<int64_t>(split.items.size()));
  base::Json sizes;
  const auto parts = SizesOf(split);
  for (size_t part = 0; part < 3; ++part) {
    sizes.Set(kParts[part], SizeJson(parts[part]));
  }
  json.Set("sizes", std::move(sizes));
  base::Json folds{base::Json::Array{}};
  for (const PartSize& size : FoldsOf(split)) folds.Append(SizeJson(size));
  json.Set("fold_sizes", std::move(folds));
  json.Set("warnings", TextsJson(split.warnings));
  json.Set("notes", TextsJson(split.notes));
  return json;
}

base::Json ToJson(const RowSplit& split) {
  base::Json json = SummaryOf(split);
  base::Json::Array lists[3];
  base::Json folds{base::Json::Object{}};
  for (size_t i = 0; i < split.items.size(); ++i) {
    lists[split.part[i]].push_back(split.items[i].id);
    if (!split.fold.empty()) folds.Set(split.items[i].id, split.fold[i]);
  }
  base::Json parts;
  for (size_t part = 0; part < 3; ++part) {
    if (!lists[part].empty()) parts.Set(kParts[part], std::move(lists[part]));
  }
  json.Set("parts", std::move(parts));
  if (!split.fold.empty()) json.Set("folds", std::move(folds));
  return json;
}

std::string Describe(const RowSplit& split) {
  std::string text = fmt::format("{} rows by {}, seed {}: ", split.items.size(),
                                 ToString(split.options.policy), split.options.seed);
  text += split.options.policy == RowPolicy::kTime
              ? "rows of one time stay together\n"
              : fmt::format("{} units that stay together\n", split.groups);
  const auto add = [&](const std::string& name, const PartSize& size) {
    text +=
        fmt::format("  {:<10} {:>9} rows ({:.1f} %), {} groups\n", name, size.rows,
                    100.0 * static_cast<double>(size.rows) /
                        static_cast<double>(std::max<size_t>(1, split.items.size())),
                    size.groups.size());
  };
  const auto folds = FoldsOf(split);
  for (size_t i = 0; i < folds.size(); ++i) add(fmt::format("fold {}", i), folds[i]);
  const auto parts = SizesOf(split);
  for (size_t i = 0; i < 3 && folds.empty(); ++i) add(kParts[i], parts[i]);
  for (const std::string& warning : split.warnings) {
    text += "warning: " + warning + "\n";
  }
  for (const std::string& note : split.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace stepslack::data
