// One line of a program's output without its decoration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stepslack::logs {

struct LogLine {
  std::string_view text;
  size_t offset = 0;  // of the line in the whole text
};

// The line without ANSI sequences and without what a carriage return overwrote.
// `storage` is used when something had to be taken out.
std::string_view CleanLine(std::string_view line, std::string& storage);

// Who printed the record, from what stands before it: "[default7]:", "[rank0]:",
// "[Rank 15]", "12: ", " 0: ". Empty when nothing says.
std::string RankLabel(std::string_view prefix);

// Which records of one kind are new.
class StepTracker {
 public:
  enum class Verdict { kNew, kRestart, kOtherRank, kRepeated };

  // `content` is a hash of the record's text.
  Verdict Next(const std::string& label, int64_t step, size_t content);
  int32_t segment() const { return segment_; }

 private:
  struct Last {
    int64_t step = 0;
    size_t content = 0;
    int32_t segment = 0;
  };

  std::map<std::string, Last> last_;  // by label
  std::set<int64_t> steps_;           // of this segment
  int32_t segment_ = 0;
};

// Whole number at the start of `text` behind blanks; moves `text` behind it.
std::optional<int64_t> TakeInt(std::string_view& text);

}  // namespace stepslack::logs
