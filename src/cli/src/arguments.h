// A parsed command line: which verb, and the text of each option that was given.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "option_table.h"
#include "stepslack/base/result.h"

namespace stepslack::cli {

struct Arguments {
  const VerbInfo* verb = nullptr;  // null: overview help was asked for
  bool help = false;
  bool version = false;
  std::string object;  // of `stepslack data --help`: whose actions to list
  // `stepslack help --markdown` or `--man`: all verbs, as docs/cli.md or
  // docs/stepslack.1.
  std::string reference;
  std::map<std::string, std::string, std::less<>> values;  // by option name
  // Of options that repeat, everything that was given; `values` has the first.
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  bool Has(std::string_view name) const { return values.contains(name); }
  // The given value, else the table's fallback.
  std::string Value(std::string_view name) const;
};

// A file that is both read and named by --output or --out; "" when there is none.
std::string InputThatIsOutput(const Arguments& arguments);

// CLI-0001 unknown verb, CLI-0002 unknown or misused option, CLI-0003 value not
// allowed; all exit 2, with a suggestion where one is near.
base::Result<Arguments> ParseArguments(int argc, const char* const* argv);

}  // namespace stepslack::cli
