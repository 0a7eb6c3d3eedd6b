#include "data_split.h"

#include <fmt/format.h>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/row_split.h"
#include "stepslack/data/table_source.h"
#include "stepslack/data/table_summary.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

base::Result<double> Share(const Arguments& arguments, const char* option) {
  const auto value = base::ParseDouble(arguments.Value(option));
  if (value) return *value;
  return base::Fail("CLI-0300", ExitCode::kUsage, "must be a share of the rows",
                    fmt::format("{} {}", option, arguments.Value(option)),
                    fmt::format("for example {} 0.2", option));
}

base::Result<int64_t> Count(const Arguments& arguments, const char* option) {
  const auto value = base::ParseInt(arguments.Value(option));
  if (value && *value >= 0) return *value;
  return base::Fail("CLI-0301", ExitCode::kUsage, "must be a whole number from 0 on",
                    fmt::format("{} {}", option, arguments.Value(option)),
                    fmt::format("for example {} 5", option));
}

base::Result<data::RowSplitOptions> OptionsOf(const Arguments& arguments) {
  data::RowSplitOptions options;
  for (const auto policy :
       {data::RowPolicy::kGroup, data::RowPolicy::kTime, data::RowPolicy::kStratified,
        data::RowPolicy::kKFold, data::RowPolicy::kRandom}) {
    if (data::ToString(policy) == arguments.Value("--policy")) options.policy = policy;
  }
  options.group = arguments.Value("--group");
  options.label = arguments.Value("--label");
  options.time = arguments.Value("--time");
  SS_TRY(const int64_t seed, Count(arguments, "--seed"));
  options.seed = static_cast<uint64_t>(seed);
  SS_TRY(options.test, Share(arguments, "--test"));
  SS_TRY(options.validation, Share(arguments, "--validation"));
  SS_TRY(options.folds, Count(arguments, "--folds"));
  return options;
}

base::Result<data::RowSplit> Divide(const std::string& path,
                                    const Arguments& arguments) {
  SS_TRY(const auto options, OptionsOf(arguments));
  SS_TRY(const bool maps, data::HoldsMaps(path));
  if (maps) {
    SS_TRY(const auto read, data::IngestFolder(path));
    return data::SplitMaps(read.collection, options);
  }
  SS_TRY(const auto table,
         data::ReadTable(path, {.schema = arguments.Value("--schema")}));
  return data::SplitRows(table, options);
}

}  // namespace

base::Result<CommandResult> DataSplit(const Arguments& arguments) {
  const std::string out = arguments.Value("--out");
  if (out.empty()) {
    return base::Fail("CLI-0302", ExitCode::kUsage, "the file to write is missing",
                      "--out", "for example --out split.csv");
  }
  SS_TRY(const auto split, Divide(arguments.Value("PATH"), arguments));
  const bool json_file = out.ends_with(".json");
  SS_RETURN_IF_ERROR(base::WriteResult(
      out, json_file ? data::ToJson(split).Dump() + "\n" : data::CsvOf(split)));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json ? data::SummaryOf(split).Dump() + "\n"
                                         : data::Describe(split) + "in " + out + "\n"};
}

}  // namespace stepslack::cli
