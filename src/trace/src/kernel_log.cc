// Kernel logs: each message is given to the patterns, the first that fits takes it.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "host_evidence.h"
#include "kernel_line.h"
#include "line_template.h"
#include "pci_address.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

constexpr size_t kLongestBody = 2048;  // what follows is not looked at
constexpr int64_t kLinesToDetect = 2000;

class PatternMatcher {
 public:
  PatternMatcher(const HostLogPatterns& patterns, HostReport& report)
      : patterns_(patterns), collector_(report) {}

  void Look(std::string_view body, const EvidenceLine& line) {
    for (const HostLogPattern& pattern : patterns_.patterns) {
      if (!pattern.compiled->Match(body, captures_)) continue;
      Add(pattern, line);
      return;
    }
  }

 private:
  void Add(const HostLogPattern& pattern, const EvidenceLine& line) {
    addresses_.clear();
    for (TemplateCapture& capture : captures_) {
      if (!capture.is_pci) continue;
      addresses_.push_back(PciAddress(capture.value));
      capture.value = addresses_.back();
    }
    const std::string subject = FillTemplate(pattern.subject, captures_);
    const std::string code = FillTemplate(pattern.code, captures_);
    EvidenceKind kind{.kind = pattern.id,
                      .code = code,
                      .severity = pattern.severity,
                      .layer = pattern.layer,
                      .cause = pattern.cause,
                      .meaning = pattern.meaning};
    if (const HostLogCode* known = patterns_.FindCode(pattern.id, code)) {
      kind.severity = known->severity;
      kind.meaning = known->meaning;
      kind.cause = known->cause;
      if (!known->layer.empty()) kind.layer = known->layer;
    }
    HostEvidence& record = collector_.Add(kind, subject, line);
    for (const TemplateCapture& capture : captures_) {
      const std::string hole = "{" + std::string(capture.name) + "}";
      const bool used = pattern.subject.find(hole) != std::string::npos ||
                        pattern.code.find(hole) != std::string::npos;
      if (!capture.is_int || used) continue;
      record.values[std::string(capture.name)] = LeadingNumber(capture.value, 0);
    }
  }

  const HostLogPatterns& patterns_;
  EvidenceCollector collector_;
  std::vector<TemplateCapture> captures_;
  std::deque<std::string> addresses_;  // a deque, so that views into it stay valid
};

}  // namespace

bool LooksLikeKernelLog(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  int64_t filled = 0;
  int64_t known = 0;
  int64_t sure = 0;
  int64_t weak = 0;
  bool sounds = false;
  while (reader.number() < kLinesToDetect && reader.Next(line)) {
    if (line.empty()) continue;
    ++filled;
    const KernelLine split = SplitKernelLine(line.substr(0, kLongestBody));
    if (split.form == KernelLine::Form::kNone) continue;
    ++known;
    if (split.form == KernelLine::Form::kSure) ++sure;
    if (split.form != KernelLine::Form::kWeak) continue;
    ++weak;
    sounds = sounds || SoundsLikeKernel(split.body);
  }
  const bool mostly = known > 0 && 10 * known >= 6 * filled;
  return mostly && (sure > 0 || (weak > 0 && sounds));
}

HostReport ParseKernelLog(std::string_view text, const HostLogPatterns& patterns) {
  HostReport report;
  report.kind = HostLogKind::kKernelLog;
  PatternMatcher matcher(patterns, report);
  LineReader reader(text);
  std::string_view line;
  while (reader.Next(line)) {
    const auto offset = static_cast<int64_t>(reader.offset());
    const KernelLine split = SplitKernelLine(line);
    switch (split.form) {
      case KernelLine::Form::kOtherProgram:
        report.stats.Add("line of another program", Severity::kInfo, offset);
        continue;
      case KernelLine::Form::kContinued:
        continue;
      case KernelLine::Form::kNone:
        if (!line.empty()) {
          report.stats.Add("line without a time stamp", Severity::kInfo, offset);
        }
        break;
      case KernelLine::Form::kWeak:
      case KernelLine::Form::kSure:
        break;
    }
    if (split.body.size() > kLongestBody) {
      report.stats.Add("line longer than 2048 bytes, the end is not read",
                       Severity::kWarning, offset);
    }
    matcher.Look(split.body.substr(0, kLongestBody), {reader.number(), line});
  }
  report.lines = reader.number();
  return report;
}

}  // namespace stepslack::trace
