#include "stepslack/quality/recipe_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "stepslack/learner/learner.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::quality {
namespace {

using base::ExitCode;

tl::unexpected<base::Error> NoColumn(const std::string& name, const std::string& kind,
                                     const data::Table& table) {
  return base::Fail("QUAL-0100", ExitCode::kInput,
                    fmt::format("there is no {} column {}", kind, name), table.source,
                    "name a column of the table");
}

base::Result<const data::Column*> Find(const data::Table& table,
                                       const std::string& name, data::ColumnKind kind) {
  const data::Column* column = table.Find(name);
  const bool text = kind == data::ColumnKind::kText;
  if (column == nullptr || column->kind != kind) {
    return NoColumn(name, text ? "text" : "number", table);
  }
  return column;
}

// Codes of a text column by sorted value, so that the order of rows does not matter.
std::vector<int64_t> SortedCodes(const data::Column& column) {
  std::vector<size_t> order(column.texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return column.texts[i]; });
  std::vector<int64_t> rank(order.size());
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> codes;
  for (const uint32_t code : column.codes) codes.push_back(rank[code]);
  return codes;
}

// The rows that take part: whole designs, all choices with a positive cost.
struct ChoiceRows {
  std::vector<size_t> rows;  // of the table
  std::vector<double> cost;
  std::vector<int64_t> choice, design, family;
  std::vector<std::string> choices;          // sorted
  std::vector<std::vector<size_t>> designs;  // positions in `rows`
  std::vector<int64_t> design_family;
};

std::vector<std::string> Sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

base::Result<ChoiceRows> Collect(const data::Table& table,
                                 const RecipeChoiceOptions& options,
                                 RecipeChoiceReport& report) {
  SS_TRY(const auto* choice, Find(table, options.choice, data::ColumnKind::kText));
  SS_TRY(const auto* design, Find(table, options.design, data::ColumnKind::kText));
  SS_TRY(const auto* family, Find(table, options.family, data::ColumnKind::kText));
  SS_TRY(const auto* cost, Find(table, options.minimise, data::ColumnKind::kNumber));
  const auto choices = SortedCodes(*choice);
  const auto designs = SortedCodes(*design);
  const auto families = SortedCodes(*family);
  std::map<int64_t, std::map<int64_t, size_t>> by_design;  // design, choice -> row
  for (size_t row = 0; row < cost->numbers.size(); ++row) {
    if (std::isfinite(cost->numbers[row]) && cost->numbers[row] > 0) {
      by_design[designs[row]].emplace(choices[row], row);
    }
  }
  ChoiceRows taken;
  taken.choices = Sorted(choice->texts);
  for (const auto& [code, rows] : by_design) {
    if (rows.size() < taken.choices.size()) continue;
    auto& members = taken.designs.emplace_back();
    taken.design_family.push_back(families[rows.begin()->second]);
    for (const auto& [option, row] : rows) {
      members.push_back(taken.rows.size());
      taken.rows.push_back(row);
      taken.cost.push_back(cost->numbers[row]);
      taken.choice.push_back(option);
      taken.design.push_back(code);
      taken.family.push_back(families[row]);
    }
  }
  report.rows = static_cast<int64_t>(taken.rows.size());
  report.left_out = table.rows - report.rows;
  report.designs = static_cast<int64_t>(taken.designs.size());
  report.left_out_designs = static_cast<int64_t>(design->texts.size()) - report.designs;
  report.families = static_cast<int64_t>(
      std::set<int64_t>(taken.family.begin(), taken.family.end()).size());
  if (report.families < options.folds) {
    return base::Fail(
        "QUAL-0101", ExitCode::kInput,
        fmt::format("{} families cannot make {} folds", report.families, options.folds),
        table.source, "give designs of more families");
  }
  return taken;
}

// One column per feature; the choice as one flag a choice, since an order of names
// means nothing.
std::vector<std::vector<double>> FeatureColumns(const data::Table& table,
                                                const RecipeChoiceOptions& options,
                                                int64_t choices) {
  std::vector<std::vector<double>> columns;
  for (const data::Column& column : table.columns) {
    const bool special = column.name == options.minimise ||
                         column.name == options.design || column.name == options.family;
    if (column.name == options.choice) {
      const auto codes = SortedCodes(column);
      for (int64_t c = 0; c < choices; ++c) {
        auto& flags = columns.emplace_back();
        for (const int64_t code : codes) flags.push_back(code == c ? 1 : 0);
      }
    } else if (column.role == data::ColumnRole::kFeature && !special) {
      auto& values = columns.emplace_back(column.numbers);
      if (column.kind != data::ColumnKind::kText) continue;
      for (const int64_t code : SortedCodes(column)) {
        values.push_back(static_cast<double>(code));
      }
    }
  }
  return columns;
}

learner::Matrix Features(const std::vector<std::vector<double>>& columns,
                         const std::vector<size_t>& rows) {
  learner::Matrix matrix;
  matrix.rows = static_cast<int64_t>(rows.size());
  matrix.columns = static_cast<int64_t>(columns.size());
  for (const size_t row : rows) {
    for (const auto& column : columns) {
      matrix.values.push_back(static_cast<float>(column[row]));
    }
  }
  return matrix;
}

// cost(choice) / cost(best) - 1 of every design, when the position in the design of
// the choice is `pick(design)`.
template <typename Pick>
std::vector<double> Regrets(const ChoiceRows& taken, const Pick& pick) {
  std::vector<double> regrets;
  for (const std::vector<size_t>& members : taken.designs) {
    double best = taken.cost[members[0]];
    for (const size_t m : members) best = std::min(best, taken.cost[m]);
    regrets.push_back(taken.cost[pick(members)] / best - 1);
  }
  return regrets;
}

std::vector<stats::ClusterSums> ByFamily(std::span<const double> values,
                                         std::span<const int64_t> family) {
  std::map<int64_t, stats::ClusterSums> sums;
  for (size_t i = 0; i < values.size(); ++i) {
    sums[family[i]].numerator += values[i];
    sums[family[i]].denominator += 1;
  }
  std::vector<stats::ClusterSums> clusters;
  for (const auto& [code, sum] : sums) clusters.push_back(sum);
  return clusters;
}

class Comparison {
 public:
  Comparison(const ChoiceRows& taken, const learner::Matrix& features,
             RecipeChoiceReport& report)
      : taken_(taken), features_(features), report_(report) {
    for (const double cost : taken.cost) log_cost_.push_back(std::log(cost));
    bootstrap_.seed = report.options.seed;
  }

  base::Status Run() {
    const RecipeChoiceOptions& o = report_.options;
    SS_RETURN_IF_ERROR(
        AddSplit("rows", learner::RandomFolds(report_.rows, o.folds, o.seed)));
    SS_RETURN_IF_ERROR(
        AddSplit("design", learner::FoldsByGroup(taken_.design, o.folds, o.seed)));
    SS_RETURN_IF_ERROR(
        AddSplit("family", learner::FoldsByGroup(taken_.family, o.folds, o.seed)));
    AddFixed();
    Conclude();
    return {};
  }

 private:
  base::Status AddSplit(const std::string& name, const std::vector<int>& folds) {
    learner::LearnerOptions options;
    options.seed = report_.options.seed;
    options.threads = report_.options.threads;
    SS_TRY(const std::vector<double> predicted,
           learner::CrossPredict(features_, log_cost_, folds, options));
    std::vector<double> errors;
    ChoiceSplit& split = report_.splits.emplace_back();
    split.name = name;
    for (size_t i = 0; i < predicted.size(); ++i) {
      split.mape += std::abs(std::expm1(predicted[i] - log_cost_[i]));
      errors.push_back(std::abs(predicted[i] - log_cost_[i]));
    }
    split.mape /= static_cast<double>(predicted.size());
    if (name == "rows") {
      std::vector<double> sorted = errors;
      std::ranges::sort(sorted);
      report_.half_width = stats::QuantileOfSorted(sorted, report_.options.coverage);
    }
    std::vector<double> inside;
    for (const double e : errors) inside.push_back(e <= report_.half_width ? 1 : 0);
    split.coverage = stats::ClusterShare(ByFamily(inside, taken_.family), bootstrap_);
    model_regrets_ = Regrets(taken_, [&predicted](const std::vector<size_t>& members) {
      return *std::ranges::min_element(members, {},
                                       [&](size_t m) { return predicted[m]; });
    });
    split.regret = MeanByFamily(model_regrets_);
    return {};
  }

  base::Estimate MeanByFamily(std::span<const double> values) const {
    return stats::ClusterRatio(ByFamily(values, taken_.design_family), bootstrap_);
  }

  void AddFixed() {
    double best = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < taken_.choices.size(); ++c) {
      // Members stand in the order of the choices.
      auto regrets = Regrets(taken_, [c](const auto& members) { return members[c]; });
      const base::Estimate mean = MeanByFamily(regrets);
      report_.fixed.push_back({taken_.choices[c], mean});
      if (mean.value.value_or(best) >= best) continue;
      best = *mean.value;
      fixed_regrets_ = std::move(regrets);
    }
    std::ranges::stable_sort(report_.fixed, {}, [](const FixedChoice& fixed) {
      return fixed.regret.value.value_or(std::numeric_limits<double>::infinity());
    });
  }

  void Conclude() {
    std::vector<double> differences;
    for (size_t d = 0; d < model_regrets_.size(); ++d) {
      differences.push_back(model_regrets_[d] - fixed_regrets_[d]);
    }
    report_.difference = MeanByFamily(differences);
    const std::string& fixed = report_.fixed[0].name;
    const base::Estimate& d = report_.difference;
    if (!d.low || !d.high) {
      report_.verdict = "undecided";
      report_.reason = "no interval: " + d.method;
    } else if (*d.high < 0) {
      report_.verdict = "use the model";
      report_.reason = "its regret on unseen families is lower than that of " + fixed;
    } else if (*d.low > 0) {
      report_.verdict = "keep the fixed " + report_.options.choice + " " + fixed;
      report_.reason = "the model's regret on unseen families is higher";
    } else {
      // Without evidence that the model helps, the simpler rule stays.
      report_.verdict = "keep the fixed " + report_.options.choice + " " + fixed;
      report_.reason =
          "on unseen families the model is not shown to be better: the interval of "
          "the difference holds 0";
    }
  }

  const ChoiceRows& taken_;
  const learner::Matrix& features_;
  RecipeChoiceReport& report_;
  stats::BootstrapOptions bootstrap_;
  std::vector<double> log_cost_;
  std::vector<double> model_regrets_;  // of the last split: unseen families
  std::vector<double> fixed_regrets_;  // of the best fixed choice
};

}  // namespace

base::Result<RecipeChoiceReport> CompareRecipeChoice(
    const data::Table& table, const RecipeChoiceOptions& options) {
  RecipeChoiceReport report;
  report.options = options;
  SS_TRY(const ChoiceRows taken, Collect(table, options, report));
  const auto columns =
      FeatureColumns(table, options, static_cast<int64_t>(taken.choices.size()));
  report.features = static_cast<int64_t>(columns.size());
  const learner::Matrix features = Features(columns, taken.rows);
  SS_RETURN_IF_ERROR(Comparison(taken, features, report).Run());
  return report;
}

base::Json ToJson(const RecipeChoiceReport& report) {
  base::Json json;
  json.Set("schema", "stepslack.recipe_choice/1");
  for (const auto& [name, value] : {std::pair{"rows", report.rows},
                                    {"left_out", report.left_out},
                                    {"designs", report.designs},
                                    {"left_out_designs", report.left_out_designs},
                                    {"families", report.families},
                                    {"features", report.features}}) {
    json.Set(name, value);
  }
  json.Set("choice", report.options.choice);
  json.Set("minimise", report.options.minimise);
  json.Set("half_width_log", report.half_width);
  json.Set("nominal_coverage", report.options.coverage);
  base::Json splits{base::Json::Array{}};
  for (const ChoiceSplit& split : report.splits) {
    base::Json entry;
    entry.Set("split", split.name);
    entry.Set("mape", split.mape);
    entry.Set("regret", base::ToJson(split.regret));
    entry.Set("coverage", base::ToJson(split.coverage));
    splits.Append(std::move(entry));
  }
  json.Set("splits", std::move(splits));
  base::Json fixed{base::Json::Array{}};
  for (const FixedChoice& choice : report.fixed) {
    base::Json entry;
    entry.Set("name", choice.name);
    entry.Set("regret", base::ToJson(choice.regret));
    fixed.Append(std::move(entry));
  }
  json.Set("fixed", std::move(fixed));
  json.Set("difference", base::ToJson(report.difference));
  json.Set("verdict", report.verdict);
  json.Set("reason", report.reason);
  return json;
}

std::string Describe(const RecipeChoiceReport& report) {
  std::string text = fmt::format(
      "{} rows, {} designs, {} families; {} rows left out ({} designs without every "
      "{})\n",
      report.rows, report.designs, report.families, report.left_out,
      report.left_out_designs, report.options.choice);
  for (const ChoiceSplit& split : report.splits) {
    text += fmt::format(
        "model, unseen {}: MAPE {:.3f}\n  regret   {}\n  coverage {} of "
        "nominal {:.2f}\n",
        split.name, split.mape, base::Describe(split.regret),
        base::Describe(split.coverage), report.options.coverage);
  }
  for (const FixedChoice& fixed : report.fixed) {
    text +=
        fmt::format("fixed {}: regret {}\n", fixed.name, base::Describe(fixed.regret));
  }
  return text + fmt::format(
                    "model less best fixed, unseen family: {}\n"
                    "verdict: {} ({})\n",
                    base::Describe(report.difference), report.verdict, report.reason);
}

}  // namespace stepslack::quality
