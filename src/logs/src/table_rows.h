// Rows of named cells to records of a series builder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python_json.h"
#include "series_builder.h"
#include "stepslack/base/result.h"
#include "stepslack/logs/table_log.h"

namespace stepslack::logs {

// Decimal text of a time since 1970 to ns; the unit by its size when kDetect.
std::optional<int64_t> EpochTime(std::string_view text, TimeUnit unit);

class RowReader {
 public:
  RowReader(std::string_view name, std::string_view format,
            const ColumnMapping& mapping)
      : builder_(name, format), mapping_(mapping) {}

  void Add(const Row& row, size_t offset);
  SeriesBuilder& builder() { return builder_; }
  int64_t rows() const { return rows_; }
  // Fails when the user named a column that no row has (LOGS-0011).
  base::Result<SeriesSet> Finish();

 private:
  enum class Role { kMetric, kStep, kPosition, kTime, kIgnored };

  Role RoleOf(std::string_view key) const;
  void AddMetric(const std::string& key, const std::string& text);
  void NoteOrigin();

  SeriesBuilder builder_;
  const ColumnMapping& mapping_;
  int64_t rows_ = 0;
  bool saw_step_ = false, saw_samples_ = false, saw_time_ = false;
  bool wandb_ = false, own_run_ = false;
};

}  // namespace stepslack::logs
