#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "arguments.h"
#include "commands.h"
#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"
#include "stepslack/base/text.h"

namespace {

using stepslack::base::ExitCode;

std::atomic<bool> stop_requested = false;

// Reviews and training runs have something to wind down; what else runs is read and
// written in one go.
std::atomic<bool> winds_down = false;

void OnStopSignal(int) {
  // A second signal ends the process at once; the room stays consistent in any case.
  if (stop_requested.exchange(true) || !winds_down.load()) {
    _exit(static_cast<int>(ExitCode::kInterrupted));
  }
}

// A closed stdin, stdout or stderr would be handed to the next file that is opened.
void HoldStandardDescriptors() {
  int descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = open("/dev/null", O_RDWR);
  }
  if (descriptor > STDERR_FILENO) close(descriptor);
}

void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// --color > NO_COLOR > TERM=dumb > is stdout a terminal.
bool WantsColor(const std::string& when) {
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::string(term) == "dumb") return false;
  return isatty(STDOUT_FILENO) == 1;
}

int Finish(ExitCode code) { return static_cast<int>(code); }

int Complain(const stepslack::base::Error& error) {
  std::fputs(stepslack::base::Describe(error).c_str(), stderr);
  return Finish(error.exit_code);
}

// Writes the result; a closed pipe or a full disk must not pass as success.
int Deliver(const std::string& output, const std::string& target, ExitCode code) {
  if (target != "-") {
    const auto status = stepslack::base::WriteResult(target, output);
    return status ? Finish(code) : Complain(status.error());
  }
  const size_t written = std::fwrite(output.data(), 1, output.size(), stdout);
  if (written != output.size() || std::fflush(stdout) != 0) {
    return Complain({"CLI-0008", ExitCode::kEnvironment,
                     "the result could not be written", "stdout",
                     "check the pipe or the disk; -o FILE writes to a file"});
  }
  return Finish(code);
}

}  // namespace

static int Run(int argc, char** argv) {
  namespace base = stepslack::base;
  namespace cli = stepslack::cli;
  HoldStandardDescriptors();
  CatchStopSignals();
  const auto arguments = cli::ParseArguments(argc, argv);
  if (!arguments) return Complain(arguments.error());
  if (arguments->version)
    return Deliver("stepslack " STEPSLACK_VERSION "\n", "-", ExitCode::kOk);
  if (arguments->reference == "--markdown") {
    return Deliver(cli::ReferenceMarkdown(), "-", ExitCode::kOk);
  }
  if (arguments->reference == "--man")
    return Deliver(cli::ManPage(), "-", ExitCode::kOk);
  if (arguments->help) {
    const auto* verb = arguments->verb;
    const std::string text = verb != nullptr ? cli::VerbHelp(*verb)
                             : arguments->object.empty()
                                 ? cli::OverviewHelp()
                                 : cli::ObjectHelp(arguments->object);
    return Deliver(text, "-", ExitCode::kOk);
  }
  const auto threads = base::ParseInt(arguments->Value("--threads"));
  if (!threads || *threads < 0 || *threads > 4096) {
    return Complain({"CLI-0009", ExitCode::kUsage,
                     "--threads must be a whole number from 0 to 4096", "command line",
                     "0 means one thread per usable core"});
  }
  if (const auto twice = cli::InputThatIsOutput(*arguments); !twice.empty()) {
    return Complain({"CLI-0015", ExitCode::kUsage, "the output would replace an input",
                     twice, "name another file to write"});
  }
  const bool terminal = isatty(STDERR_FILENO) == 1;
  base::Progress progress(arguments->Has("--quiet") ? base::Progress::Mode::kQuiet
                          : terminal                ? base::Progress::Mode::kTerminal
                                                    : base::Progress::Mode::kPlain);
  base::Context context;
  context.progress = &progress;
  context.threads = *threads == 0 ? base::UsableCores() : static_cast<int>(*threads);
  context.stop = &stop_requested;
  const std::string_view verb_name = arguments->verb->name;
  winds_down = verb_name == "review" || verb_name == "train" || verb_name == "study";
  const auto result =
      cli::RunCommand(*arguments, context, WantsColor(arguments->Value("--color")));
  if (!result) {
    progress.ClearLine();
    return Complain(result.error());
  }
  return Deliver(result->output, result->to_stdout ? "-" : arguments->Value("--output"),
                 result->exit_code);
}

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return Complain({"CLI-0013", ExitCode::kEnvironment, "there is not enough memory",
                     "", "give fewer files at a time, or use fewer --threads"});
  }
}
