#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sections.h"
#include "stepslack/base/text.h"

namespace stepslack::review {
namespace {

using base::Human;
using render::Cell;

constexpr size_t kListedPairs = 40;
constexpr size_t kListedSlices = 8;

std::vector<Cell> QualityRow(std::string name, const quality::MapQuality& quality) {
  return {std::move(name),        quality.relative_mae,      quality.mae,
          quality.hotspot_recall, quality.hotspot_precision, quality.block_recall};
}

std::vector<std::string> QualityColumns(std::string first) {
  return {std::move(first), "relative MAE",      "MAE mV",
          "hotspot recall", "hotspot precision", "worst blocks found"};
}

render::Bar EstimateBar(std::string label, const base::Estimate& estimate) {
  return {.label = std::move(label),
          .parts = {estimate.value.value_or(0)},
          .low = estimate.low,
          .high = estimate.high};
}

std::string LeakSentence(const QualityResults& quality) {
  const auto& honest = quality.model.relative_mae;
  const auto& naive = quality.naive.relative_mae;
  return fmt::format(
      "A careless split reports relative MAE {} where the honest one reports {}: {} of "
      "its "
      "{} test maps have a relative or copy in training.",
      Short(naive), Short(honest), quality.naive_leaked_maps,
      quality.naive_leaked_maps + quality.naive_clean_maps);
}

render::Table NaiveTable(const QualityResults& quality) {
  render::Table table{.title = "Careless split, with and without its leaked rows",
                      .columns = QualityColumns("test maps"),
                      .rows = {}};
  table.rows.push_back(QualityRow("all test maps", quality.naive));
  if (quality.naive_leaked) {
    table.rows.push_back(QualityRow(
        fmt::format("leaked ({})", quality.naive_leaked_maps), *quality.naive_leaked));
  }
  if (quality.naive_clean) {
    table.rows.push_back(
        QualityRow(fmt::format("not leaked ({})", quality.naive_clean_maps),
                   *quality.naive_clean));
  } else {
    table.rows.push_back(
        {std::string("not leaked (0): no test map is left to judge by"),
         std::string("-"), std::string("-"), std::string("-"), std::string("-"),
         std::string("-")});
  }
  table.rows.push_back(QualityRow("honest split", quality.model));
  return table;
}

render::Table SliceTable(const QualityResults& quality) {
  render::Table table{
      .title =
          fmt::format("Workload slices, the {} worst of each dimension", kListedSlices),
      .columns = {"dimension", "slice", "predicted maps", "relative MAE", "MAE mV",
                  "hotspot recall"},
      .rows = {}};
  std::map<std::string, size_t> listed;
  for (const quality::SliceQuality& slice : quality.slices) {
    if (++listed[slice.dimension] > kListedSlices) continue;
    table.rows.push_back(
        {slice.dimension,
         slice.detail.empty() ? slice.value : slice.value + " (" + slice.detail + ")",
         static_cast<double>(slice.quality.maps), slice.quality.relative_mae,
         slice.quality.mae, slice.quality.hotspot_recall});
  }
  for (const auto& [dimension, count] : listed) {
    if (count <= kListedSlices) continue;
    table.rows.push_back({dimension,
                          fmt::format("{} better ones", count - kListedSlices),
                          std::string("not shown"), std::string("-"), std::string("-"),
                          std::string("-")});
  }
  return table;
}

render::Table PairTable(const data::AuditResult& audit) {
  render::Table table{.title = "Linked maps",
                      .columns = {"kind", "map", "map", "design", "design",
                                  "honest split: sides, fold by fold"},
                      .rows = {}};
  for (const data::LinkedPair& pair : audit.pairs) {
    if (!pair.leaks || table.rows.size() >= kListedPairs) continue;
    std::string places;
    for (const data::PairPlace& place : pair.places) {
      if (!places.empty()) places += "; ";
      places += place.a + " / " + place.b;
    }
    table.rows.push_back({data::Label(pair.kind, pair.channel), pair.id_a, pair.id_b,
                          pair.group_a, pair.group_b, places});
  }
  return table;
}

render::Table FoldTable(const data::AuditResult& honest,
                        const data::AuditResult& naive) {
  render::Table table{.title = "Folds",
                      .columns = {"split", "train", "validation", "test",
                                  "groups on two sides", "leaked test rows"},
                      .rows = {}};
  const auto add = [&](const std::string& kind, const data::AuditResult& audit) {
    for (const data::FoldAudit& fold : audit.folds) {
      table.rows.push_back({kind + ": " + fold.name, static_cast<double>(fold.train),
                            static_cast<double>(fold.validation),
                            static_cast<double>(fold.test),
                            static_cast<double>(fold.group_overlap.size()),
                            static_cast<double>(fold.leaked_test.size())});
    }
  };
  add("honest", honest);
  add("careless", naive);
  return table;
}

render::Table CountTable(const data::AuditResult& audit) {
  render::Table table{.title = "Links found over the whole collection",
                      .columns = {"kind", "pairs", "across groups", "counts as a leak"},
                      .rows = {}};
  for (const data::LinkCount& count : audit.counts) {
    table.rows.push_back({count.label, static_cast<double>(count.pairs),
                          static_cast<double>(count.across_groups),
                          std::string(count.leaks ? "yes" : "no, shared by design")});
  }
  return table;
}

}  // namespace

std::string Short(const base::Estimate& estimate) {
  if (!estimate.value) return "no value";
  std::string text = Human(*estimate.value);
  if (estimate.unit != "1" && !estimate.unit.empty()) text += " " + estimate.unit;
  if (estimate.low && estimate.high && *estimate.low != *estimate.high) {
    text += fmt::format(" [{}, {}]", Human(*estimate.low), Human(*estimate.high));
  }
  return text;
}

std::string Percent(const base::Estimate& estimate) {
  if (!estimate.value) return "no value";
  std::string text = Human(100 * *estimate.value) + " %";
  if (estimate.low && estimate.high) {
    text += fmt::format(" [{}, {}]", Human(100 * *estimate.low),
                        Human(100 * *estimate.high));
  }
  return text;
}

render::Section QualitySection(const SectionInputs& in) {
  const QualityResults& quality = in.measured.quality;
  render::Section section{.id = "quality", .title = "Quality on unseen designs"};
  section.text.push_back(
      fmt::format("On {} {} that no run trained on, the model's relative MAE is {} "
                  "({}); the linear "
                  "baseline with physics features reaches {}, a constant scaled by the "
                  "mean current "
                  "{}. Against linear the model's error is {} times as large.",
                  quality.model.groups, quality.model.relative_mae.n_of,
                  Short(quality.model.relative_mae), Short(quality.model.mae),
                  Short(quality.linear.relative_mae),
                  Short(quality.constant.relative_mae), Short(quality.vs_linear)));
  section.text.push_back(LeakSentence(quality));
  section.text.push_back(
      quality.coverage_90
          ? fmt::format(
                "A 90 % interval ({}) covers {} of the pixels of unseen groups.",
                quality.coverage_note, Percent(*quality.coverage_90))
          : "No prediction interval: " + quality.coverage_note);
  render::BarChart chart{
      .title = "Relative MAE on test maps",
      .caption = "Lower is better. Whiskers: 95 % interval over groups.",
      .x_label = "relative MAE (sum of absolute errors / sum of labels)",
      .part_names = {"relative MAE"},
      .bars = {}};
  chart.bars.push_back(
      EstimateBar("constant x mean current", quality.constant.relative_mae));
  chart.bars.push_back(
      EstimateBar("linear, physics features", quality.linear.relative_mae));
  chart.bars.push_back(EstimateBar("U-Net, honest split", quality.model.relative_mae));
  chart.bars.push_back(
      EstimateBar("U-Net, careless split", quality.naive.relative_mae));
  section.figures.emplace_back(std::move(chart));

  render::Table table{.title = "Predictors on the honest test maps",
                      .columns = QualityColumns("predictor"),
                      .rows = {}};
  table.rows.push_back(QualityRow("constant x mean current", quality.constant));
  table.rows.push_back(QualityRow("linear, physics features", quality.linear));
  table.rows.push_back(QualityRow("U-Net", quality.model));
  for (const SeedQuality& seed : quality.seeds) {
    table.rows.push_back(QualityRow(
        fmt::format("U-Net, seed {}, {}", seed.seed, seed.fold), seed.quality));
  }
  section.tables.push_back(std::move(table));
  section.tables.push_back(NaiveTable(quality));

  section.tables.push_back(SliceTable(quality));
  return section;
}

render::Section MapsSection(const SectionInputs& in) {
  render::Section section{.id = "maps",
                          .title = "Maps: input, target, prediction, error"};
  section.text.push_back(
      "Best, middle and worst test map of the first fold by relative MAE, first seed.");
  for (const ExampleMap& map : in.measured.quality.examples) {
    std::vector<float> error(map.target.size());
    for (size_t i = 0; i < error.size(); ++i)
      error[i] = map.prediction[i] - map.target[i];
    float high = 0;
    for (size_t i = 0; i < error.size(); ++i) {
      high = std::max({high, map.target[i], map.prediction[i]});
    }
    const auto image = [&](std::string name, std::string unit,
                           std::vector<float> values) {
      return render::MapImage{.name = std::move(name),
                              .unit = std::move(unit),
                              .height = map.height,
                              .width = map.width,
                              .values = std::move(values)};
    };
    render::MapImage target = image("target", in.data.maps.target_unit, map.target);
    render::MapImage predicted =
        image("prediction", in.data.maps.target_unit, map.prediction);
    for (render::MapImage* shared : {&target, &predicted}) {
      shared->scale_low = 0;
      shared->scale_high = high;
    }
    render::MapImage difference =
        image("prediction - target", in.data.maps.target_unit, std::move(error));
    difference.diverging = true;
    section.figures.emplace_back(render::MapChart{
        .title = fmt::format("Map {}", map.id),
        .caption = fmt::format("relative MAE {}", Human(map.relative_mae)),
        .images = {image("input " + map.input_name, map.input_unit, map.input),
                   std::move(target), std::move(predicted), std::move(difference)}});
  }
  return section;
}

render::Section SplitAuditSection(const SectionInputs& in) {
  const data::AuditResult& audit = in.data.audit;
  render::Section section{.id = "split-audit", .title = "Split audit"};
  std::string designs;
  for (const data::GroupMerge& merge : in.data.merges) {
    designs += fmt::format("{}{}", designs.empty() ? "" : "; ",
                           fmt::join(merge.members, " = "));
  }
  section.text.push_back(fmt::format(
      "The split {}: {} of its test rows are related to training or validation; a "
      "careless "
      "split of the same maps has {}.{}",
      audit.leak_free() ? "is free of leaks" : "LEAKS", audit.leaked_test_rows(),
      in.data.naive_audit.leaked_test_rows(),
      designs.empty() ? "" : " Leaking designs, kept on one side: " + designs + "."));
  section.text.push_back(LeakSentence(in.measured.quality));
  for (const data::GroupMerge& merge : in.data.merges) {
    section.text.push_back(
        fmt::format("Leaking pair: {} have bit-identical current maps, so they are one "
                    "design and stay "
                    "on one side.",
                    fmt::join(merge.members, " and ")));
  }
  section.text.push_back(fmt::format(
      "Compared: {} maps, exact and per-channel hashes also under the 8 flips and "
      "quarter "
      "turns; near duplicates below a relative distance of {} ({} pairs considered).",
      audit.maps, Human(audit.near_threshold), audit.near_considered));
  render::BarChart chart{.title = "Leaked test rows",
                         .caption =
                             "Test maps with a copy or relative in train or "
                             "validation.",
                         .x_label = "test maps",
                         .part_names = {"leaked", "not leaked"},
                         .bars = {}};
  const auto add = [&](std::string name, const data::AuditResult& result) {
    int64_t tests = 0;
    for (const data::FoldAudit& fold : result.folds) tests += fold.test;
    const int64_t leaked = result.leaked_test_rows();
    chart.bars.push_back(
        {.label = std::move(name),
         .parts = {static_cast<double>(leaked), static_cast<double>(tests - leaked)}});
  };
  add("honest split (" + in.data.split.policy + ")", audit);
  add("careless split (" + in.data.naive.policy + ")", in.data.naive_audit);
  section.figures.emplace_back(std::move(chart));
  section.tables.push_back(FoldTable(audit, in.data.naive_audit));
  section.tables.push_back(CountTable(audit));
  if (render::Table pairs = PairTable(audit); !pairs.rows.empty()) {
    section.tables.push_back(std::move(pairs));
  }
  return section;
}

render::Section LineageSection(const SectionInputs& in) {
  render::Section section{.id = "lineage", .title = "Data lineage and cleaning"};
  section.text.push_back(
      fmt::format("Data set tag {}: digest of the split over the cleaned maps; {} maps "
                  "in quarantine, "
                  "{} unreadable, {} suspected unit mistakes.",
                  in.data.lineage.dataset_tag().substr(0, 12), in.data.quarantined,
                  in.data.problems.size(), in.data.suspicions.size()));
  for (const std::string& note : in.data.notes) section.text.push_back(note);
  render::Table stages{
      .title = "Stages", .columns = {"stage", "output digest", "counts"}, .rows = {}};
  for (const data::LineageStage& stage : in.data.lineage.stages) {
    std::string counts;
    for (const auto& [name, count] : stage.counts) {
      counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", name, count);
    }
    stages.rows.push_back({stage.name, stage.output.substr(0, 16), counts});
  }
  section.tables.push_back(std::move(stages));
  render::Table rules{.title = "Cleaning rules",
                      .columns = {"rule", "meaning", "maps", "examples"},
                      .rows = {}};
  for (const data::RuleFinding& rule : in.data.rules) {
    rules.rows.push_back({rule.id, rule.description, static_cast<double>(rule.count),
                          fmt::format("{}", fmt::join(rule.examples, ", "))});
  }
  section.tables.push_back(std::move(rules));
  if (!in.data.problems.empty() || !in.data.suspicions.empty()) {
    render::Table problems{.title = "Not read, or suspect",
                           .columns = {"id", "where", "what"},
                           .rows = {}};
    for (const base::Error& error : in.data.problems) {
      problems.rows.push_back({error.id, error.where, error.what});
    }
    for (const data::UnitSuspicion& suspicion : in.data.suspicions) {
      problems.rows.push_back({std::string("unit"),
                               suspicion.map_id + " " + suspicion.plane,
                               suspicion.text});
    }
    section.tables.push_back(std::move(problems));
  }
  return section;
}

}  // namespace stepslack::review
