#include "ledger.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace stepslack::store {
namespace {

constexpr int kSchemaVersion = 1;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement Prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Statement(statement);
}

void Bind(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

std::string Text(sqlite3_stmt* statement, int column) {
  const auto* text =
      reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text != nullptr ? text : "";
}

}  // namespace

Ledger::Ledger(sqlite3* database, std::string path)
    : database_(database), path_(std::move(path)) {}

Ledger::Ledger(Ledger&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      path_(std::move(other.path_)) {}

Ledger& Ledger::operator=(Ledger&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(path_, other.path_);
  return *this;
}

Ledger::~Ledger() { sqlite3_close(database_); }

tl::unexpected<base::Error> Ledger::Failure() const {
  const int code = sqlite3_errcode(database_);
  const bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
  return base::Fail(
      "STORE-0004", damaged ? base::ExitCode::kIntegrity : base::ExitCode::kEnvironment,
      fmt::format("ledger: {}", sqlite3_errmsg(database_)), path_,
      damaged ? "move the file away; stages are then computed again, runs are kept"
              : "check free space and permissions of the room");
}

base::Status Ledger::Execute(const char* sql) const {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return Failure();
  return {};
}

base::Result<Ledger> Ledger::Open(const std::string& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open(path.c_str(), &database);
  Ledger ledger(database, path);
  if (code != SQLITE_OK) return ledger.Failure();
  sqlite3_busy_timeout(database, 5000);
  SS_RETURN_IF_ERROR(ledger.Execute("PRAGMA journal_mode = WAL"));
  SS_RETURN_IF_ERROR(ledger.Execute("PRAGMA synchronous = FULL"));
  const Statement version = Prepare(database, "PRAGMA user_version");
  if (version == nullptr || sqlite3_step(version.get()) != SQLITE_ROW) {
    return ledger.Failure();
  }
  if (sqlite3_column_int(version.get(), 0) > kSchemaVersion) {
    return base::Fail("STORE-0006", base::ExitCode::kEnvironment,
                      "the ledger was written by a newer stepslack", path,
                      "use that version, or another room");
  }
  SS_RETURN_IF_ERROR(ledger.Execute(
      "CREATE TABLE IF NOT EXISTS stages (name TEXT NOT NULL, key TEXT NOT NULL, "
      "output TEXT NOT NULL, seconds REAL NOT NULL, created_utc TEXT NOT NULL, "
      "PRIMARY KEY (name, key)) WITHOUT ROWID"));
  SS_RETURN_IF_ERROR(
      ledger.Execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str()));
  return ledger;
}

base::Result<std::optional<std::string>> Ledger::FindStage(std::string_view name,
                                                           std::string_view key) const {
  const Statement statement =
      Prepare(database_, "SELECT output FROM stages WHERE name = ? AND key = ?");
  if (statement == nullptr) return Failure();
  Bind(statement.get(), 1, name);
  Bind(statement.get(), 2, key);
  const int code = sqlite3_step(statement.get());
  if (code == SQLITE_DONE) return std::optional<std::string>();
  if (code != SQLITE_ROW) return Failure();
  return std::optional<std::string>(Text(statement.get(), 0));
}

base::Status Ledger::SaveStage(const StageEntry& entry, std::string_view output) {
  const Statement statement =
      Prepare(database_,
              "INSERT OR REPLACE INTO stages (name, key, output, seconds, created_utc) "
              "VALUES (?, ?, ?, ?, ?)");
  if (statement == nullptr) return Failure();
  Bind(statement.get(), 1, entry.name);
  Bind(statement.get(), 2, entry.key);
  Bind(statement.get(), 3, output);
  sqlite3_bind_double(statement.get(), 4, entry.seconds);
  Bind(statement.get(), 5, entry.created_utc);
  if (sqlite3_step(statement.get()) != SQLITE_DONE) return Failure();
  return {};
}

base::Result<std::vector<StageEntry>> Ledger::Stages() const {
  const Statement statement = Prepare(
      database_,
      "SELECT name, key, created_utc, seconds FROM stages ORDER BY created_utc, name");
  if (statement == nullptr) return Failure();
  std::vector<StageEntry> entries;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    entries.push_back({.name = Text(statement.get(), 0),
                       .key = Text(statement.get(), 1),
                       .created_utc = Text(statement.get(), 2),
                       .seconds = sqlite3_column_double(statement.get(), 3)});
  }
  if (code != SQLITE_DONE) return Failure();
  return entries;
}

}  // namespace stepslack::store
