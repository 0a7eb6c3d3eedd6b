#include "option_table.h"

#include <fmt/format.h>

#include <array>

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

std::span<const VerbInfo> Verbs() {
  static const OptionInfo traces{
      "PATH", "", "", "files, folders, patterns or archives of traces", {}, true};
  static const std::array<VerbInfo, 11> verbs{{
      {"import",
       "get data in",
       "recognise and read traces, logs and dumps; keep what they say in a room",
       {"stepslack import traces/ --room room"},
       {traces, {"--room", "DIR", "room", "the room to keep it in", {}}},
       {"text", "json"}},
      {"train",
       "train",
       "train a model over many ranks and keep the record of the run",
       {"stepslack train examples/irdrop/run.toml --ranks 2 --room room",
        "mpirun -np 2 stepslack train run.toml --backend mpi"},
       {{"FILE", "", "", "run.toml: data, model, training, communication", {}},
        {"--ranks", "N", "", "training processes instead of the file's number", {}},
        {"--room", "DIR", "room", "where data, runs and the ledger are kept", {}},
        {"--seed", "N", "", "seed instead of the file's", {}},
        {"--backend",
         "NAME",
         "",
         "how ranks talk to each other instead of the file's choice",
         {"auto", "shm", "gloo", "mpi", "hier", "nccl"}},
        {"--no-comm",
         "",
         "",
         "no gradient exchange: what the same ranks cost without communication",
         {}},
        {"--again", "", "", "train anew although such a run is in the room", {}}},
       {"text", "json"}},
      {"measure",
       "measure",
       "what the traces of a run say: exact times, waits, causes of lost time",
       {"stepslack measure traces/", "stepslack measure traces/ --format json",
        "stepslack measure 'run/*.json.gz' --by collective --format csv"},
       {traces,
        {"--by",
         "WHAT",
         "",
         "one table of this instead of the summary",
         {"rank", "step", "phase", "collective", "kernel", "stream"}}},
       {"text", "json", "csv", "markdown", "html"}},
      {"compare",
       "measure",
       "what changed between two sets of traces, or of training logs",
       {"stepslack compare before/ after/",
        "stepslack compare runs_a/ runs_b/ --format json"},
       {{"BEFORE", "", "", "file, folder, pattern or archive", {}},
        {"AFTER", "", "", "file, folder, pattern or archive", {}}},
       {"text", "json", "markdown"}},
      {"show",
       "measure",
       "something to look at: the timeline of all ranks, or how a run goes",
       {"stepslack show timeline traces/ -o timeline.html",
        "stepslack show run 4f2a91 --room room",
        "stepslack show run DIR --format json"},
       {{"WHAT", "", "", "what to show", {"timeline", "run"}},
        {"PATH", "", "", "traces of a timeline; id or folder of a run", {}, true},
        {"--room", "DIR", "room", "the room that has the run of this id", {}}},
       {"html", "text", "json"}},
      {"export",
       "measure",
       "one merged trace with corrected clocks and marked findings",
       {"stepslack export perfetto traces/ -o merged.json.gz"},
       {{"WHAT", "", "", "for which viewer", {"perfetto"}}, traces},
       {"json"}},
      {"review",
       "decide",
       "run the whole review: data, training, measurement, diagnosis, decision",
       {"stepslack review examples/irdrop/review.toml --room room",
        "stepslack review review.toml --data maps/ --format json"},
       {{"FILE", "", "", "review.toml: decision, requirements, data, training", {}},
        {"--room", "DIR", "room", "where results and the cache are kept", {}},
        {"--data",
         "DIR",
         "",
         "read maps from this folder instead of the configured one",
         {}},
        {"--ranks",
         "N",
         "",
         "training processes instead of the configured number",
         {}}},
       {"text", "json", "markdown", "html"}},
      {"verify",
       "decide",
       "check a capsule: every artifact's digest against its file",
       {"stepslack verify room/capsule.json"},
       {{"FILE", "", "", "capsule.json inside its room", {}}},
       {"text"}},
      {"log",
       "keep",
       "list what a room has computed, oldest first",
       {"stepslack log --room room"},
       {{"--room", "DIR", "room", "the room to list", {}}},
       {"text", "json"}},
      {"doctor",
       "keep",
       "check this machine for what slows or breaks training",
       {"stepslack doctor", "stepslack doctor --format json"},
       {},
       {"text", "json"}},
      {"completion",
       "keep",
       "print the completion script for bash",
       {"stepslack completion > /etc/bash_completion.d/stepslack"},
       {},
       {"text"}},
  }};
  return verbs;
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
  for (const OptionInfo& option : CommonOptions()) {
    common += fmt::format("{} ", option.name);
  }
  for (const VerbInfo& verb : Verbs()) {
    verbs += fmt::format("{} ", verb.name);
    std::string options;
    for (const OptionInfo& option : verb.options) {
      if (option.name.starts_with("--")) options += fmt::format("{} ", option.name);
    }
    cases += fmt::format("    {}) words=\"{}{}\" ;;\n", verb.name, options, common);
  }
  return fmt::format(
      "# bash completion for stepslack\n"
      "_stepslack() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"{}\"\n"
      "  [[ $COMP_CWORD -gt 1 ]] && case \"${{COMP_WORDS[1]}}\" in\n{}"
      "  esac\n"
      "  if [[ $word == -* || $COMP_CWORD -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -F _stepslack stepslack\n",
      verbs, cases);
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
