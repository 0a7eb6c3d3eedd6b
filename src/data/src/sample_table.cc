#include "sample_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

std::string Lower(std::string_view text) {
  std::string out(base::Trim(text));
  for (char& c : out)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

tl::unexpected<base::Error> BadRow(std::string_view name, size_t line,
                                   const std::string& what) {
  return Fail("DATA-0050", ExitCode::kInput, what, fmt::format("{}:{}", name, line),
              "correct the table: one header line, then one row per sample");
}

// Fields of one line; nothing when a quote does not end.
std::optional<std::vector<std::string>> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = std::string(base::Trim(field));
  return fields;
}

// Positions of the rows in array order, from the column "index" when there is one.
base::Result<std::vector<size_t>> RowOrder(const SampleTable& table) {
  const size_t count = table.rows.size();
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  const auto index = table.Column({"index"});
  if (!index.has_value()) return order;
  std::vector<bool> seen(count, false);
  for (size_t row = 0; row < count; ++row) {
    const auto value = base::ParseInt(table.rows[row][*index]);
    if (!value.has_value() || *value < 0 || static_cast<size_t>(*value) >= count ||
        seen[static_cast<size_t>(*value)]) {
      return Fail(
          "DATA-0035", ExitCode::kInput,
          fmt::format("the index \"{}\" is not a number from 0 to {}, or occurs "
                      "twice",
                      table.rows[row][*index], count - 1),
          fmt::format("{}: data row {}", table.file, row + 1),
          "number the samples 0, 1, 2 and so on, in the order of the arrays");
    }
    seen[static_cast<size_t>(*value)] = true;
    order[static_cast<size_t>(*value)] = row;
  }
  return order;
}

tl::unexpected<base::Error> NoGroup(const SampleTable& table, size_t row) {
  return Fail("DATA-0037", ExitCode::kInput, "the sample belongs to no design",
              fmt::format("{}: data row {}", table.file, row + 1),
              "fill the column family, group or design in every row");
}

}  // namespace

std::optional<size_t> SampleTable::Column(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<size_t>(found - header.begin());
  }
  return std::nullopt;
}

std::optional<size_t> SampleTable::GroupColumn() const {
  return Column({"family", "group", "design"});
}

base::Result<SampleTable> ParseSampleTable(std::string_view text,
                                           std::string_view name) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  SampleTable table;
  table.file = std::string(name);
  size_t line_number = 0;
  for (const std::string_view raw : base::Split(text, '\n')) {
    ++line_number;
    if (base::Trim(raw).empty()) continue;
    auto fields = Fields(base::Trim(raw));
    if (!fields.has_value()) return BadRow(name, line_number, "a quote does not end");
    if (table.header.empty()) {
      for (const std::string& field : *fields) table.header.push_back(Lower(field));
      continue;
    }
    if (fields->size() != table.header.size()) {
      return BadRow(name, line_number,
                    fmt::format("the row has {} fields, the header has {}",
                                fields->size(), table.header.size()));
    }
    table.rows.push_back(std::move(*fields));
  }
  return table;
}

base::Result<TableSearch> FindTables(const FolderListing& listing,
                                     IngestResult& result) {
  TableSearch search;
  for (const std::string& file : listing.files) {
    if (!EndsWith(file, ".csv") && !EndsWith(file, ".csv.gz")) continue;
    FileRecord record;
    SS_TRY(const std::string text, ReadInput(listing, file, record));
    const bool is_channels = base::FileName(file) == "channels.csv";
    // Only a table that will be used must be well formed.
    const auto header = ParseSampleTable(text.substr(0, text.find('\n')), file);
    if (!is_channels && (!header.has_value() || !header->GroupColumn().has_value())) {
      result.skipped.push_back(
          {file, "table without a column family, group or design"});
      continue;
    }
    SS_TRY(SampleTable table, ParseSampleTable(text, file));
    auto& slot = is_channels ? search.channels : search.samples;
    if (slot.has_value()) {
      return Fail("DATA-0051", ExitCode::kInput,
                  fmt::format("{} and this file both describe the {}", slot->file,
                              is_channels ? "channels" : "samples"),
                  file, "keep one of the two in the folder");
    }
    slot = std::move(table);
    result.files.push_back(record);
  }
  return search;
}

base::Result<std::vector<Channel>> NameChannels(const std::optional<SampleTable>& table,
                                                int64_t count,
                                                std::vector<std::string>& notes) {
  std::vector<Channel> channels;
  if (table.has_value()) {
    const auto name = table->Column({"name", "channel"});
    if (!name.has_value() || table->rows.size() != static_cast<size_t>(count)) {
      return Fail(
          "DATA-0033", ExitCode::kInput,
          fmt::format("the table must have a column \"name\" and one row for each "
                      "of the {} channels; it has {} rows",
                      count, table->rows.size()),
          table->file, "correct channels.csv or delete it");
    }
    const auto unit = table->Column({"unit"});
    const auto categorical = table->Column({"categorical"});
    for (const auto& row : table->rows) {
      Channel channel{row[*name], unit.has_value() ? row[*unit] : "1", false};
      const std::string flag = categorical.has_value() ? Lower(row[*categorical]) : "";
      channel.categorical =
          flag == "1" || flag == "true" || flag == "yes" || channel.unit == "class";
      channels.push_back(std::move(channel));
    }
    return channels;
  }
  if (count == 4) {
    notes.push_back(
        "four channels without channels.csv: taken as current (uA), template (class), "
        "stripe and pad_distance (tiles)");
    return std::vector<Channel>{{"current", "uA", false},
                                {"template", "class", true},
                                {"stripe", "1", false},
                                {"pad_distance", "tiles", false}};
  }
  notes.push_back(fmt::format(
      "{} channels without channels.csv: named channel0 and so on; the first "
      "is taken as the current",
      count));
  for (int64_t i = 0; i < count; ++i) {
    channels.push_back({fmt::format("channel{}", i), "1", false});
  }
  return channels;
}

double ToOurUnit(Channel& channel) {
  double factor = 1.0;
  if (channel.unit == "A") factor = 1e6;
  if (channel.unit == "mA") factor = 1e3;
  if (channel.unit == "nA") factor = 1e-3;
  if (factor != 1.0) channel.unit = "uA";
  return factor;
}

double TargetScale(std::string_view file, std::vector<std::string>& notes) {
  std::string word;
  for (const char c : std::string(file.substr(file.rfind('/') + 1)) + ".") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (word == "mV") return 1.0;
    if (word == "V") return 1e3;
    if (word == "uV") return 1e-3;
    word.clear();
  }
  notes.push_back(fmt::format(
      "the name {} holds no unit (_mV, _V or _uV): the target is taken as mV", file));
  return 1.0;
}

std::string GroupName(std::string_view column, std::string_view value) {
  return base::ParseDouble(value).has_value() ? fmt::format("{}-{}", column, value)
                                              : std::string(value);
}

base::Result<std::vector<SampleName>> NameSamples(
    const std::optional<SampleTable>& table, int64_t count, const std::string& source,
    std::vector<std::string>& notes) {
  std::vector<SampleName> names(static_cast<size_t>(count));
  for (size_t i = 0; i < names.size(); ++i) {
    names[i].id = fmt::format("sample-{:05}", i);
    names[i].group = names[i].id;
    names[i].source = source;
  }
  if (!table.has_value()) {
    notes.push_back(
        "no table with a column family, group or design: every sample counts as a "
        "design "
        "of its own, so leaks between related samples can only be found by content");
    return names;
  }
  if (table->rows.size() != names.size()) {
    return Fail("DATA-0032", ExitCode::kInput,
                fmt::format("the table has {} rows for {} samples", table->rows.size(),
                            names.size()),
                table->file, "give one row per sample, in the order of the arrays");
  }
  SS_TRY(const std::vector<size_t> order, RowOrder(*table));
  const auto group = table->GroupColumn();
  const auto id = table->Column({"id", "name", "sample"});
  const auto source_column = table->Column({"source"});
  std::set<std::string> ids;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto& row = table->rows[order[i]];
    if (row[*group].empty()) return NoGroup(*table, order[i]);
    names[i].group = GroupName(table->header[*group], row[*group]);
    if (id.has_value()) names[i].id = row[*id];
    if (source_column.has_value()) names[i].source = row[*source_column];
    if (!ids.insert(names[i].id).second) {
      return Fail("DATA-0036", ExitCode::kInput,
                  fmt::format("the sample id \"{}\" occurs twice", names[i].id),
                  table->file, "give every sample an id of its own");
    }
  }
  return names;
}

}  // namespace stepslack::data
