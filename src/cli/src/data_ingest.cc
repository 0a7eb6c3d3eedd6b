#include "data_ingest.h"

#include "stepslack/data/table_stages.h"
#include "stepslack/data/table_summary.h"

namespace stepslack::cli {

using base::ExitCode;

base::Result<CommandResult> DataIngest(const Arguments& arguments) {
  const std::string out = arguments.Value("--out");
  if (out.empty()) {
    return base::Fail("CLI-0304", ExitCode::kUsage, "the folder to write is missing",
                      "--out", "for example --out table");
  }
  SS_TRY(const auto table, data::IngestTable({.path = arguments.Value("PATH"),
                                              .schema = arguments.Value("--schema"),
                                              .out = out,
                                              .version = STEPSLACK_VERSION}));
  const auto summary = data::Summarize(table);
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json
                                     ? data::ToJson(summary).Dump() + "\n"
                                     : data::Describe(summary) + "in " + out + "\n"};
}

}  // namespace stepslack::cli
