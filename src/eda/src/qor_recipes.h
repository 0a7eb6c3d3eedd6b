// The recipes of the synthesis data set: what is done to the logic before and by the
// mapper.
#pragma once

#include <string>
#include <vector>

namespace stepslack::eda {

struct QorRecipe {
  std::string name;
  std::string sequence;  // short form, a feature: "b-rw-rf-b"
  std::string final;     // kind of the mapping, a feature
  std::string script;    // commands of the mapper, one a line
};

// 14 of them: plain, default, resyn2, resyn2_dch, area, delay, and eight sequences
// drawn once.
std::vector<QorRecipe> QorRecipes();

}  // namespace stepslack::eda
