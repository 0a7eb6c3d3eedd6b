// The record lines of the programs that text_log.h names. A reader takes a line, or
// leaves it to the next one.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log_line.h"
#include "series_builder.h"

namespace stepslack::logs {

// What the readers of lines share.
class TextLog {
 public:
  explicit TextLog(std::string_view name) : builder_(name, "text_log") {}

  // Opens the record that begins at byte `marker` of the line. False when another rank
  // or the same line gave it already (counted).
  bool Begin(std::string_view kind, int64_t step, const LogLine& line, size_t marker,
             std::optional<int64_t> samples = std::nullopt,
             std::string_view step_source = "");
  void Count(std::string_view what, trace::Severity severity, const LogLine& line);

  SeriesBuilder& builder() { return builder_; }
  RunMeta& run() { return builder_.set().run; }
  SeriesSet Finish();

  // DeepSpeed's timers name no step: it is that of its step line, before or behind.
  std::optional<int64_t> deepspeed_step;
  std::vector<std::pair<std::string, double>> optimizer_timers;
  int64_t dict_records = 0;  // training records of Hugging Face so far
  int evaluations = 0;       // printed since the last of them (several data sets)

 private:
  SeriesBuilder builder_;
  std::map<std::string, StepTracker, std::less<>> trackers_;
  std::vector<std::string> frameworks_;
  bool zone_ = false;
  bool no_zone_ = false;
};

enum class LineResult { kNotMine, kTaken };

LineResult ReadMegatronLine(const LogLine& line, TextLog& log);
LineResult ReadNemoLine(const LogLine& line, TextLog& log);
LineResult ReadTitanLine(const LogLine& line, TextLog& log);
LineResult ReadDeepSpeedLine(const LogLine& line, TextLog& log);
LineResult ReadDictLine(const LogLine& line, TextLog& log);
// Arguments that Megatron prints at the start: world size, seq_length.
LineResult ReadArgumentLine(const LogLine& line, TextLog& log);

// Megatron record without the "|" at its end: the rest may stand in the next line.
bool MegatronLineIsOpen(std::string_view line);
bool IsMegatronRest(std::string_view line);

// Byte at which a record of that kind begins; npos when there is none.
size_t FindMegatron(std::string_view line);
size_t FindNemo(std::string_view line);
size_t FindTitan(std::string_view line);
size_t FindDeepSpeed(std::string_view line);
size_t FindDict(std::string_view line);

}  // namespace stepslack::logs
