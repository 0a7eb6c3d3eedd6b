// The head of a line of a kernel log, in the forms that dmesg, /dev/kmsg, journalctl
// and syslog write.
#pragma once

#include <string_view>

namespace stepslack::trace {

struct KernelLine {
  enum class Form {
    kNone,          // no head that is known; the body is the whole line
    kWeak,          // a time stamp that other logs have as well
    kSure,          // only the kernel's log looks so
    kOtherProgram,  // of a log that holds the kernel's, but of somebody else
    kContinued      // belongs to the line before
  };
  Form form = Form::kNone;
  std::string_view body;
};

KernelLine SplitKernelLine(std::string_view line);

// The body begins as messages of the kernel and its drivers do.
bool SoundsLikeKernel(std::string_view body);

}  // namespace stepslack::trace
