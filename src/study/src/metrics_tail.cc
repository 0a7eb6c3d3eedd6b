#include "metrics_tail.h"

#include <sys/stat.h>

#include <fstream>

#include "stepslack/base/json.h"

namespace stepslack::study {

bool MetricsTail::Read() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return false;
  // A resumed worker replaces the file by one without the lines past its checkpoint.
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) return false;
  if (facts.st_ino != inode_ || facts.st_size < offset_) offset_ = 0;
  inode_ = facts.st_ino;
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
