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

// Switching the callback off and on costs as much as three calls of it.
constexpr int64_t kManyInside = 3;

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
    if (trace == nullptr) return nullptr;
    if (trace->depth_ > 0) {
      if (!IsTensorOperation(function.name())) return nullptr;
      ++trace->depth_;
      ++trace->inside_;
    } else {
      trace->Open(function.name());
    }
    return nullptr;
  }

  static void End(const at::RecordFunction& function, at::ObserverContext*) {
    OpTrace* trace = active_trace;
    // At depth 1 a call that is none of tensors may end within the recorded one.
    if (trace == nullptr || trace->depth_ == 0) return;
    if (!IsTensorOperation(function.name())) return;
    if (--trace->depth_ == 0) trace->Close();
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
  silent_ = false;
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

void OpTrace::Open(const char* text) {
  Seen& seen = Find(text);
  if (seen.name < 0) return;
  depth_ = 1;
  inside_ = 0;
  outer_ = &seen;
  silent_ = seen.nests;
  if (silent_) at::disableCallback(handle_);
  outer_start_ns_ = base::NowNs();
}

void OpTrace::Close() {
  const int64_t end_ns = base::NowNs();
  if (silent_) {
    at::reenableCallback(handle_);
    silent_ = false;
  } else if (inside_ >= kManyInside) {
    outer_->nests = true;
  }
  if (used_ == events_.size()) {
    ++dropped_;
    return;
  }
  events_[used_++] = {outer_->name, outer_start_ns_, end_ns};
}

OpTrace::Seen& OpTrace::Find(const char* text) {
  const auto address = reinterpret_cast<uintptr_t>(text);
  Seen& seen = seen_[((address >> 4) ^ (address >> 13)) & (kSeen - 1)];
  // Compared as text too: a name may be freed and its memory used for another.
  if (seen.text == text && seen.name >= 0 &&
      names_[static_cast<size_t>(seen.name)] == text) {
    return seen;
  }
  seen = {text, -1, false};
  if (!IsTensorOperation(text)) return seen;
  const auto found = std::find(names_.begin(), names_.end(), text);
  seen.name = static_cast<int32_t>(found - names_.begin());
  if (found == names_.end()) names_.emplace_back(text);
  return seen;
}

}  // namespace stepslack::model
