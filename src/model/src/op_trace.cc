#include "stepslack/model/op_trace.h"

#include <ATen/record_function.h>

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

struct Started : at::ObserverContext {
  int64_t start_ns = 0;
};

}  // namespace

struct OpTrace::Callbacks {
  static std::unique_ptr<at::ObserverContext> Begin(
      const at::RecordFunction& function) {
    if (active_trace == nullptr || !IsTensorOperation(function.name())) return nullptr;
    auto started = std::make_unique<Started>();
    if (active_trace->depth_++ == 0) started->start_ns = base::NowNs();
    return started;
  }

  static void End(const at::RecordFunction& function, at::ObserverContext* context) {
    if (active_trace == nullptr || context == nullptr) return;
    const auto* started = static_cast<const Started*>(context);
    --active_trace->depth_;
    if (started->start_ns == 0) return;
    if (static_cast<int64_t>(active_trace->events_.size()) >=
        active_trace->max_events_) {
      ++active_trace->dropped_;
      return;
    }
    active_trace->events_.push_back(
        {function.name(), started->start_ns, base::NowNs() - started->start_ns});
  }
};

OpTrace::OpTrace(int64_t max_events) : max_events_(max_events) {
  SS_CHECK(active_trace == nullptr);
  active_trace = this;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&Callbacks::Begin, &Callbacks::End)
          .scopes({at::RecordScope::FUNCTION}));
}

OpTrace::~OpTrace() { Stop(); }

void OpTrace::Stop() {
  if (handle_ == 0) return;
  at::removeCallback(handle_);
  handle_ = 0;
  active_trace = nullptr;
}

}  // namespace stepslack::model
