#include "run_commands.h"

#include <fmt/format.h>

#include "stepslack/base/file.h"
#include "stepslack/record/run_overview.h"
#include "stepslack/render/run_text.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::JoinPath;

// The folder that was named, or the one run of the room whose id begins so.
base::Result<std::string> FindRun(const std::string& name, const std::string& room) {
  if (base::IsFolder(name)) return name;
  const std::string runs = JoinPath(room, ".stepslack/runs");
  std::vector<std::string> found;
  if (const auto ids = base::ListFolder(runs); ids && !name.empty()) {
    for (const std::string& id : *ids) {
      if (id == name) return JoinPath(runs, id);
      if (id.starts_with(name)) found.push_back(id);
    }
  }
  if (found.size() == 1) return JoinPath(runs, found.front());
  if (found.empty()) {
    return base::Fail("CLI-0202", ExitCode::kInput,
                      "neither a folder nor a run of this room",
                      fmt::format("`{}`, room {}", name, room),
                      "give the run's folder, or its id and --room");
  }
  return base::Fail(
      "CLI-0203", ExitCode::kUsage,
      fmt::format("{} runs begin so: {} and {}", found.size(), found[0], found[1]),
      fmt::format("`{}`, room {}", name, room), "give more digits of the id");
}

}  // namespace

base::Result<CommandResult> ShowRun(const Arguments& arguments, bool color) {
  const std::vector<std::string>& names = arguments.lists.at("PATH");
  if (names.size() != 1) {
    return base::Fail("CLI-0200", ExitCode::kUsage, "one run at a time",
                      "stepslack show run", "for example: stepslack show run 4f2a91");
  }
  const std::string format =
      arguments.Has("--format") ? arguments.Value("--format") : "text";
  if (format == "html") {
    return base::Fail("CLI-0201", ExitCode::kUsage, "a run has no page yet",
                      "stepslack show run --format html",
                      "use --format text or json; `show timeline` draws its traces");
  }
  SS_TRY(const std::string folder, FindRun(names.front(), arguments.Value("--room")));
  SS_TRY(const record::RunOverview overview,
         record::ReadRunOverview(folder, record::UnixMilliseconds()));
  // A run that failed is a finding, as a gate that is not met. One that is silent may
  // be in a long step: that is said, not judged.
  const bool failed = overview.status.state == record::RunState::kFailed;
  return CommandResult{.output = format == "json"
                                     ? record::ToJson(overview).Dump() + "\n"
                                     : render::RenderRunText(overview, color),
                       .exit_code = failed ? ExitCode::kFinding : ExitCode::kOk};
}

}  // namespace stepslack::cli
