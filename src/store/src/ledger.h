// SQLite behind a small RAII wrapper; every failure becomes an Error.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/store/room.h"

namespace stepslack::store {

class Ledger {
 public:
  static base::Result<Ledger> Open(const std::string& path);
  Ledger(Ledger&& other) noexcept;
  Ledger& operator=(Ledger&& other) noexcept;
  ~Ledger();

  // Output of a stage as JSON text; no value when it is not recorded.
  base::Result<std::optional<std::string>> FindStage(std::string_view name,
                                                     std::string_view key) const;
  base::Status SaveStage(const StageEntry& entry, std::string_view output);
  base::Result<std::vector<StageEntry>> Stages() const;

 private:
  Ledger(sqlite3* database, std::string path);
  base::Status Execute(const char* sql) const;
  tl::unexpected<base::Error> Failure() const;

  sqlite3* database_ = nullptr;
  std::string path_;
};

}  // namespace stepslack::store
