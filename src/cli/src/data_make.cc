#include "data_make.h"

#include <fmt/format.h>

#include "data_make_pnr.h"
#include "data_make_qor.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/data/array_folder.h"
#include "stepslack/eda/irdrop_dataset.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

constexpr int kVariants = 4;  // maps of a family

base::Result<int64_t> Whole(const Arguments& arguments, const char* option,
                            int64_t most) {
  const auto value = base::ParseInt(arguments.Value(option));
  if (!value || *value < 1 || *value > most) {
    return base::Fail("CLI-0290", ExitCode::kUsage,
                      fmt::format("must be a whole number from 1 to {}", most),
                      fmt::format("{} {}", option, arguments.Value(option)),
                      fmt::format("for example {} 64", option));
  }
  return *value;
}

base::Result<double> Real(const Arguments& arguments, const char* option) {
  const auto value = base::ParseDouble(arguments.Value(option));
  if (!value) {
    return base::Fail("CLI-0298", ExitCode::kUsage, "must be a number",
                      fmt::format("{} {}", option, arguments.Value(option)),
                      fmt::format("for example {} 1.1", option));
  }
  return *value;
}

}  // namespace

base::Result<CommandResult> DataMake(const Arguments& arguments,
                                     const base::Context& context) {
  const std::string out = arguments.Value("--out");
  if (out.empty()) {
    return base::Fail("CLI-0291", ExitCode::kUsage, "the folder to write is missing",
                      "--out", "for example --out maps");
  }
  SS_TRY(const int64_t seed, Whole(arguments, "--seed", int64_t{1} << 62));
  SS_TRY(const int64_t count, Whole(arguments, "--count", 400000));
  if (arguments.Value("WHAT") == "qor") {
    return MakeQorData(arguments, context, out, static_cast<uint64_t>(seed), count);
  }
  if (arguments.Value("WHAT") == "pnr") {
    return MakePnrData(arguments, context, out, static_cast<uint64_t>(seed), count);
  }
  eda::IrDropOptions options;
  options.seed = static_cast<uint64_t>(seed);
  options.variants = kVariants;
  options.families = static_cast<int>((count + kVariants - 1) / kVariants);
  options.threads = context.threads;
  SS_TRY(const int64_t tiles, Whole(arguments, "--tiles", 256));
  options.tiles = static_cast<int>(tiles);
  SS_TRY(options.temperature_c, Real(arguments, "--temperature"));
  SS_TRY(options.current_factor, Real(arguments, "--current-factor"));
  SS_TRY(auto made, eda::MakeIrDropMaps(options, {}, context.stop));
  made.first.maps.resize(static_cast<size_t>(count));
  SS_RETURN_IF_ERROR(data::WriteArrayFolder(made.first, out));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(
      base::JoinPath(out, "lineage.json"),
      data::ToJson(eda::IrDropLineage(options, made.first)).Dump() + "\n"));
  if (arguments.Value("--format") == "json") {
    base::Json json;
    json.Set("maps", count).Set("families", options.families).Set("out", out);
    return CommandResult{.output = json.Dump() + "\n", .exit_code = ExitCode::kOk};
  }
  return CommandResult{.output = fmt::format("{} maps of {} families in {}\n", count,
                                             options.families, out),
                       .exit_code = ExitCode::kOk};
}

}  // namespace stepslack::cli
