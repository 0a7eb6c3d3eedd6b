#include "stepslack/diagnose/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "stepslack/base/config.h"
#include "stepslack/base/text.h"
#include "stepslack/diagnose/fact_names.h"

namespace stepslack::diagnose {
namespace {

using base::ConfigTable;

constexpr double kLargest = 1e300;
constexpr auto kOperators =
    std::to_array({Operator::kAbove, Operator::kBelow, Operator::kAtLeast,
                   Operator::kAtMost, Operator::kEqual});

std::vector<std::string> FactNames() {
  std::vector<std::string> names;
  for (const FactName& fact : KnownFacts()) names.emplace_back(fact.name);
  return names;
}

std::string Suggest(std::string_view word, std::span<const std::string> known) {
  const std::string near = base::DidYouMean(word, known);
  if (!near.empty()) return fmt::format("did you mean `{}`?", near);
  return fmt::format("known: {}", fmt::join(known, ", "));
}

// Refuses `word`, which stands at `key`, unless it is known.
void RequireKnown(ConfigTable& table, std::string_view key, std::string_view kind,
                  std::string_view word, std::span<const std::string> known) {
  if (std::ranges::find(known, word) != known.end()) return;
  table.Reject(key, fmt::format("`{}` is not a known {}", word, kind),
               Suggest(word, known));
}

void RequireText(ConfigTable& table, std::string_view key, const std::string& text) {
  if (!table.Has(key) || !base::Trim(text).empty()) return;
  table.Reject(key, fmt::format("`{}` is empty", key), "say it in one sentence");
}

// A fact name; "" when the key is absent and `fallback` allows it.
std::string ReadFact(ConfigTable& table, std::string_view key,
                     std::optional<std::string> fallback) {
  std::string fact = table.String(key, std::move(fallback));
  if (table.Has(key)) RequireKnown(table, key, "fact", fact, FactNames());
  return fact;
}

Predicate ReadPredicate(ConfigTable& table) {
  Predicate predicate;
  predicate.fact = ReadFact(table, "fact", {});
  const std::string op = table.String("op");
  const auto* known = std::ranges::find(kOperators, op, ToString);
  if (known != kOperators.end()) {
    predicate.op = *known;
  } else if (table.Has("op")) {
    table.Reject("op", fmt::format("`{}` is not a comparison", op),
                 "use one of >, <, >=, <=, ==");
  }
  predicate.value = table.Double("value", {}, -kLargest, kLargest);
  return predicate;
}

Explains ReadExplains(ConfigTable& table, std::span<const std::string> affects) {
  Explains explains;
  explains.category = table.String("for");
  if (table.Has("for")) {
    RequireKnown(table, "for", "category of this cause", explains.category, affects);
  }
  explains.part = ReadFact(table, "part", {});
  explains.of = ReadFact(table, "of", "");
  explains.of_lost = ReadFact(table, "of_lost", "");
  if (table.Has("of") && table.Has("of_lost")) {
    table.Reject("of_lost", "`of` and `of_lost` together", "keep one of them");
  }
  return explains;
}

Cause ReadCause(ConfigTable& table) {
  Cause cause;
  cause.id = table.String("id");
  cause.layer = table.String("layer");
  cause.title = table.String("title");
  cause.affects = table.Strings("affects");
  cause.competitors = table.Strings("competitors");
  cause.discriminating_test = table.String("discriminating_test");
  cause.experiment = table.String("experiment");
  cause.fix = table.String("fix");
  cause.owner = table.String("owner");
  for (const auto& [key, text] : std::map<std::string_view, const std::string*>{
           {"id", &cause.id},
           {"title", &cause.title},
           {"discriminating_test", &cause.discriminating_test},
           {"experiment", &cause.experiment},
           {"fix", &cause.fix},
           {"owner", &cause.owner}}) {
    RequireText(table, key, *text);
  }
  if (table.Has("layer")) {
    const std::vector<std::string> layers(Layers().begin(), Layers().end());
    RequireKnown(table, "layer", "layer", cause.layer, layers);
  }
  const std::vector<std::string> categories(KnownCategories().begin(),
                                            KnownCategories().end());
  for (const std::string& category : cause.affects) {
    RequireKnown(table, "affects", "category", category, categories);
  }
  if (cause.affects.empty()) {
    table.Reject("affects", "a cause must affect at least one kind of metric",
                 "write affects = [\"quality\"]");
  }
  for (ConfigTable* explains : table.Tables("explains")) {
    cause.explains.push_back(ReadExplains(*explains, cause.affects));
  }
  for (ConfigTable* when : table.Tables("when")) {
    cause.when.push_back(ReadPredicate(*when));
  }
  if (cause.when.empty()) {
    table.Reject("", fmt::format("cause `{}` has no signature", cause.id),
                 "add [[cause.when]] with fact, op and value");
  }
  return cause;
}

// What needs all the causes: ids given twice, competitors that do not exist.
void CheckTogether(const Catalogue& catalogue, std::span<ConfigTable* const> tables) {
  std::map<std::string, std::string, std::less<>> first_place;
  std::vector<std::string> ids;
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string& id = catalogue.causes[i].id;
    const auto [place, is_new] = first_place.emplace(id, tables[i]->Where("id"));
    if (!is_new) {
      tables[i]->Reject("id", fmt::format("cause id `{}` is given twice", id),
                        "the first one is at " + place->second);
    }
    ids.push_back(id);
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    for (const std::string& competitor : catalogue.causes[i].competitors) {
      RequireKnown(*tables[i], "competitors", "cause", competitor, ids);
    }
  }
}

// `name` is the file, for errors about the whole of it.
base::Result<Catalogue> ReadCatalogue(ConfigTable root, std::string_view name) {
  const std::vector<ConfigTable*> tables = root.Tables("cause");
  Catalogue catalogue;
  for (ConfigTable* table : tables) catalogue.causes.push_back(ReadCause(*table));
  CheckTogether(catalogue, tables);
  SS_RETURN_IF_ERROR(root.Finish());
  if (catalogue.causes.empty()) {
    return base::Fail("DIAG-0001", base::ExitCode::kUsage,
                      "the catalogue names no cause", std::string(name),
                      "add [[cause]] tables; docs/causes.md shows one");
  }
  const auto rank = [](const Cause& cause) {
    return std::ranges::find(Layers(), cause.layer) - Layers().begin();
  };
  std::ranges::stable_sort(catalogue.causes, {}, rank);
  return catalogue;
}

}  // namespace

const Cause* Catalogue::Find(std::string_view id) const {
  const auto found = std::ranges::find(causes, id, &Cause::id);
  return found == causes.end() ? nullptr : &*found;
}

base::Result<Catalogue> ParseCatalogue(std::string_view text, std::string_view name) {
  SS_TRY(ConfigTable root, ConfigTable::Parse(text, name));
  return ReadCatalogue(std::move(root), name);
}

base::Result<Catalogue> LoadCatalogue(const std::string& path) {
  SS_TRY(ConfigTable root, ConfigTable::Load(path));
  return ReadCatalogue(std::move(root), path);
}

}  // namespace stepslack::diagnose
