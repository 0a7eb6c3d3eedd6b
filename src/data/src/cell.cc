#include "cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// Words, which are rare beside numbers.
CellValue ReadWord(std::string_view text) {
  if (text == "ERR") return {Missing::kFailed, false, kNaN};
  if (IsOneOf(text, {"N/A", "NA", "n/a", "null", "NULL", "None"})) {
    return {Missing::kNotAvailable, false, kNaN};
  }
  std::string_view bare = text;
  if (bare[0] == '+' || bare[0] == '-') bare.remove_prefix(1);
  if (IsOneOf(bare,
              {"nan", "NaN", "NAN", "inf", "Inf", "INF", "infinity", "Infinity"})) {
    return {Missing::kInvalid, false, kNaN};
  }
  return {};
}

}  // namespace

CellValue ReadCell(std::string_view text, const std::vector<std::string>& codes) {
  text = base::Trim(text);
  if (text.empty()) return {Missing::kEmpty, false, kNaN};
  if (!codes.empty() && std::ranges::find(codes, text) != codes.end()) {
    return {Missing::kNotAvailable, false, kNaN};
  }
  // from_chars knows no plus sign; "+-1" stays text. It would read nan and inf.
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char first =
      text[text[0] == '-' || plus ? std::min<size_t>(1, text.size() - 1) : 0];
  if ((first < '0' || first > '9') && first != '.') return ReadWord(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
  if (rest != end) return {};
  // A number that no double can hold has no value here.
  if (code == std::errc::result_out_of_range) {
    return {Missing::kInvalid, false, kNaN};
  }
  return {Missing::kPresent, true, value};
}

}  // namespace stepslack::data
