// A SQLite file of somebody else, read with distrust: read-only, immutable, real tables
// only, no functions of the schema, and a limit on the work.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::trace {

// The columns of one row that were asked for, by their position in the request. A
// column that the table does not have reads as absent.
class NsysRow {
 public:
  NsysRow(sqlite3_stmt* statement, int64_t number)
      : statement_(statement), number_(number) {}
  std::optional<int64_t> Int(int column) const;  // none for other types too
  std::string_view Text(int column) const;       // "" for other types
  int64_t number() const { return number_; }     // of the row, from 1

 private:
  sqlite3_stmt* statement_;
  int64_t number_;
};

class NsysDatabase {
 public:
  static base::Result<NsysDatabase> Open(const std::string& path);

  bool HasTable(std::string_view table) const { return tables_.contains(table); }

  enum class Walk { kDone, kDamaged, kTooMuchWork };
  // In the order of the file. A table that is missing has no rows. What came before the
  // damage has been visited.
  Walk ForEachRow(std::string_view table, std::span<const std::string_view> columns,
                  const std::function<void(const NsysRow&)>& visit) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  struct Budget {
    int64_t callbacks_left = 0;
    bool spent = false;
  };
  static int Tick(void* budget);
  std::set<std::string> ColumnsOf(std::string_view table) const;

  std::unique_ptr<Budget> budget_;  // outlives the connection that points to it
  std::unique_ptr<sqlite3, Close> database_;
  std::set<std::string, std::less<>> tables_;
};

}  // namespace stepslack::trace
