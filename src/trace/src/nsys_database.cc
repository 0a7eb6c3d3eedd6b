#include "nsys_database.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace stepslack::trace {
namespace {

constexpr int kStepsPerCallback = 100'000;
constexpr int kLongestValue = 16 << 20;  // a text or blob of one field, bytes
// A row of an export takes about 20 steps of the engine and has 10 bytes or more.
constexpr int64_t kStepsPerByte = 20;
constexpr int64_t kFreeSteps = 5'000'000;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement Prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  return Statement(statement);
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted.push_back(c);
    if (c == '"') quoted.push_back(c);
  }
  return quoted + "\"";
}

// A path as the body of a file: URI, so that no character of it is an option.
std::string UriPath(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '_' ||
                       c == '-';
    uri += plain ? std::string(1, c)
                 : fmt::format("%{:02X}",
                               static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri;
}

std::string ColumnText(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return text == nullptr ? std::string()
                         : std::string(reinterpret_cast<const char*>(text),
                                       static_cast<size_t>(size));
}

}  // namespace

std::optional<int64_t> NsysRow::Int(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

std::string_view NsysRow::Text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
  const unsigned char* text = sqlite3_column_text(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(size)};
}

int NsysDatabase::Tick(void* data) {
  auto* budget = static_cast<Budget*>(data);
  if (--budget->callbacks_left >= 0) return 0;
  budget->spent = true;
  return 1;
}

base::Result<NsysDatabase> NsysDatabase::Open(const std::string& path) {
  const auto refused = [&path](const std::string& why) {
    return base::Fail("TRACE-0172", base::ExitCode::kInput,
                      "this can not be read as an SQLite database: " + why, path,
                      "export the report again: nsys export --type sqlite REPORT");
  };
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return refused(error.message());
  NsysDatabase opened;
  opened.budget_ = std::make_unique<Budget>();
  opened.budget_->callbacks_left =
      (kFreeSteps + static_cast<int64_t>(size) * kStepsPerByte) / kStepsPerCallback;
  sqlite3* database = nullptr;
  const std::string uri = "file:" + UriPath(path) + "?mode=ro&immutable=1";
  const int code = sqlite3_open_v2(uri.c_str(), &database,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  opened.database_.reset(database);
  if (code != SQLITE_OK) return refused(sqlite3_errstr(code));
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(database, kStepsPerCallback, &NsysDatabase::Tick,
                           opened.budget_.get());
  const Statement tables =
      Prepare(database,
              "SELECT name FROM sqlite_master WHERE type = 'table' AND "
              "sql NOT LIKE 'CREATE VIRTUAL%'");
  if (tables == nullptr) return refused(sqlite3_errmsg(database));
  int step = SQLITE_DONE;
  while ((step = sqlite3_step(tables.get())) == SQLITE_ROW) {
    opened.tables_.insert(ColumnText(tables.get(), 0));
  }
  if (step != SQLITE_DONE) return refused(sqlite3_errmsg(database));
  return opened;
}

std::set<std::string> NsysDatabase::ColumnsOf(std::string_view table) const {
  std::set<std::string> columns;
  const Statement info =
      Prepare(database_.get(), fmt::format("PRAGMA table_info({})", Quoted(table)));
  while (info != nullptr && sqlite3_step(info.get()) == SQLITE_ROW) {
    columns.insert(ColumnText(info.get(), 1));
  }
  return columns;
}

NsysDatabase::Walk NsysDatabase::ForEachRow(
    std::string_view table, std::span<const std::string_view> columns,
    const std::function<void(const NsysRow&)>& visit) const {
  if (!HasTable(table)) return Walk::kDone;
  const std::set<std::string> present = ColumnsOf(table);
  std::string sql;
  for (const std::string_view column : columns) {
    sql += sql.empty() ? "SELECT " : ", ";
    sql += present.contains(std::string(column)) ? Quoted(column) : "NULL";
  }
  sql += " FROM " + Quoted(table);
  const Statement statement = Prepare(database_.get(), sql);
  int step = statement == nullptr ? SQLITE_CORRUPT : SQLITE_ROW;
  int64_t number = 0;
  while (step == SQLITE_ROW) {
    step = sqlite3_step(statement.get());
    if (step == SQLITE_ROW) visit(NsysRow(statement.get(), ++number));
  }
  if (step == SQLITE_DONE) return Walk::kDone;
  return budget_->spent ? Walk::kTooMuchWork : Walk::kDamaged;
}

}  // namespace stepslack::trace
