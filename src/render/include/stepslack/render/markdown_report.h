// Markdown: the review memo, the decision memo, and the whole report. Text of users is
// escaped, so that it can not become markup.
#pragma once

#include <string>

#include "stepslack/base/result.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

// memo.md and decision.md. Fail with RENDER-0001 when a field is empty: a document with
// a hole is refused, never printed with a placeholder.
base::Result<std::string> RenderMemo(const evidence::Review& review);
base::Result<std::string> RenderDecision(const evidence::Review& review);

// The whole report; figures appear as their data tables, cut to 100 rows each with a
// count. A memo that is refused is replaced by the reason.
std::string RenderMarkdown(const Report& report);

// One table without its title, cut to 100 rows with a count, and an empty line.
std::string RenderMarkdownTable(const Table& table);

// For text from users inside a line: backslash before what Markdown would interpret;
// line ends become spaces.
std::string EscapeMarkdown(std::string_view text);

}  // namespace stepslack::render
