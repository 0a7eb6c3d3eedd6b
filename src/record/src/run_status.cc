#include "stepslack/record/run_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.status/1";
constexpr const char* kFile = "status.json";
constexpr std::array<std::string_view, 6> kStates = {
    "starting", "running", "evaluating", "checkpointing", "done", "failed"};

base::Status CannotWrite(const std::string& path) {
  return base::Fail("REC-0021", base::ExitCode::kEnvironment,
                    std::string("cannot write the status: ") + std::strerror(errno),
                    path, "check free space and permissions of the run's folder");
}

}  // namespace

std::string_view ToString(RunState state) {
  return kStates[static_cast<size_t>(state)];
}

Json ToJson(const RunStatus& status) {
  Json json;
  json.Set("schema", kSchema);
  json.Set("state", ToString(status.state));
  json.Set("process", status.process);
  json.Set("world_size", status.world_size);
  json.Set("step", status.step);
  json.Set("samples", status.samples);
  json.Set("total_samples", status.total_samples);
  json.Set("loss", status.loss);
  json.Set("samples_per_second", status.samples_per_second);
  json.Set("efficiency", status.efficiency);
  json.Set("eta_seconds", status.eta_seconds);
  json.Set("checkpoint_step", status.checkpoint_step);
  json.Set("updated_unix_ms", status.updated_unix_ms);
  json.Set("error", status.error);
  return json;
}

base::Result<RunStatus> ReadRunStatus(const std::string& folder) {
  const std::string path = base::JoinPath(folder, kFile);
  SS_TRY(const std::string text, base::ReadFile(path));
  const auto json = base::ParseJson(text, path);
  RunStatus status;
  bool known = json.has_value() && (*json)["schema"].AsString() == kSchema;
  if (known) {
    const std::string& name = (*json)["state"].AsString();
    size_t state = 0;
    while (state < kStates.size() && kStates[state] != name) ++state;
    known = state < kStates.size();
    status.state = static_cast<RunState>(state);
  }
  if (!known) {
    return base::Fail("REC-0020", base::ExitCode::kInput,
                      "status.json is not of schema stepslack.status/1", path,
                      "run the training again, it replaces the file");
  }
  status.process = (*json)["process"].AsInt();
  status.world_size = static_cast<int>((*json)["world_size"].AsInt(1));
  status.step = (*json)["step"].AsInt();
  status.samples = (*json)["samples"].AsInt();
  status.total_samples = (*json)["total_samples"].AsInt();
  status.loss = (*json)["loss"].AsDouble(std::nan(""));
  status.samples_per_second = (*json)["samples_per_second"].AsDouble();
  status.efficiency = (*json)["efficiency"].AsDouble();
  status.eta_seconds = (*json)["eta_seconds"].AsDouble(-1);
  status.checkpoint_step = (*json)["checkpoint_step"].AsInt(-1);
  status.updated_unix_ms = (*json)["updated_unix_ms"].AsInt();
  status.error = (*json)["error"].AsString();
  return status;
}

base::Status WriteRunStatus(const std::string& folder, const RunStatus& status) {
  // Not base::WriteFileAtomic: it waits for the disk, and training would wait with it.
  const std::string path = base::JoinPath(folder, kFile);
  const std::string fresh = base::JoinPath(folder, ".status.json.new");
  const std::string text = ToJson(status).Dump() + "\n";
  const int file =
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return CannotWrite(path);
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (!whole && written >= 0) errno = ENOSPC;
  const int reason = errno;
  ::close(file);
  if (whole && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  if (!whole) errno = reason;
  base::Status failure = CannotWrite(path);
  ::unlink(fresh.c_str());
  return failure;
}

void MarkRunFailed(const std::string& folder, const std::string& error,
                   int world_size) {
  RunStatus status = ReadRunStatus(folder).value_or(RunStatus());
  status.state = RunState::kFailed;
  status.world_size = world_size;
  status.error = error;
  status.eta_seconds = -1;
  status.updated_unix_ms = UnixMilliseconds();
  (void)WriteRunStatus(folder, status);
}

int64_t UnixMilliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string ProgressLine(const RunStatus& status) {
  std::string line;
  if (status.state == RunState::kStarting) return "starting";
  if (status.state != RunState::kRunning)
    line = fmt::format("{} | ", ToString(status.state));
  line += fmt::format("step {}", status.step);
  if (status.total_samples > 0) {
    line += fmt::format(" | {} of {} samples ({:.0f} %)", status.samples,
                        status.total_samples,
                        100.0 * static_cast<double>(status.samples) /
                            static_cast<double>(status.total_samples));
  }
  if (status.step > 0) line += " | loss " + base::Human(status.loss);
  if (status.samples_per_second > 0) {
    line +=
        fmt::format(" | {} samples/s | efficiency {:.0f} %",
                    base::Human(status.samples_per_second), 100.0 * status.efficiency);
  }
  if (status.eta_seconds >= 0 && status.state != RunState::kDone) {
    line += " | ETA " + base::HumanDuration(status.eta_seconds);
  }
  return line;
}

}  // namespace stepslack::record
