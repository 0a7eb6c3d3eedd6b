// Text helpers shared by messages and parsers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::base {

// Closest candidate within edit distance max(1, length / 3); empty when none is near.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);

// Whole-string number parse; no value for trailing bytes, empty text or overflow.
std::optional<double> ParseDouble(std::string_view text);
std::optional<int64_t> ParseInt(std::string_view text);

// Four significant digits for people: "0.2314", "12.35", "1234".
std::string Human(double value);
std::string HumanDuration(double seconds);  // "350 ms", "12.3 s", "4 min 05 s"

}  // namespace stepslack::base
