#include "data_choose.h"

#include "stepslack/eda/qor_table.h"
#include "stepslack/quality/recipe_choice.h"

namespace stepslack::cli {

base::Result<CommandResult> DataChoose(const Arguments& arguments,
                                       const base::Context& context) {
  quality::RecipeChoiceOptions options;
  options.choice = arguments.Value("--choice");
  options.minimise = arguments.Value("--minimise");
  options.family = arguments.Value("--group");
  options.design = arguments.Value("--design");
  options.threads = context.threads;
  SS_TRY(const data::Table table, eda::ReadQorTable(arguments.Value("TABLE")));
  SS_TRY(const quality::RecipeChoiceReport report,
         quality::CompareRecipeChoice(table, options));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json ? quality::ToJson(report).Dump() + "\n"
                                         : quality::Describe(report)};
}

}  // namespace stepslack::cli
