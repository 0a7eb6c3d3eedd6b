// Which sample is in which part, as a file:
//   CSV   id,part[,fold]  with part train, validation or test
//   JSON  {"policy", "seed", "parts": {"train": [...], "validation": [], "test": []}}
//   a folder of lists, one id a line: train*.txt, validation*.txt, test*.txt (also .gz)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::data {

struct SplitFile {
  std::string policy;  // "" when the file does not say
  int64_t seed = 0;
  // By part, in the order of the file; an id is in one part (of one fold) only.
  std::map<std::string, std::vector<std::string>> parts;
  std::map<std::string, std::string> folds;  // by id, when there is such a column
};

// DATA-0330 no such columns or parts, DATA-0331 an unknown part, DATA-0332 an id in two
// parts or twice, DATA-0333 train or test is empty; and what the table readers say.
base::Result<SplitFile> ReadSplitFile(const std::string& path);

// K-fold files hold one row an id, with its fold from 0 to K - 1. Division `fold` tests
// on that fold, validates on the next one (when there are three or more) and trains on
// the others. DATA-0334 no such fold.
base::Result<SplitFile> DivisionOf(const SplitFile& split, int64_t fold);

}  // namespace stepslack::data
