// Any text either is refused or gives series whose segments do not go back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/read_log.h"
#include "stepslack/logs/text_log.h"

namespace {

void Check(const stepslack::base::Result<stepslack::logs::SeriesSet>& set) {
  if (!set.has_value()) return;
  SS_CHECK(!set->series.empty());
  for (const auto& series : set->series) {
    SS_CHECK(!series.points.empty());
    SS_CHECK(!series.derived || !series.how.empty());
    for (size_t i = 1; i < series.points.size(); ++i) {
      SS_CHECK(series.points[i - 1].segment <= series.points[i].segment);
    }
  }
  for (const auto& check : set->checks) {
    SS_CHECK(check.agreed >= 0 && check.agreed <= check.compared);
  }
  SS_CHECK(!stepslack::logs::ToJson(*set).Dump().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check(stepslack::logs::ParseLog(text, "fuzz"));
  Check(stepslack::logs::ParseTextLog(text, "fuzz"));
  Check(stepslack::logs::ParseCsvLog(text, "fuzz"));
  return 0;
}
