#include "data_audit.h"

#include "stepslack/audit/data_audit.h"

namespace stepslack::cli {

base::Result<CommandResult> DataAudit(const Arguments& arguments,
                                      const base::Context& context) {
  SS_TRY(const audit::DataAudit report,
         audit::AuditData(arguments.Value("PATH"),
                          {.split = arguments.Value("--split"),
                           .group = arguments.Value("--group"),
                           .label = arguments.Value("--label"),
                           .schema = arguments.Value("--schema"),
                           .threads = context.threads,
                           .rebuild = arguments.Has("--rebuild")}));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{
      .output = as_json ? audit::ToJson(report).Dump() + "\n" : audit::Describe(report),
      .exit_code =
          report.HasFinding() ? base::ExitCode::kFinding : base::ExitCode::kOk};
}

}  // namespace stepslack::cli
