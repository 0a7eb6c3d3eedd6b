// Trials as jobs of a Slurm cluster. The job writes its end into the trial's folder
// itself (a file system that all nodes share), so the queue is asked only whether a job
// without an end is still there.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "command_template.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"
#include "trial_files.h"
#include "trial_process.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

constexpr double kAnswerSeconds = 60;  // most for one call of sbatch or squeue
constexpr int kMissesBeforeLost = 3;   // a shared file may become visible late

struct Answer {
  bool well = false;
  std::string text;
};

// Runs a client of Slurm found by PATH; its output goes to `file`.
Answer Ask(const std::string& shell_words, const std::string& file) {
  base::Status emptied = base::WriteFileAtomic(file, "");
  if (!emptied) return {false, emptied.error().what};
  auto process = base::Process::Start(
      {.argv = {"/bin/sh", "-c", shell_words}, .env = {}, .log_path = file});
  if (!process) return {false, process.error().what};
  const int64_t start = base::NowNs();
  std::optional<base::ProcessEnd> end;
  while (!(end = process->Poll())) {
    if (1e-9 * static_cast<double>(base::NowNs() - start) > kAnswerSeconds) {
      process->Kill();
      return {false, fmt::format("no answer within {} s", kAnswerSeconds)};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto text = base::ReadFile(file);
  return {end->signal == 0 && end->exit_code == 0,
          std::string(base::Trim(text ? *text : std::string()))};
}

std::string JobName(const TrialCommand& command) {
  return "stepslack-" + base::FileName(command.folder);
}

// The number of the trial's job: noted, or known to the queue by the job's name.
std::string FindJob(const TrialCommand& command) {
  const auto noted = base::ReadFile(JoinPath(command.folder, "job"));
  if (noted) return std::string(base::Trim(*noted));
  const Answer answer =
      Ask(fmt::format("squeue --noheader --name={} --format=%i", JobName(command)),
          JoinPath(command.folder, "squeue.txt"));
  if (!answer.well) return "";
  return std::string(base::Trim(base::Split(answer.text, '\n').front()));
}

base::Result<std::string> Submit(const TrialCommand& command,
                                 const StudySlurm& settings) {
  const auto minutes =
      static_cast<int64_t>(command.timeout_seconds / 60) + 1;  // sbatch counts minutes
  std::vector<std::string> directives = {
      "#SBATCH --job-name=" + JobName(command),
      fmt::format("#SBATCH --ntasks={}", command.ranks),
      fmt::format("#SBATCH --time={}", minutes),
      "#SBATCH --output=" + JoinPath(command.folder, "slurm.txt")};
  SS_RETURN_IF_ERROR(WriteScript(command, directives));
  std::string words = "sbatch --parsable";
  for (const std::string& option : settings.options) {
    words += " " + ShellWord(option);
  }
  words += " " + ShellWord(JoinPath(command.folder, "command.sh"));
  const Answer answer = Ask(words, JoinPath(command.folder, "sbatch.txt"));
  const std::string job(base::Split(answer.text, ';').front());
  if (!answer.well || !base::ParseInt(job)) {
    return Fail(
        "STUDY-0203", ExitCode::kEnvironment,
        fmt::format("sbatch did not take the job: {}", answer.text.substr(0, 400)),
        JoinPath(command.folder, "command.sh"),
        "check slurm_options and that sbatch is in PATH; where = \"local\" "
        "needs no Slurm");
  }
  SS_RETURN_IF_ERROR(
      base::WriteFileAtomic(JoinPath(command.folder, "job"), job + "\n"));
  return job;
}

}  // namespace

base::Result<CommandEnd> RunInSlurm(const TrialCommand& command,
                                    const StudySlurm& settings,
                                    const base::Context& context) {
  if (auto end = ReadExit(command.folder)) {
    end->found = true;
    return *end;
  }
  std::string job = FindJob(command);
  if (job.empty()) {
    SS_TRY(job, Submit(command, settings));
  }
  const int64_t start = base::NowNs();
  int misses = 0;
  for (;;) {
    if (auto end = ReadExit(command.folder)) return *end;
    if (context.StopRequested()) {
      return Fail("STUDY-0204", ExitCode::kInterrupted,
                  fmt::format("interrupted; job {} stays in the queue", job),
                  command.folder, "run the same command again to wait for it");
    }
    const Answer answer =
        Ask(fmt::format("squeue --noheader --jobs={} --format=%T", job),
            JoinPath(command.folder, "squeue.txt"));
    // A job that squeue does not know has ended; one that it can not be asked about is
    // waited for.
    const bool gone = (answer.well && answer.text.empty()) ||
                      answer.text.find("Invalid job id") != std::string::npos;
    misses = gone ? misses + 1 : 0;
    if (misses >= kMissesBeforeLost) {
      if (auto end = ReadExit(command.folder)) return *end;
      return CommandEnd{
          .how = CommandEnd::How::kLost,
          .wall_seconds = 1e-9 * static_cast<double>(base::NowNs() - start)};
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.poll_seconds));
  }
}

}  // namespace stepslack::study
