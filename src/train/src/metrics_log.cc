#include "metrics_log.h"

#include <cerrno>
#include <cstring>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::train {
namespace {

constexpr int64_t kFlushEveryNs = 1'000'000'000;

std::string KeptLines(const std::string& path, int64_t keep_steps) {
  std::string kept;
  if (keep_steps <= 0) return kept;
  const auto text = base::ReadFile(path);
  if (!text.has_value()) return kept;
  for (std::string_view line : base::Split(*text, '\n')) {
    const auto json = base::ParseJson(line, path);
    if (!json.has_value() || !(*json)["step"].is_int()) continue;
    if ((*json)["step"].AsInt() > keep_steps) continue;
    kept.append(line);
    kept.push_back('\n');
  }
  return kept;
}

}  // namespace

base::Result<MetricsLog> MetricsLog::Open(const std::string& path, int64_t keep_steps) {
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(path, KeptLines(path, keep_steps)));
  MetricsLog log;
  log.path_ = path;
  log.file_.reset(std::fopen(path.c_str(), "ae"));
  if (!log.file_) return tl::unexpected(log.CannotWrite().error());
  log.flushed_ns_ = base::NowNs();
  return log;
}

base::Status MetricsLog::Append(const base::Json& record) {
  const std::string line = record.Dump(-1) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size()) {
    return CannotWrite();
  }
  if (base::NowNs() - flushed_ns_ < kFlushEveryNs) return {};
  return Flush();
}

base::Status MetricsLog::Flush() {
  flushed_ns_ = base::NowNs();
  if (std::fflush(file_.get()) != 0) return CannotWrite();
  return {};
}

base::Status MetricsLog::CannotWrite() const {
  return base::Fail("TRAIN-0012", base::ExitCode::kEnvironment,
                    std::string("cannot write metrics: ") + std::strerror(errno), path_,
                    "check free space and permissions, then run again: it resumes");
}

}  // namespace stepslack::train
