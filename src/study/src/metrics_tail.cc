#include "metrics_tail.h"

#include <fstream>

#include "stepslack/base/json.h"

namespace stepslack::study {

bool MetricsTail::Read() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return false;
  file.seekg(0, std::ios::end);
  // A resumed worker rewrites the file without the lines past its checkpoint.
  if (file.tellg() < offset_) offset_ = 0;
  file.seekg(offset_);
  bool any = false;
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    offset_ += static_cast<int64_t>(line.size()) + 1;
    const auto json = base::ParseJson(line, path_);
    if (!json) continue;
    any = true;
    samples_ = (*json)["samples_total"].AsInt(samples_);
    if ((*json)["kind"].AsString() == "eval") {
      relative_mae_ = (*json)["relative_mae"].AsDouble(relative_mae_);
    }
  }
  return any;
}

}  // namespace stepslack::study
