#include "trial_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "command_template.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::study {
namespace {

using base::JoinPath;

constexpr std::string_view kTimeout = "timeout";

}  // namespace

base::Status WriteScript(const TrialCommand& command,
                         const std::vector<std::string>& directives) {
  const auto in_folder = [&](const char* name) {
    return ShellWord(JoinPath(command.folder, name));
  };
  std::string text = "#!/bin/sh\n";
  for (const std::string& line : directives) text += line + "\n";
  // A shell of its own for the command: what it can not parse is its error, not ours,
  // and a signal that it sends to its group does not take the note of its end along.
  text += fmt::format(
      "trap : INT TERM HUP\n"
      "echo $$ > {0} && mv {0} {1}\n"
      "cd {2} || exit 1\n"
      "start=$(date +%s.%N)\n"
      "/bin/sh {3} > {4} 2>&1 < /dev/null\n"
      "code=$?\n"
      "echo \"$code $start $(date +%s.%N)\" > {5} && mv {5} {6}\n",
      in_folder("pid.part"), in_folder("pid"), ShellWord(command.start_in),
      in_folder("user.sh"), in_folder("log.txt"), in_folder("exit.part"),
      in_folder("exit"));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(JoinPath(command.folder, "user.sh"),
                                           command.command + "\n"));
  return base::WriteFileAtomic(JoinPath(command.folder, "command.sh"), text);
}

std::optional<CommandEnd> ReadExit(const std::string& folder) {
  const auto text = base::ReadFile(JoinPath(folder, "exit"));
  if (!text) return std::nullopt;
  const auto words = base::Split(base::Trim(*text), ' ');
  if (words.size() != 3) return std::nullopt;
  const auto start = base::ParseDouble(words[1]);
  const auto stop = base::ParseDouble(words[2]);
  if (!start || !stop) return std::nullopt;
  CommandEnd end{.wall_seconds = *stop - *start};
  if (words[0] == kTimeout) {
    end.how = CommandEnd::How::kTimeout;
    return end;
  }
  const auto code = base::ParseInt(words[0]);
  if (!code) return std::nullopt;
  end.exit_code = static_cast<int>(*code);
  return end;
}

base::Status WriteExit(const std::string& folder, const CommandEnd& end) {
  return base::WriteFileAtomic(
      JoinPath(folder, "exit"),
      fmt::format("{} 0 {:.9f}\n", end.exit_code, end.wall_seconds));
}

base::Status WriteTimeout(const std::string& folder, double wall_seconds) {
  return base::WriteFileAtomic(JoinPath(folder, "exit"),
                               fmt::format("{} 0 {:.9f}\n", kTimeout, wall_seconds));
}

void RemoveTraces(const std::string& folder) {
  std::error_code ignored;
  for (const char* name : {"pid", "exit", "exit.part", "pid.part", "job"}) {
    std::filesystem::remove(JoinPath(folder, name), ignored);
  }
}

}  // namespace stepslack::study
