#include "axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepslack::render {
namespace {

// Data beyond these can not be told apart in a figure and would overflow its
// arithmetic.
constexpr double kLargest = 1e300;
constexpr double kSmallest = 1e-300;

double Held(double value) {
  if (std::abs(value) < kSmallest) return 0;
  return std::clamp(value, -kLargest, kLargest);
}

// "1e+06" to "1e6", "2.50e-07" to "2.5e-7".
std::string TidyExponent(std::string text) {
  const size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
}

std::string TickLabel(double value, double step, double magnitude) {
  if (value == 0) return "0";
  const int step_digits = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  if (magnitude >= 1e6 || magnitude < 1e-3) {
    const int value_digits = static_cast<int>(std::floor(std::log10(std::abs(value))));
    const int decimals = std::clamp(value_digits - step_digits, 0, 15);
    return TidyExponent(fmt::format("{:.{}e}", value, decimals));
  }
  return fmt::format("{:.{}f}", value, std::clamp(-step_digits, 0, 15));
}

double NiceStep(double raw) {
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

Axis FixedLogAxis(Axis::Scale scale, double low, double high) {
  Axis axis;
  axis.scale = scale;
  axis.low = low;
  axis.high = high;
  return axis;
}

double LogOf(Axis::Scale scale, double value) {
  return scale == Axis::Scale::kLog2 ? std::log2(value) : std::log10(value);
}

}  // namespace

void Range::Add(double value) {
  if (!std::isfinite(value)) return;
  low_ = std::min(low_, Held(value));
  high_ = std::max(high_, Held(value));
}

void Range::AddPositive(double value) {
  if (value >= kSmallest) Add(value);
}

bool Axis::Shows(double value) const {
  return std::isfinite(value) && (scale == Scale::kLinear || value >= kSmallest);
}

double Axis::Fraction(double value) const {
  if (!Shows(value)) return 0;
  const double at = Held(value);
  const double fraction = scale == Scale::kLinear
                              ? (at - low) / (high - low)
                              : (LogOf(scale, at) - LogOf(scale, low)) /
                                    (LogOf(scale, high) - LogOf(scale, low));
  return std::clamp(fraction, -1.0, 2.0);
}

Axis LinearAxis(const Range& range, int target) {
  double low = range.empty() ? 0 : range.low();
  double high = range.empty() ? 1 : range.high();
  const double magnitude = std::max(std::abs(low), std::abs(high));
  if (high - low <= magnitude * 1e-12) {  // one value, up to rounding
    const double half = magnitude == 0 ? 1 : magnitude * 0.1;
    low -= half;
    high += half;
  }
  const double step = NiceStep((high - low) / std::max(1, target));
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  Axis axis;
  axis.low = first * step;
  axis.high = last * step;
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  const int count = static_cast<int>(last - first);
  for (int i = 0; i <= count; ++i) {
    const double value = (first + i) * step;
    axis.ticks.push_back({value, TickLabel(value, step, largest)});
  }
  return axis;
}

Axis Log2Axis(const Range& range, int most) {
  const double low = range.empty() ? 1 : range.low();
  const double high = range.empty() ? 2 : range.high();
  const int first = static_cast<int>(std::floor(std::log2(low) + 1e-9));
  const int last =
      std::max(first + 1, static_cast<int>(std::ceil(std::log2(high) - 1e-9)));
  Axis axis =
      FixedLogAxis(Axis::Scale::kLog2, std::ldexp(1.0, first), std::ldexp(1.0, last));
  const int stride = (last - first) / std::max(1, most - 1) + 1;
  for (int power = first; power <= last; power += stride) {
    const double value = std::ldexp(1.0, power);
    axis.ticks.push_back({value, value >= 1 && value < 1e6
                                     ? fmt::format("{:.0f}", value)
                                     : ShortValue(value)});
  }
  return axis;
}

Axis Log10Axis(const Range& range, int most) {
  const double low = range.empty() ? 1 : range.low();
  const double high = range.empty() ? 10 : range.high();
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last =
      std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  std::vector<double> grid;
  const bool fine = last - first <= 2;
  const int stride = fine ? 1 : (last - first) / std::max(1, most - 1) + 1;
  for (int power = first; power <= last; power += stride) {
    const double decade = std::pow(10.0, power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor == 1.0 || (fine && power < last)) grid.push_back(factor * decade);
    }
  }
  // Ends: the nearest grid values around the data when the grid is fine, else decades.
  double start = std::pow(10.0, first);
  double end = std::pow(10.0, last);
  if (fine) {
    for (const double value : grid) {
      if (value <= low * (1 + 1e-9)) start = value;
    }
    for (auto value = grid.rbegin(); value != grid.rend(); ++value) {
      if (*value >= high * (1 - 1e-9) && *value > start * 1.5) end = *value;
    }
  }
  Axis axis = FixedLogAxis(Axis::Scale::kLog10, start, end);
  for (const double value : grid) {
    if (value >= start * (1 - 1e-9) && value <= end * (1 + 1e-9)) {
      axis.ticks.push_back({value, ShortValue(value)});
    }
  }
  return axis;
}

std::string ShortValue(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude >= 999500 || magnitude < 0.000999) {
    return TidyExponent(fmt::format("{:.2e}", value));
  }
  if (magnitude >= 100) return fmt::format("{:.0f}", value);
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(magnitude)));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace stepslack::render
