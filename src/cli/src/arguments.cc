#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "stepslack/base/text.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::Fail;

std::string Suggest(std::string_view word, const std::vector<std::string>& candidates,
                    const std::string& otherwise) {
  const std::string near = base::DidYouMean(word, candidates);
  return near.empty() ? otherwise : "did you mean `" + near + "`?";
}

// "data" of "data audit": what stands before the action in a verb of two words.
std::string_view Object(std::string_view verb) {
  const size_t space = verb.find(' ');
  return space == std::string_view::npos ? std::string_view() : verb.substr(0, space);
}

base::Result<const VerbInfo*> FindVerb(std::string_view first,
                                       std::string_view second) {
  std::vector<std::string> names;
  std::vector<std::string> actions;
  for (const VerbInfo& verb : Verbs()) {
    const std::string_view object = Object(verb.name);
    if (verb.name == first) return &verb;
    if (object.empty()) {
      names.emplace_back(verb.name);
    } else if (object != first) {
      if (names.empty() || names.back() != object) names.emplace_back(object);
    } else if (verb.name.substr(object.size() + 1) == second) {
      return &verb;
    } else {
      actions.emplace_back(verb.name.substr(object.size() + 1));
    }
  }
  if (!actions.empty()) {
    const bool absent = second.empty() || second.starts_with("-");
    return Fail("CLI-0014", ExitCode::kUsage,
                absent ? fmt::format("`{}` needs an action", first)
                       : fmt::format("`{}` has no action `{}`", first, second),
                "command line",
                Suggest(absent ? "" : second, actions,
                        fmt::format("use one of: {}", fmt::join(actions, ", "))));
  }
  return Fail("CLI-0001", ExitCode::kUsage, "unknown verb `" + std::string(first) + "`",
              "command line",
              Suggest(first, names, "`stepslack --help` lists the verbs"));
}

bool IsObject(std::string_view word) {
  return std::ranges::any_of(
      Verbs(), [&](const VerbInfo& verb) { return Object(verb.name) == word; });
}

struct Binding {
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, bool, std::less<>> flags;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
};

void Declare(CLI::App& app, const OptionInfo& option, Binding& binding) {
  const std::string name(option.name);
  std::string spelled = name;
  if (name == "--output") spelled = "-o,--output";
  if (option.name.starts_with("--") && option.value.empty()) {
    app.add_flag(spelled, binding.flags[name]);
  } else if (option.repeats) {
    app.add_option(spelled, binding.lists[name]);
  } else {
    app.add_option(spelled, binding.texts[name]);
  }
}

std::vector<std::string> OptionNames(const VerbInfo& verb) {
  std::vector<std::string> names;
  for (const OptionInfo& option : verb.options) names.emplace_back(option.name);
  for (const OptionInfo& option : CommonOptions()) names.emplace_back(option.name);
  return names;
}

const OptionInfo* FindOption(const VerbInfo& verb, std::string_view name) {
  for (const OptionInfo& option : verb.options) {
    if (option.name == name) return &option;
  }
  for (const OptionInfo& option : CommonOptions()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

base::Status CheckChoices(const VerbInfo& verb, const Arguments& arguments) {
  for (const auto& [name, value] : arguments.values) {
    const OptionInfo* option = FindOption(verb, name);
    SS_CHECK(option != nullptr);
    const auto& allowed = name == "--format" ? verb.formats : option->choices;
    if (allowed.empty()) continue;
    const std::vector<std::string> choices(allowed.begin(), allowed.end());
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      return Fail("CLI-0003", ExitCode::kUsage,
                  fmt::format("{} can not be `{}`", name, value), "command line",
                  Suggest(value, choices,
                          fmt::format("use one of: {}", fmt::join(choices, ", "))));
    }
  }
  return {};
}

base::Status CheckPositionals(const VerbInfo& verb, const Arguments& arguments) {
  for (const OptionInfo& option : verb.options) {
    if (option.name.starts_with("-") || arguments.Has(option.name)) continue;
    return Fail("CLI-0004", ExitCode::kUsage, fmt::format("{} is missing", option.name),
                fmt::format("stepslack {}", verb.name),
                fmt::format("for example: {}", verb.examples.front()));
  }
  return {};
}

}  // namespace

std::string Arguments::Value(std::string_view name) const {
  if (const auto found = values.find(name); found != values.end()) return found->second;
  if (name == "--format" && verb != nullptr) return std::string(verb->formats.front());
  const OptionInfo* option = verb != nullptr ? FindOption(*verb, name) : nullptr;
  return option != nullptr ? std::string(option->fallback) : std::string();
}

std::string InputThatIsOutput(const Arguments& arguments) {
  for (const char* output : {"--output", "--out"}) {
    if (!arguments.Has(output)) continue;
    const std::string target = arguments.Value(output);
    const auto same = [&](const std::string& input) {
      std::error_code error;
      return !input.empty() && std::filesystem::is_regular_file(input, error) &&
             std::filesystem::equivalent(input, target, error);
    };
    for (const auto& [name, value] : arguments.values) {
      if (name != output && same(value)) return value;
    }
    for (const auto& [name, values] : arguments.lists) {
      for (const std::string& value : values) {
        if (same(value)) return value;
      }
    }
  }
  return "";
}

base::Result<Arguments> ParseArguments(int argc, const char* const* argv) {
  Arguments arguments;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.empty() || first == "-h" || first == "--help" || first == "help") {
    arguments.help = true;
    if (argc > 2) arguments.reference = argv[2];
    return arguments;
  }
  if (first == "--version") {
    arguments.version = true;
    return arguments;
  }
  const std::string_view second = argc > 2 ? argv[2] : "";
  const bool asks = second == "-h" || second == "--help";
  if (asks && IsObject(first)) {
    arguments.help = true;
    arguments.object = first;
    return arguments;
  }
  SS_TRY(arguments.verb, FindVerb(first, second));
  const int skipped = Object(arguments.verb->name).empty() ? 1 : 2;

  CLI::App app;
  app.set_help_flag("-h,--help");
  Binding binding;
  for (const OptionInfo& option : arguments.verb->options)
    Declare(app, option, binding);
  for (const OptionInfo& option : CommonOptions()) Declare(app, option, binding);
  try {
    app.parse(argc - skipped, argv + skipped);
  } catch (const CLI::CallForHelp&) {
    arguments.help = true;
    return arguments;
  } catch (const CLI::ExtrasError&) {
    std::string extra;
    for (int i = skipped + 1; i < argc && extra.empty(); ++i) {
      const std::string word(
          std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('=')));
      if (word.starts_with("-") && FindOption(*arguments.verb, word) == nullptr &&
          word != "-o") {
        extra = word;
      }
    }
    return Fail("CLI-0002", ExitCode::kUsage,
                extra.empty() ? "too many arguments" : "unknown option `" + extra + "`",
                fmt::format("stepslack {}", arguments.verb->name),
                Suggest(extra, OptionNames(*arguments.verb),
                        fmt::format("`stepslack {} --help` lists the options",
                                    arguments.verb->name)));
  } catch (const CLI::ParseError& error) {
    return Fail(
        "CLI-0005", ExitCode::kUsage, error.what(),
        fmt::format("stepslack {}", arguments.verb->name),
        fmt::format("`stepslack {} --help` shows the usage", arguments.verb->name));
  }
  for (const auto& [name, text] : binding.texts) {
    const std::string key = name == "--output" ? "--output" : name;
    if (app.count(key) > 0) arguments.values[name] = text;
  }
  for (const auto& [name, texts] : binding.lists) {
    if (texts.empty()) continue;
    arguments.values[name] = texts.front();
    arguments.lists[name] = texts;
  }
  for (const auto& [name, set] : binding.flags) {
    if (set) arguments.values[name] = "1";
  }
  SS_RETURN_IF_ERROR(CheckChoices(*arguments.verb, arguments));
  SS_RETURN_IF_ERROR(CheckPositionals(*arguments.verb, arguments));
  return arguments;
}

}  // namespace stepslack::cli
