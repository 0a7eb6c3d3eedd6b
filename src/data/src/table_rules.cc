// Rules files, and what cleaning found in words.
#include <fmt/format.h>

#include <limits>
#include <set>

#include "stepslack/base/config.h"
#include "stepslack/data/table_clean.h"

namespace stepslack::data {

constexpr double kBound = std::numeric_limits<double>::max();

base::Result<std::vector<TableRule>> ParseRules(std::string_view text,
                                                std::string_view name) {
  SS_TRY(base::ConfigTable config, base::ConfigTable::Parse(text, name));
  std::vector<TableRule> rules;
  std::string problem;
  std::set<std::string> ids;
  for (base::ConfigTable* table : config.Tables("rule")) {
    TableRule& rule = rules.emplace_back();
    rule.kind = table->Choice(
        "kind", {},
        {"range", "not_null", "unique", "matches", "unit_jump", "conflict"});
    rule.column = table->String("column");
    rule.id = table->String("id", rule.kind + ":" + rule.column);
    if (table->Has("low")) rule.low = table->Double("low", 0.0, -kBound, kBound);
    if (table->Has("high")) rule.high = table->Double("high", 0.0, -kBound, kBound);
    rule.pattern = table->String("pattern", "");
    rule.ignore = table->Strings("ignore");
    if (rule.kind == "range" && !rule.low && !rule.high) {
      problem = rule.id + " has neither low nor high";
    }
    if (rule.kind == "matches" && !table->Has("pattern")) {
      problem = rule.id + " has no pattern";
    }
    if (!ids.insert(rule.id).second) problem = "two rules are named " + rule.id;
  }
  SS_RETURN_IF_ERROR(config.Finish());
  if (rules.empty()) problem = "there is no rule";
  if (problem.empty()) return rules;
  return base::Fail("DATA-0350", base::ExitCode::kUsage, problem, std::string(name),
                    "for example [[rule]] with kind = \"range\", column = \"area\", "
                    "low = 0.0");
}

std::vector<TableRule> RulesOf(const DatasetSchema& schema, const Table& table) {
  std::vector<TableRule> rules;
  for (const Column& column : table.columns) {
    const ColumnSchema* entry = schema.Find(column.name);
    if (entry == nullptr || (!entry->low && !entry->high)) continue;
    rules.push_back({.id = "schema:" + column.name,
                     .kind = "range",
                     .column = column.name,
                     .low = entry->low,
                     .high = entry->high});
  }
  return rules;
}

base::Json ToJson(const TableCleaning& cleaning) {
  base::Json rules{base::Json::Array{}};
  for (const TableRuleFinding& finding : cleaning.rules) {
    const TableRule& rule = finding.rule;
    base::Json one;
    one.Set("id", rule.id).Set("kind", rule.kind).Set("column", rule.column);
    if (rule.low) one.Set("low", *rule.low);
    if (rule.high) one.Set("high", *rule.high);
    if (!rule.pattern.empty()) one.Set("pattern", rule.pattern);
    one.Set("count", finding.count);
    base::Json examples{base::Json::Array{}};
    for (const std::string& example : finding.examples) examples.Append(example);
    one.Set("examples", std::move(examples));
    rules.Append(std::move(one));
  }
  base::Json json;
  json.Set("schema", "stepslack.clean/1");
  json.Set("kept", static_cast<int64_t>(cleaning.kept.size()));
  json.Set("quarantined", static_cast<int64_t>(cleaning.quarantined.size()));
  json.Set("rules", std::move(rules));
  return json;
}

std::string Describe(const TableCleaning& cleaning) {
  std::string text = fmt::format("{} rows kept, {} in quarantine; {} rules checked\n",
                                 cleaning.kept.size(), cleaning.quarantined.size(),
                                 cleaning.rules.size());
  for (const TableRuleFinding& finding : cleaning.rules) {
    text += fmt::format("  {}: {} rows\n", finding.rule.id, finding.count);
    for (const std::string& example : finding.examples) text += "    " + example + "\n";
  }
  return text;
}

}  // namespace stepslack::data
