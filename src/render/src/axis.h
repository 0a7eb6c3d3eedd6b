// Axes with ticks at round values. Ends and ticks are always finite, whatever the data.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace stepslack::render {

// Lowest and highest finite value seen.
class Range {
 public:
  void Add(double value);          // ignores what is not finite
  void AddPositive(double value);  // for logarithmic axes: ignores value <= 0 too
  bool empty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

struct Tick {
  double value = 0;
  std::string label;
};

struct Axis {
  enum class Scale { kLinear, kLog2, kLog10 };
  Scale scale = Scale::kLinear;
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks;  // ascending, all within [low, high]

  bool Shows(double value) const;       // finite, and positive on a logarithmic axis
  double Fraction(double value) const;  // 0 at low, 1 at high, held to [-1, 2]
};

// Step 1, 2 or 5 times a power of ten, about `target` ticks, ends on ticks. An empty
// range gives [0, 1]; one value gives a range around it.
Axis LinearAxis(const Range& range, int target);
// Powers of two; at most `most` ticks.
Axis Log2Axis(const Range& range, int most);
// Decades, or 1-2-5 steps when less than two decades are shown; at most `most` ticks.
Axis Log10Axis(const Range& range, int most);

// A value for people in a figure: three significant digits, "1.2e6" beyond 1e6.
std::string ShortValue(double value);

}  // namespace stepslack::render
