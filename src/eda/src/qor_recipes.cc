#include "qor_recipes.h"

#include <map>
#include <string_view>

#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

const std::map<std::string_view, std::string_view> kSteps = {
    {"b", "balance"},       {"rw", "rewrite"},
    {"rwz", "rewrite -z"},  {"rf", "refactor"},
    {"rfz", "refactor -z"}, {"rs", "resub -K 8 -N 2"},
    {"dc2", "dc2"},         {"rsz", "resub -z -K 8 -N 2"},
    {"dch", "dch"},         {"dchf", "dch -f"},
    {"ifr", "ifraig"},      {"sc", "scorr"}};

const std::map<std::string_view, std::string_view> kFinals = {
    {"map", "map\n"},
    {"amap", "amap\n"},
    {"mapbuf", "map -B 0.9\ntopo\nbuffer -c\nupsize\ndnsize\n"}};

QorRecipe Recipe(std::string name, std::string sequence, std::string final) {
  QorRecipe recipe{std::move(name), std::move(sequence), std::move(final), ""};
  for (const std::string_view step : base::Split(recipe.sequence, '-')) {
    if (!step.empty()) recipe.script.append(kSteps.at(step)).append("\n");
  }
  recipe.script += kFinals.at(recipe.final);
  return recipe;
}

}  // namespace

std::vector<QorRecipe> QorRecipes() {
  return {Recipe("plain", "", "map"),
          Recipe("default", "ifr-sc-dc2-dchf", "map"),
          Recipe("resyn2", "b-rw-rf-b-rw-rwz-b-rfz-rwz-b", "map"),
          Recipe("resyn2_dch", "b-rw-rf-b-rw-rwz-b-rfz-rwz-b-dch", "map"),
          Recipe("area", "dc2-dc2-b-rs-rsz", "amap"),
          Recipe("delay", "ifr-sc-dc2-dchf", "mapbuf"),
          Recipe("seq0", "rwz-rw-rf-rs-b-b", "map"),
          Recipe("seq1", "rfz-b-rw-b-rfz-b", "map"),
          Recipe("seq2", "rf-rs-b-rwz-b-rf", "amap"),
          Recipe("seq3", "b-rsz-rfz-b-rw-rs", "map"),
          Recipe("seq4", "rfz-rwz-b-dc2-b", "map"),
          Recipe("seq5", "rw-rf-b-rwz-rfz-b-dch", "map"),
          Recipe("seq6", "rsz-rs-rw-b-rfz", "map"),
          Recipe("seq7", "dc2-rf-b-rs-b", "mapbuf")};
}

}  // namespace stepslack::eda
