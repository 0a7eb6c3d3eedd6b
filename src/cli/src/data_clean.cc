#include "data_clean.h"

#include "stepslack/data/table_stages.h"

namespace stepslack::cli {

using base::ExitCode;

base::Result<CommandResult> DataClean(const Arguments& arguments) {
  const std::string rules = arguments.Value("--rules");
  const std::string out = arguments.Value("--out");
  if (rules.empty() || out.empty()) {
    return base::Fail("CLI-0303", ExitCode::kUsage,
                      "the file of rules or the folder to write is missing",
                      rules.empty() ? "--rules" : "--out",
                      "for example --rules rules.toml --out cleaned");
  }
  SS_TRY(const auto cleaning,
         data::CleanTableFile({.path = arguments.Value("PATH"),
                               .schema = arguments.Value("--schema"),
                               .out = out,
                               .version = STEPSLACK_VERSION},
                              rules));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json
                                     ? data::ToJson(cleaning).Dump() + "\n"
                                     : data::Describe(cleaning) + "in " + out + "\n"};
}

}  // namespace stepslack::cli
