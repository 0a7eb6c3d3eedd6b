// The words in which every rendering states a verdict, a bound, a slack, an estimate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/utf8.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

std::string_view VerdictWord(base::Verdict verdict);  // "OK", "FAIL", "HOLD", ...
std::string_view CauseWord(diagnose::CauseState state);

// First 12 digits of a digest.
std::string ShortDigest(std::string_view digest);

std::string ValueText(const base::Estimate& estimate);     // "0.231 mV", "no value"
std::string IntervalText(const base::Estimate& estimate);  // "[0.214, 0.25]" or ""
// "95 %, n = 12 families"; says so when there is no interval.
std::string BasisText(const base::Estimate& estimate);

enum class Signs { kAscii, kUnicode };
std::string BoundText(const base::Requirement& requirement,
                      Signs signs);                                // "<= 0.27 mV"
std::string SlackText(const evidence::RequirementResult& result);  // "+14.4 %", "none"
// What would decide an inconclusive requirement, or "".
std::string DecidingText(const evidence::RequirementResult& result);

std::string NumberText(double value);  // "n/a" when not finite
std::string CellText(const Cell& cell);

// "5 OK, 1 HOLD, 1 FAIL", worst kind first, absent kinds left out.
std::string CountVerdicts(const std::vector<evidence::RequirementResult>& results);

// Indices, worst slack first: without slack (error, not run), then by percent; without
// percent (bound zero) a negative margin comes first and a positive one last. Ties keep
// the order of the file.
std::vector<size_t> WorstFirst(const std::vector<evidence::RequirementResult>& results);

using base::OneLine;  // every rendering cleans text of others with it

}  // namespace stepslack::render
