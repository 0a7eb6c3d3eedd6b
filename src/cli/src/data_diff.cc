#include "data_diff.h"

#include "stepslack/data/table_diff.h"
#include "stepslack/data/table_source.h"

namespace stepslack::cli {

using base::ExitCode;

base::Result<CommandResult> DataDiff(const Arguments& arguments) {
  const data::TableOptions reading{.schema = arguments.Value("--schema")};
  SS_TRY(const auto a, data::ReadTable(arguments.Value("A"), reading));
  SS_TRY(const auto b, data::ReadTable(arguments.Value("B"), reading));
  SS_TRY(const auto diff, data::DiffTables(a, b, arguments.Value("--key")));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{
      .output = as_json ? data::ToJson(diff).Dump() + "\n" : data::Describe(diff),
      .exit_code = diff.same() ? ExitCode::kOk : ExitCode::kFinding};
}

}  // namespace stepslack::cli
