#include "data_make_qor.h"

#include <fmt/format.h>

#include "stepslack/base/json.h"
#include "stepslack/eda/qor_dataset.h"

namespace stepslack::cli {
namespace {

std::string Outcomes(const eda::QorReport& report) {
  std::string text;
  for (const auto& [name, rows] : report.outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows, name);
  }
  return text;
}

base::Json ToJson(const eda::QorReport& report, const std::string& out) {
  base::Json outcomes;
  for (const auto& [name, rows] : report.outcomes) outcomes.Set(name, rows);
  base::Json json;
  json.Set("schema", "stepslack.data_make/1");
  json.Set("what", "qor");
  json.Set("out", out);
  json.Set("rows", report.rows);
  json.Set("designs", report.designs);
  json.Set("families", report.families);
  json.Set("from_cache", report.from_cache);
  json.Set("outcomes", std::move(outcomes));
  return json;
}

}  // namespace

base::Result<CommandResult> MakeQorData(const Arguments& arguments,
                                        const base::Context& context,
                                        const std::string& out, uint64_t seed,
                                        int64_t count) {
  eda::QorOptions options;
  options.seed = seed;
  options.count = count;
  options.technology = arguments.Value("--tech");
  options.out = out;
  options.resume = arguments.Has("--resume");
  options.threads = context.threads;
  const auto progress = [&context](int64_t done, int64_t total) {
    if (context.progress == nullptr) return;
    context.progress->Update(fmt::format("{} of {} samples", done, total),
                             static_cast<double>(done) / static_cast<double>(total));
  };
  SS_TRY(const eda::QorReport report, eda::MakeQor(options, progress, context.stop));
  if (arguments.Value("--format") == "json") {
    return CommandResult{.output = ToJson(report, out).Dump() + "\n"};
  }
  return CommandResult{
      .output = fmt::format(
          "{} samples of {} designs in {} families in {} ({} kept from before)\n"
          "outcomes: {}\n",
          report.rows, report.designs, report.families, out, report.from_cache,
          Outcomes(report))};
}

}  // namespace stepslack::cli
