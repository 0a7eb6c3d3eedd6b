#include "checkpoint_writer.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint_folder.h"
#include "stepslack/base/context.h"
#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

double SecondsSince(int64_t start_ns) {
  return 1e-9 * static_cast<double>(base::NowNs() - start_ns);
}

double ThreadCpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The calling thread takes the core when training leaves it; when training waits for
// this thread, it has the core for itself.
void StandBack() {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
}

base::Status EncodeAndWrite(const std::string& path, const model::StateFile& state) {
  try {
    SS_TRY(base::AtomicFile file, base::AtomicFile::Create(path));
    SS_RETURN_IF_ERROR(model::EncodeState(
        state, [&file](std::string_view piece) { return file.Append(piece); }));
    return file.Commit();
  } catch (const std::bad_alloc&) {
    return base::Fail("TRAIN-0062", base::ExitCode::kEnvironment,
                      "no memory to encode the checkpoint", path,
                      "run fewer ranks on this host, or a smaller network");
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options)
    : options_(std::move(options)) {}

CheckpointWriter::~CheckpointWriter() = default;

base::Status CheckpointWriter::Save(int64_t step, std::string text,
                                    std::span<const NamedArray> arrays) {
  SS_RETURN_IF_ERROR(Finish());
  int64_t start_ns = base::NowNs();
  Copy(std::move(text), arrays);
  cost_.copy_seconds += SecondsSince(start_ns);
  ++cost_.saves;
  saving_step_ = step;
  start_ns = base::NowNs();
  ended_ = false;
  bool started = false;
  if (options_.asynchronous) {
    try {
      thread_ = std::jthread([this, step] {
        StandBack();
        Write(step);
      });
      started = true;
    } catch (const std::system_error&) {
      // No thread to be had: written here, as without `asynchronous`.
    }
  }
  if (started) return {};
  Write(step);
  cost_.wait_seconds += SecondsSince(start_ns);
  return Finish();
}

void CheckpointWriter::Copy(std::string text, std::span<const NamedArray> arrays) {
  staged_.text = std::move(text);
  for (const NamedArray& array : arrays) {
    model::StateArray& copy = staged_.arrays[array.name];
    copy.shape = array.shape;
    copy.values.assign(array.values.begin(), array.values.end());
  }
}

void CheckpointWriter::Write(int64_t step) {
  const int64_t start_ns = base::NowNs();
  const double start_cpu = ThreadCpuSeconds();
  status_ = EncodeAndWrite(CheckpointPath(options_.run_folder, step), staged_);
  if (status_.has_value()) PruneCheckpoints(options_.run_folder, step, options_.keep);
  write_seconds_ = SecondsSince(start_ns);
  write_cpu_seconds_ = ThreadCpuSeconds() - start_cpu;
  ended_ = true;
}

base::Status CheckpointWriter::Poll() {
  if (!ended_) return {};
  return Finish();
}

base::Status CheckpointWriter::Finish() {
  const int64_t start_ns = base::NowNs();
  if (thread_.joinable()) {
    thread_.join();
    cost_.wait_seconds += SecondsSince(start_ns);
  }
  cost_.write_seconds += std::exchange(write_seconds_, 0.0);
  cost_.write_cpu_seconds += std::exchange(write_cpu_seconds_, 0.0);
  if (status_.has_value()) durable_step_ = saving_step_;
  return status_;
}

}  // namespace stepslack::train
