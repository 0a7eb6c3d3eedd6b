#include "stepslack/base/text.h"
#include "stepslack/logs/table_log.h"
#include "table_rows.h"

namespace stepslack::logs {
namespace {

using trace::Severity;

std::string_view FirstLine(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

bool StartsObject(std::string_view text, std::string_view open) {
  if (!text.starts_with(open)) return false;
  const std::string_view next = base::Trim(text.substr(open.size()));
  return next.starts_with('"') || next.starts_with('}') || next.empty();
}

void AddObject(const base::Json& object, size_t offset, RowReader& reader) {
  int64_t others = 0;
  const Row row = FlattenRow(object, others);
  if (others > 0) {
    reader.builder().stats().Add("field that is no number", Severity::kInfo,
                                 static_cast<int64_t>(offset), others);
  }
  if (!row.empty()) reader.Add(row, offset);
}

}  // namespace

bool LooksLikeJsonLines(std::string_view text) {
  text = base::Trim(text);
  const std::string_view line = base::Trim(FirstLine(text));
  if (!StartsObject(line, "{") || line.size() < 3 || !line.ends_with('}')) return false;
  // A whole object in the first line and, if there is a second line, another one.
  const std::string_view rest = base::Trim(text.substr(FirstLine(text).size()));
  return rest.empty() || rest.starts_with('{');
}

base::Result<SeriesSet> ParseJsonLines(std::string_view text, std::string_view name,
                                       const ColumnMapping& mapping) {
  RowReader reader(name, "json_lines", mapping);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = base::Trim(text.substr(at, end - at));
    const size_t offset = at;
    at = end + 1;
    if (line.empty()) continue;
    const auto json = ParsePythonJson(line, name);
    if (!json.has_value() || !json->is_object()) {
      reader.builder().stats().Add("line that is no JSON object", Severity::kError,
                                   static_cast<int64_t>(offset));
      continue;
    }
    AddObject(*json, offset, reader);
  }
  if (reader.builder().empty()) {
    return base::Fail("LOGS-0012", base::ExitCode::kInput,
                      "no line is a JSON object with numbers", std::string(name),
                      "write one object a line, with the step and the metrics");
  }
  return reader.Finish();
}

bool LooksLikeJsonRows(std::string_view text) {
  text = base::Trim(text);
  if (text.starts_with('[')) {
    return StartsObject(base::Trim(text.substr(1)), "{");
  }
  if (!StartsObject(text, "{")) return false;
  const std::string_view head = text.substr(0, size_t{64} << 10);
  return head.find("\"_step\"") != std::string_view::npos ||
         head.find("\"_runtime\"") != std::string_view::npos;
}

base::Result<SeriesSet> ParseJsonRows(std::string_view text, std::string_view name,
                                      const ColumnMapping& mapping) {
  SS_TRY(const base::Json json, ParsePythonJson(text, name));
  RowReader reader(name, "json_rows", mapping);
  if (json.is_object()) {
    AddObject(json, 0, reader);
  }
  // The parser keeps no positions: the number of the object stands for the byte.
  size_t index = 0;
  for (const base::Json& object : json.AsArray()) {
    ++index;
    if (object.is_object()) {
      AddObject(object, index, reader);
    } else {
      reader.builder().stats().Add("element that is no object", Severity::kError,
                                   static_cast<int64_t>(index));
    }
  }
  if (reader.builder().empty()) {
    return base::Fail("LOGS-0013", base::ExitCode::kInput,
                      "the JSON has no object with numbers", std::string(name),
                      "give an array of objects with the step and the metrics");
  }
  return reader.Finish();
}

}  // namespace stepslack::logs
