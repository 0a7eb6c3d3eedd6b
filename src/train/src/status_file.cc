#include "status_file.h"

#include <unistd.h>

#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::train {
namespace {

constexpr int64_t kEveryNs = 1'000'000'000;

}  // namespace

StatusFile::StatusFile(std::string run_folder, bool writes, int world_size,
                       int64_t samples, int64_t total_samples)
    : folder_(std::move(run_folder)), writes_(writes), first_samples_(samples) {
  status_.process = ::getpid();
  status_.world_size = world_size;
  status_.samples = samples;
  status_.total_samples = total_samples;
}

base::Status StatusFile::Stepped(const record::StepRecord& record) {
  if (!writes_) return {};
  if (first_start_ns_ == 0) first_start_ns_ = record.start_ns;
  step_ns_ += record.step_ns;
  lost_ns_ += record.comm_wait_ns + record.data_ns;
  status_.step = record.step;
  status_.samples = record.samples_total;
  status_.loss = record.loss;
  const bool starts = status_.state == record::RunState::kStarting;
  status_.state = record::RunState::kRunning;
  const int64_t now_ns = record.start_ns + record.step_ns;
  if (!starts && now_ns - written_ns_ < kEveryNs) return {};
  return Write(now_ns);
}

base::Status StatusFile::Enter(record::RunState state) {
  if (!writes_) return {};
  const bool ends =
      state == record::RunState::kDone || state == record::RunState::kFailed;
  status_.state = state;
  const int64_t now_ns = base::NowNs();
  if (!ends && now_ns - written_ns_ < kEveryNs) return {};
  return Write(now_ns);
}

base::Status StatusFile::Fail(std::string error) {
  status_.error = std::move(error);
  return Enter(record::RunState::kFailed);
}

base::Status StatusFile::Write(int64_t now_ns) {
  if (step_ns_ > 0) {
    status_.efficiency =
        1.0 - static_cast<double>(lost_ns_) / static_cast<double>(step_ns_);
  }
  const double seconds = static_cast<double>(now_ns - first_start_ns_) * 1e-9;
  const auto done = static_cast<double>(status_.samples - first_samples_);
  if (first_start_ns_ != 0 && done > 0 && seconds > 0) {
    status_.samples_per_second = done / seconds;
    const auto left = static_cast<double>(status_.total_samples - status_.samples);
    status_.eta_seconds = left / status_.samples_per_second;
  }
  status_.updated_unix_ms = record::UnixMilliseconds();
  written_ns_ = now_ns;
  return record::WriteRunStatus(folder_, status_);
}

}  // namespace stepslack::train
