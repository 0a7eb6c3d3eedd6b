#include "stepslack/model/op_trace.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <cstring>

#include "stepslack/base/context.h"
#include "stepslack/base/result.h"

namespace stepslack::model {
namespace {

// LibTorch calls plain functions without user data, so the active trace is found
// through the thread that runs the operation.
thread_local OpTrace* active_trace = nullptr;

// LibTorch's own operations and the convolutions of this module.
bool IsTensorOperation(const char* name) {
  return std::strncmp(name, "aten::", 6) == 0 ||
         std::strncmp(name, "stepslack::", 11) == 0;
}

}  // namespace

// An operation that began before Start is not reported at its end, so the depth is
// balanced without an object for each.
struct OpTrace::Callbacks {
  static std::unique_ptr<at::ObserverContext> Begin(
      const at::RecordFunction& function) {
    OpTrace* trace = active_trace;
    if (trace == nullptr || !IsTensorOperation(function.name())) return nullptr;
    if (trace->depth_++ == 0) trace->outer_start_ns_ = base::NowNs();
    return nullptr;
  }

  static void End(const at::RecordFunction& function, at::ObserverContext*) {
    OpTrace* trace = active_trace;
    if (trace == nullptr || !IsTensorOperation(function.name())) return;
    if (--trace->depth_ > 0) return;
    if (trace->used_ == trace->events_.size()) {
      ++trace->dropped_;
      return;
    }
    trace->events_[trace->used_++] = {trace->Intern(function.name()),
                                      trace->outer_start_ns_, base::NowNs()};
  }
};

OpTrace::OpTrace(int64_t max_events)
    // Written now: the first touch of a page costs more than the events on it.
    : events_(static_cast<size_t>(std::max<int64_t>(max_events, 0))), seen_(kSeen) {}

OpTrace::~OpTrace() { Stop(); }

void OpTrace::Start() {
  SS_CHECK(active_trace == nullptr && handle_ == 0);
  active_trace = this;
  depth_ = 0;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&Callbacks::Begin, &Callbacks::End)
          .scopes({at::RecordScope::FUNCTION}));
}

void OpTrace::Stop() {
  if (handle_ == 0) return;
  at::removeCallback(handle_);
  handle_ = 0;
  active_trace = nullptr;
}

int32_t OpTrace::Intern(const char* text) {
  const auto address = reinterpret_cast<uintptr_t>(text);
  Seen& seen = seen_[((address >> 4) ^ (address >> 13)) & (kSeen - 1)];
  // Compared as text too: a name may be freed and its memory used for another.
  if (seen.text == text && names_[static_cast<size_t>(seen.name)] == text) {
    return seen.name;
  }
  const auto found = std::find(names_.begin(), names_.end(), text);
  seen = {text, static_cast<int32_t>(found - names_.begin())};
  if (found == names_.end()) names_.emplace_back(text);
  return seen.name;
}

}  // namespace stepslack::model
