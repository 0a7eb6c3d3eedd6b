#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "byte_stream.h"
#include "row_reader.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using base::Json;

// Nested objects become columns "outer.inner"; a list stays one cell of JSON text.
void Flatten(const Json& value, const std::string& name,
             std::map<std::string, std::string>& cells) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.AsObject()) {
      Flatten(inner, name.empty() ? key : name + "." + key, cells);
    }
  } else {
    cells[name] = value.is_string() ? value.AsString() : value.Dump(-1);
  }
}

class JsonRows : public RowReader {
 public:
  JsonRows(std::string path, bool lines) : path_(std::move(path)), lines_(lines) {}

  const std::vector<std::string>& names() const override { return names_; }

  // Columns are all names that occur in any record.
  base::Status Start() {
    SS_RETURN_IF_ERROR(Rewind());
    std::map<std::string, size_t> found;
    while (true) {
      SS_TRY(const bool any, NextRecord());
      if (!any) break;
      for (const auto& [name, text] : cells_) found.emplace(name, 0);
    }
    for (const auto& [name, place] : found) names_.push_back(name);
    if (names_.empty()) return NoRecords("it holds no record with a value");
    return Rewind();
  }

  base::Result<bool> Next(std::vector<std::string_view>& row) override {
    SS_TRY(const bool any, NextRecord());
    row.assign(names_.size(), {});
    for (size_t i = 0; any && i < names_.size(); ++i) {
      if (const auto cell = cells_.find(names_[i]); cell != cells_.end()) {
        row[i] = cell->second;
      }
    }
    return any;
  }

  base::Status Rewind() override {
    next_ = 0;
    buffer_.clear();
    position_ = 0;
    end_ = false;
    if (lines_) {
      SS_TRY(stream_, ByteStream::Open(path_));
      return {};
    }
    if (!records_.empty()) return {};
    SS_TRY(const std::string text, base::ReadMaybeGzip(path_));
    SS_TRY(const Json json, base::ParseJson(text, path_));
    records_ = json.is_array() ? json.AsArray() : json["rows"].AsArray();
    if (records_.empty()) return NoRecords("it is no array of records and has no rows");
    return {};
  }

 private:
  tl::unexpected<base::Error> NoRecords(std::string what) const {
    return Fail("DATA-0306", ExitCode::kInput, std::move(what), path_,
                "write [{\"id\": 1}, ...], {\"rows\": [...]} or one record a line");
  }

  base::Result<bool> NextRecord() {
    cells_.clear();
    if (!lines_) {
      if (next_ == records_.size()) return false;
      SS_RETURN_IF_ERROR(Take(records_[next_++]));
      return true;
    }
    while (true) {
      SS_TRY(const auto line, NextLine());
      if (!line) return false;
      ++next_;
      if (base::Trim(*line).empty()) continue;
      SS_TRY(const Json record,
             base::ParseJson(*line, fmt::format("{}:{}", path_, next_)));
      SS_RETURN_IF_ERROR(Take(record));
      return true;
    }
  }

  base::Status Take(const Json& record) {
    if (!record.is_object()) {
      return Fail("DATA-0307", ExitCode::kInput, "the record is no object",
                  fmt::format("{}:{}", path_, next_), "write {\"name\": value, ...}");
    }
    Flatten(record, "", cells_);
    return {};
  }

  base::Result<std::optional<std::string_view>> NextLine() {
    while (true) {
      const size_t line_end = buffer_.find('\n', position_);
      if (line_end != std::string::npos || (end_ && position_ < buffer_.size())) {
        const size_t stop = std::min(line_end, buffer_.size());
        const std::string_view line =
            std::string_view(buffer_).substr(position_, stop - position_);
        position_ = std::min(stop + 1, buffer_.size());
        return line;
      }
      if (end_) return std::nullopt;
      buffer_.erase(0, position_);
      position_ = 0;
      SS_TRY(const bool more, stream_->ReadMore(buffer_));
      end_ = !more;
    }
  }

  std::string path_;
  bool lines_;
  std::vector<std::string> names_;
  Json::Array records_;
  std::optional<ByteStream> stream_;
  std::string buffer_;
  size_t position_ = 0;
  bool end_ = false;
  size_t next_ = 0;  // record or line
  std::map<std::string, std::string> cells_;
};

}  // namespace

base::Result<std::unique_ptr<RowReader>> OpenJsonRows(const std::string& path,
                                                      bool lines) {
  auto rows = std::make_unique<JsonRows>(path, lines);
  SS_RETURN_IF_ERROR(rows->Start());
  return rows;
}

}  // namespace stepslack::data
