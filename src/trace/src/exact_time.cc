#include "stepslack/trace/exact_time.h"

namespace stepslack::trace {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads an exponent after 'e'; clamped far beyond any representable time.
std::optional<int> ReadExponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    if (value < 10000) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

// The decimal digits of a number: value = digits * 10^scale.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;

  char Digit(size_t i) const {
    return i < whole.size() ? whole[i] : fraction[i - whole.size()];
  }
  size_t size() const { return whole.size() + fraction.size(); }
};

std::optional<Decimal> Scan(std::string_view text) {
  Decimal decimal;
  size_t at = 0;
  while (at < text.size() && IsDigit(text[at])) ++at;
  decimal.whole = text.substr(0, at);
  if (at < text.size() && text[at] == '.') {
    const size_t from = ++at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    decimal.fraction = text.substr(from, at - from);
  }
  if (decimal.size() == 0) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::optional<int> exponent = ReadExponent(text.substr(at + 1));
    if (!exponent) return std::nullopt;
    decimal.exponent = *exponent;
    at = text.size();
  }
  if (at != text.size()) return std::nullopt;
  return decimal;
}

}  // namespace

std::optional<int64_t> MicrosecondsToNs(std::string_view text) {
  return DecimalToNs(text, 3);
}

std::optional<int64_t> DecimalToNs(std::string_view text, int digits) {
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  const std::optional<Decimal> decimal = Scan(text);
  if (!decimal) return std::nullopt;
  // Digits left of the nanosecond point: those of the whole part, those of the unit,
  // exponent.
  const int64_t kept =
      static_cast<int64_t>(decimal->whole.size()) + digits + decimal->exponent;
  int64_t value = 0;
  for (int64_t i = 0; i < kept; ++i) {
    const bool past = i >= static_cast<int64_t>(decimal->size());
    if (past && value == 0) break;  // 0e9999
    const int digit = past ? 0 : decimal->Digit(static_cast<size_t>(i)) - '0';
    value = value * 10 + digit;
    if (value > kTimeLimitNs / 10) {
      if (value > kTimeLimitNs || i + 1 < kept) return std::nullopt;
    }
  }
  if (kept >= 0 && kept < static_cast<int64_t>(decimal->size()) &&
      decimal->Digit(static_cast<size_t>(kept)) >= '5') {
    ++value;
  }
  if (value > kTimeLimitNs) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace stepslack::trace
