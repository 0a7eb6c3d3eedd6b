// One table of verbs and options feeds parsing, help, completion and docs/cli.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::cli {

struct OptionInfo {
  std::string_view name;      // "--room"; a positional has no dashes: "FILE"
  std::string_view value;     // "DIR"; empty: a flag
  std::string_view fallback;  // shown in help
  std::string_view help;
  std::vector<std::string_view> choices;  // empty: any text
  bool repeats = false;                   // a positional that may be given many times
};

struct VerbInfo {
  std::string_view name;   // "measure", or with its object "data audit"
  std::string_view group;  // task in help: "decide", "keep", ...
  std::string_view summary;
  std::vector<std::string_view> examples;
  std::vector<OptionInfo> options;
  std::vector<std::string_view> formats;  // that --format may name; the first is usual
};

std::span<const VerbInfo> Verbs();
std::span<const OptionInfo>
CommonOptions();  // --format, -o, --color, --threads, --quiet

std::string OverviewHelp();                       // bare command, -h
std::string ObjectHelp(std::string_view object);  // the actions of `stepslack data`
std::string VerbHelp(const VerbInfo& verb);       // examples first, exit codes last
std::string BashCompletion();
std::string ReferenceMarkdown();  // docs/cli.md
std::string ManPage();            // docs/stepslack.1

}  // namespace stepslack::cli
