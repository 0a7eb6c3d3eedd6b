#include "data_make_pnr.h"

#include <fmt/format.h>

#include "stepslack/base/json.h"
#include "stepslack/base/text.h"
#include "stepslack/eda/pnr_dataset.h"

namespace stepslack::cli {
namespace {

std::string Outcomes(const eda::PnrReport& report) {
  std::string text;
  for (const auto& [name, samples] : report.outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", samples, name);
  }
  return text;
}

base::Json ToJson(const eda::PnrReport& report, const std::string& out) {
  base::Json outcomes;
  for (const auto& [name, samples] : report.outcomes) outcomes.Set(name, samples);
  base::Json json;
  json.Set("schema", "stepslack.data_make/1");
  json.Set("what", "pnr");
  json.Set("out", out);
  json.Set("samples", report.samples);
  json.Set("designs", report.designs);
  json.Set("families", report.families);
  json.Set("tiles", report.tiles);
  json.Set("nets", report.nets);
  json.Set("samples_with_failed_nets", report.samples_with_failed_nets);
  json.Set("from_cache", report.from_cache);
  json.Set("outcomes", std::move(outcomes));
  return json;
}

}  // namespace

base::Result<CommandResult> MakePnrData(const Arguments& arguments,
                                        const base::Context& context,
                                        const std::string& out, uint64_t seed,
                                        int64_t count) {
  eda::PnrOptions options;
  options.seed = seed;
  options.count = count;
  options.out = out;
  options.resume = arguments.Has("--resume");
  options.threads = context.threads;
  options.route_layers =
      static_cast<int>(base::ParseInt(arguments.Value("--layers")).value_or(4));
  if (arguments.Value("--tech") != "osu035") {
    return base::Fail("CLI-0310", base::ExitCode::kUsage,
                      "pnr is made with osu035 only",
                      "--tech " + arguments.Value("--tech"), "leave --tech out");
  }
  const auto progress = [&context](int64_t done, int64_t total) {
    if (context.progress == nullptr) return;
    context.progress->Update(fmt::format("{} of {} placements", done, total),
                             static_cast<double>(done) / static_cast<double>(total));
  };
  SS_TRY(const eda::PnrReport report, eda::MakePnr(options, progress, context.stop));
  if (arguments.Value("--format") == "json") {
    return CommandResult{.output = ToJson(report, out).Dump() + "\n"};
  }
  return CommandResult{
      .output = fmt::format(
          "{} placements of {} designs in {} families in {} ({} kept from before)\n"
          "{} tiles, {} nets; {} placements with failed nets\noutcomes: {}\n",
          report.samples, report.designs, report.families, out, report.from_cache,
          report.tiles, report.nets, report.samples_with_failed_nets,
          Outcomes(report))};
}

}  // namespace stepslack::cli
