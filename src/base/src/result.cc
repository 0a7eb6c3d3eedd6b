#include "stepslack/base/result.h"

#include <cstdio>
#include <cstdlib>

#include "stepslack/base/utf8.h"

namespace stepslack::base {

std::string Describe(const Error& error) {
  // Names of files and arguments may hold anything; no escape may reach a terminal.
  std::string text = "error[" + error.id + "]: ";
  if (!error.where.empty()) text += OneLine(error.where) + ": ";
  text += OneLine(error.what) + "\n";
  if (!error.help.empty()) text += "help: " + OneLine(error.help) + "\n";
  return text;
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "bug[BASE-0099]: %s:%d: check failed: %s\n", file, line,
               condition);
  std::fprintf(stderr,
               "help: this is an error in stepslack itself; please report it\n");
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

}  // namespace stepslack::base
