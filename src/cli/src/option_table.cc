#include "option_table.h"

#include <fmt/format.h>

#include <map>

namespace stepslack::cli {
namespace {

constexpr std::string_view kExitCodes =
    "exit codes: 0 done, 1 finding or decision not `ship`, 2 usage or configuration,\n"
    "  3 input refused, 4 environment, 5 integrity, 70 our bug, 130 interrupted\n";

std::string Left(const OptionInfo& option) {
  std::string text(option.name);
  if (option.repeats) text += "...";
  if (!option.value.empty()) text += " " + std::string(option.value);
  return text;
}

// Text for roff: a leading dot or quote would be a request, a dash a soft hyphen.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string ManOption(const OptionInfo& option) {
  return fmt::format(".TP\n.B {}\n{}\n", Roff(Left(option)), Roff(option.help));
}

std::string OptionLine(const OptionInfo& option) {
  std::string text = fmt::format("  {:<24} {}", Left(option), option.help);
  if (!option.choices.empty()) {
    text += fmt::format(" ({})", fmt::join(option.choices, "|"));
  }
  if (!option.fallback.empty()) text += fmt::format(" [{}]", option.fallback);
  return text + "\n";
}

}  // namespace

std::span<const OptionInfo> CommonOptions() {
  static const std::array<OptionInfo, 5> options{{
      {"--format", "FORMAT", "", "form of the result on stdout", {}},
      {"--output", "FILE", "-", "write the result here instead of stdout", {}},
      {"--color", "WHEN", "auto", "colour in text output", {"auto", "always", "never"}},
      {"--threads", "N", "0", "threads of the analysis; 0: one per usable core", {}},
      {"--quiet", "", "", "no progress on stderr", {}},
  }};
  return options;
}

std::string OverviewHelp() {
  std::string text =
      "stepslack: sign-off for distributed training\n\n"
      "usage: stepslack VERB [options]     stepslack VERB --help\n";
  std::string_view group;
  for (const VerbInfo& verb : Verbs()) {
    if (verb.group != group) text += fmt::format("\n{}\n", verb.group);
    group = verb.group;
    text += fmt::format("  {:<12} {}\n", verb.name, verb.summary);
  }
  text += "\nexamples\n";
  for (const VerbInfo& verb : Verbs()) {
    if (verb.name == "review" || verb.name == "measure") {
      text += fmt::format("  {}\n", verb.examples.front());
    }
  }
  return text;
}

std::string ObjectHelp(std::string_view object) {
  std::string text = fmt::format(
      "usage: stepslack {0} ACTION [options]     stepslack {0} "
      "ACTION --help\n\nactions\n",
      object);
  for (const VerbInfo& verb : Verbs()) {
    if (!verb.name.starts_with(std::string(object) + " ")) continue;
    text +=
        fmt::format("  {:<12} {}\n", verb.name.substr(object.size() + 1), verb.summary);
  }
  return text + "\n" + std::string(kExitCodes);
}

std::string VerbHelp(const VerbInfo& verb) {
  std::string text = "examples\n";
  for (const std::string_view example : verb.examples) {
    text += fmt::format("  {}\n", example);
  }
  text += fmt::format("\nstepslack {}: {}\n", verb.name, verb.summary);
  if (!verb.options.empty()) text += "\narguments\n";
  for (const OptionInfo& option : verb.options) text += OptionLine(option);
  text += "\ncommon options\n";
  for (OptionInfo option : CommonOptions()) {
    if (option.name == "--format") {
      option.choices = verb.formats;
      option.fallback = verb.formats.front();
    }
    text += OptionLine(option);
  }
  return text + "\n" + std::string(kExitCodes);
}

std::string BashCompletion() {
  std::string verbs;
  std::string cases;
  std::string common;
  std::map<std::string_view, std::string> actions;  // by object
  for (const OptionInfo& option : CommonOptions()) {
    common += fmt::format("{} ", option.name);
  }
  for (const VerbInfo& verb : Verbs()) {
    const size_t space = verb.name.find(' ');
    if (space == std::string_view::npos) {
      verbs += fmt::format("{} ", verb.name);
    } else {
      std::string& known = actions[verb.name.substr(0, space)];
      if (known.empty()) verbs += fmt::format("{} ", verb.name.substr(0, space));
      known += fmt::format("{} ", verb.name.substr(space + 1));
    }
    std::string options;
    for (const OptionInfo& option : verb.options) {
      if (option.name.starts_with("--")) options += fmt::format("{} ", option.name);
    }
    cases += fmt::format("    \"{}{}\"*) words=\"{}{}\" ;;\n", verb.name,
                         space == std::string_view::npos ? " " : "", options, common);
  }
  std::string objects;
  for (const auto& [object, known] : actions) {
    objects += fmt::format("    {}) words=\"{}\" ;;\n", object, known);
  }
  return fmt::format(
      "# bash completion for stepslack\n"
      "_stepslack() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"{}\"\n"
      "  [[ $COMP_CWORD -gt 1 ]] && case \"${{COMP_WORDS[*]:1:2}} \" in\n{}"
      "  esac\n"
      "  [[ $COMP_CWORD -eq 2 ]] && case \"${{COMP_WORDS[1]}}\" in\n{}"
      "    *) ;;\n"
      "  esac\n"
      "  if [[ $word == -* || $COMP_CWORD -eq 1 ]] ||\n"
      "     [[ $COMP_CWORD -eq 2 && \"{}\" == *\" ${{COMP_WORDS[1]}} \"* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -F _stepslack stepslack\n",
      verbs, cases, objects, [&] {
        std::string names = " ";
        for (const auto& [object, known] : actions) names += fmt::format("{} ", object);
        return names;
      }());
}

std::string ManPage() {
  std::string text =
      ".TH STEPSLACK 1\n.SH NAME\nstepslack \\- sign\\-off for distributed training\n"
      ".SH SYNOPSIS\n.B stepslack\n.I VERB\n[options]\n";
  for (const VerbInfo& verb : Verbs()) {
    text += fmt::format(".SH {}\n{}\n", Roff(verb.name), Roff(verb.summary));
    for (const OptionInfo& option : verb.options) text += ManOption(option);
    text += ".PP\nExamples:\n.nf\n";
    for (const std::string_view example : verb.examples) text += Roff(example) + "\n";
    text += ".fi\n";
  }
  text += ".SH COMMON OPTIONS\n";
  for (const OptionInfo& option : CommonOptions()) text += ManOption(option);
  return text + ".SH EXIT STATUS\n" + Roff(kExitCodes);
}

std::string ReferenceMarkdown() {
  std::string text =
      "# Command line\n\n"
      "Made from the program's option table by `scripts/update_docs`. stdout carries "
      "the "
      "result only;\nprogress and messages go to stderr.\n";
  for (const VerbInfo& verb : Verbs()) {
    text += fmt::format("\n## stepslack {}\n\n```\n{}```\n", verb.name, VerbHelp(verb));
  }
  return text;
}

}  // namespace stepslack::cli
