// RFC 4180: quoted cells may hold separators, line ends and doubled quotes.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "byte_stream.h"
#include "row_reader.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

constexpr size_t kLongestRow = size_t{64} << 20;

class CsvRows : public RowReader {
 public:
  CsvRows(std::string path, ByteStream stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}

  const std::vector<std::string>& names() const override { return names_; }

  base::Status Start() {
    std::vector<std::string_view> header;
    SS_TRY(const bool any, Record(header));
    if (!any) {
      return Fail("DATA-0302", ExitCode::kInput, "the file is empty: it has no header",
                  path_, "write the names of the columns into the first line");
    }
    if (header.size() == 1 && separator_ == ',') {
      const std::string_view line = header[0];
      if (line.find(';') != std::string_view::npos) separator_ = ';';
      if (line.find('\t') != std::string_view::npos) separator_ = '\t';
      if (separator_ != ',') return Rewind();
    }
    names_.clear();
    for (const std::string_view name : header) names_.emplace_back(base::Trim(name));
    return CheckNames();
  }

  base::Result<bool> Next(std::vector<std::string_view>& row) override {
    while (true) {
      SS_TRY(const bool any, Record(row));
      if (!any) return Finish();
      const bool blank = row.size() == 1 && row[0].empty();
      if (row.size() == names_.size() && !(blank && names_.size() > 1)) return true;
      if (blank) continue;
      if (ragged_++ == 0) {
        first_ragged_ = line_ - 1;
        cells_ = row.size();
      }
    }
  }

  base::Status Rewind() override {
    SS_TRY(stream_, ByteStream::Open(path_));
    buffer_.clear();
    position_ = 0;
    end_ = false;
    line_ = 1;
    ragged_ = 0;
    started_ = false;
    return Start();
  }

 private:
  base::Status CheckNames() const {
    std::set<std::string> seen;
    for (const std::string& name : names_) {
      if (!name.empty() && seen.insert(name).second) continue;
      return Fail("DATA-0303", ExitCode::kInput,
                  name.empty() ? "a column has no name"
                               : fmt::format("two columns are named \"{}\"", name),
                  path_ + ":1",
                  "give every column a name of its own in the first line");
    }
    return {};
  }

  base::Result<bool> Finish() const {
    if (ragged_ == 0) return false;
    return Fail("DATA-0304", ExitCode::kInput,
                fmt::format("{} rows do not have the {} cells of the header; the first "
                            "of them has {}",
                            ragged_, names_.size(), cells_),
                fmt::format("{}:{}", path_, first_ragged_),
                "the file may be cut short or a cell with a comma not quoted: export "
                "it again");
  }

  // One record, wherever it ends; false at the end of the file.
  base::Result<bool> Record(std::vector<std::string_view>& row) {
    while (true) {
      if (position_ < buffer_.size() && Parse(row)) return true;
      if (end_) break;
      if (buffer_.size() - position_ > kLongestRow) return Unclosed();
      buffer_.erase(0, position_);
      position_ = 0;
      SS_TRY(const bool more, stream_.ReadMore(buffer_));
      end_ = !more;
      if (!started_ && buffer_.starts_with("\xEF\xBB\xBF")) position_ = 3;
      started_ = true;
    }
    if (position_ < buffer_.size()) return Unclosed();
    return false;
  }

  tl::unexpected<base::Error> Unclosed() const {
    return Fail("DATA-0305", ExitCode::kInput,
                "the record has a quote without end, or is longer than 64 MiB",
                fmt::format("{}:{}", path_, line_), "close the quote");
  }

  // False when the buffer ends inside of the record.
  bool Parse(std::vector<std::string_view>& row) {
    row.clear();
    unescaped_.clear();
    const char* p = buffer_.data() + position_;
    const char* const end = buffer_.data() + buffer_.size();
    int64_t lines = 1;
    while (true) {
      if (p != end && *p == '"') {
        if (!Quoted(p, end, row, lines)) return false;
      } else {
        const char* const from = p;
        while (p != end && *p != separator_ && *p != '\n') ++p;
        row.emplace_back(from, static_cast<size_t>(p - from));
      }
      if (p == end && !end_) return false;
      if (p == end || *p == '\n') break;
      ++p;
    }
    if (!row.back().empty() && row.back().back() == '\r') row.back().remove_suffix(1);
    position_ = static_cast<size_t>(p - buffer_.data()) + (p == end ? 0 : 1);
    line_ += lines;
    return true;
  }

  // A cell that starts with a quote; `p` is left at what ends it.
  bool Quoted(const char*& p, const char* end, std::vector<std::string_view>& row,
              int64_t& lines) {
    const char* const from = ++p;
    bool doubled = false;
    while (true) {
      while (p != end && *p != '"') lines += *p++ == '\n' ? 1 : 0;
      if (p == end || (p + 1 == end && !end_)) return false;
      if (p + 1 == end || p[1] != '"') break;
      doubled = true;
      p += 2;
    }
    std::string_view text(from, static_cast<size_t>(p - from));
    const char* const rest = ++p;
    while (p != end && *p != separator_ && *p != '\n') ++p;
    std::string_view tail(rest, static_cast<size_t>(p - rest));
    if (tail.ends_with('\r')) tail.remove_suffix(1);
    if (doubled || !tail.empty()) {
      std::string& copy = unescaped_.emplace_back();
      for (size_t i = 0; i < text.size(); ++i) {
        copy += text[i];
        if (text[i] == '"') ++i;
      }
      text = copy += tail;
    }
    row.push_back(text);
    return true;
  }

  std::string path_;
  ByteStream stream_;
  std::vector<std::string> names_;
  std::string buffer_;
  std::deque<std::string> unescaped_;
  size_t position_ = 0;
  bool end_ = false;
  bool started_ = false;
  char separator_ = ',';
  int64_t line_ = 1;
  int64_t ragged_ = 0;
  int64_t first_ragged_ = 0;
  size_t cells_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<RowReader>> OpenCsvRows(const std::string& path) {
  SS_TRY(ByteStream stream, ByteStream::Open(path));
  auto rows = std::make_unique<CsvRows>(path, std::move(stream));
  SS_RETURN_IF_ERROR(rows->Start());
  return rows;
}

}  // namespace stepslack::data
