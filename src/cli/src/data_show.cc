#include "data_show.h"

#include "stepslack/data/ingest.h"
#include "stepslack/data/table_source.h"
#include "stepslack/data/table_summary.h"

namespace stepslack::cli {

base::Result<CommandResult> DataShow(const Arguments& arguments,
                                     const base::Context& context) {
  const std::string path = arguments.Value("PATH");
  const bool as_json = arguments.Value("--format") == "json";
  SS_TRY(const bool maps, data::HoldsMaps(path));
  if (maps) {
    data::IngestOptions options;
    options.threads = context.threads;
    SS_TRY(const auto read, data::IngestFolder(path, options));
    return CommandResult{.output = as_json ? data::MapSummaryJson(read).Dump() + "\n"
                                           : data::DescribeMaps(read)};
  }
  SS_TRY(const auto table,
         data::ReadTable(path, {.schema = arguments.Value("--schema")}));
  const auto summary = data::Summarize(table);
  return CommandResult{.output = as_json ? data::ToJson(summary).Dump() + "\n"
                                         : data::Describe(summary)};
}

}  // namespace stepslack::cli
