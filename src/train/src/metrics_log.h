// The metrics of a rank: one record a line, visible to a watcher within a second.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::train {

class MetricsLog {
 public:
  // Keeps the records of an earlier attempt up to and including step `keep_steps` and
  // drops later and damaged lines, so that no step appears twice. TRAIN-0012: the file
  // can not be written.
  static base::Result<MetricsLog> Open(const std::string& path, int64_t keep_steps);

  // Buffered; written out after a second at most, or by Flush.
  base::Status Append(const base::Json& record);
  base::Status Flush();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  base::Status CannotWrite() const;
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t flushed_ns_ = 0;
};

}  // namespace stepslack::train
