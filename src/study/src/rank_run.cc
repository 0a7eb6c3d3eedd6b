#include "stepslack/study/rank_run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;

constexpr auto kPollInterval = std::chrono::milliseconds(50);
// How long the last word of rank 0 stays, so that those who look every kPollInterval
// have read it; a process that starts later than this waits in vain, and says so.
constexpr auto kLastingTime = std::chrono::seconds(2);
// Data are made or read before a run is announced.
constexpr double kLongestPreparationSeconds = 3600;
// Clocks of hosts that share a folder differ a little.
constexpr int64_t kClockSlackSeconds = 5;

// The same on all ranks of an attempt.
std::string AttemptName(const record::RankEnvironment& environment) {
  std::string name = environment.job;
  if (!environment.OneHost()) {
    name = fmt::format("{}:{}", environment.master_address, environment.master_port);
    // Without an address of ours: the name that the MPI launcher gave the job.
    const char* space = std::getenv("PMIX_NAMESPACE");
    if (environment.master_address.empty() && space != nullptr) name = space;
  }
  return base::Sha256Of(name).substr(0, 16);
}

std::string AnnouncementPath(const std::string& room,
                             const record::RankEnvironment& environment) {
  return base::JoinPath(
      room, fmt::format(".stepslack/ranks.{}.json", AttemptName(environment)));
}

// A file that a killed rank 0 of an earlier attempt left is older than this process.
bool IsFresh(const std::string& path, int64_t not_before) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 &&
         status.st_mtim.tv_sec + kClockSlackSeconds >= not_before;
}

}  // namespace

RunAnnouncement::RunAnnouncement(const std::string& room,
                                 const record::RankEnvironment& environment)
    : path_(AnnouncementPath(room, environment)) {}

RunAnnouncement::~RunAnnouncement() { ::unlink(path_.c_str()); }

base::Status RunAnnouncement::Say(const std::string& run_folder) const {
  base::Json json;
  json.Set("folder", run_folder);
  return base::WriteFileAtomic(path_, json.Dump(-1) + "\n");
}

void RunAnnouncement::SayFinished() const {
  (void)Say("");
  std::this_thread::sleep_for(kLastingTime);
}

void RunAnnouncement::SayFailed(const base::Error& error) const {
  base::Json json;
  json.Set("error", base::Describe(error));
  (void)base::WriteFileAtomic(path_, json.Dump(-1) + "\n");
  std::this_thread::sleep_for(kLastingTime);
}

base::Result<std::string> AwaitAnnouncement(const std::string& room,
                                            const record::RankEnvironment& environment,
                                            const base::Context& context) {
  const std::string path = AnnouncementPath(room, environment);
  const int64_t begin_ns = base::NowNs();
  const auto not_before = static_cast<int64_t>(std::time(nullptr));
  while (static_cast<double>(base::NowNs() - begin_ns) * 1e-9 <
         kLongestPreparationSeconds) {
    if (context.StopRequested()) {
      return Fail("STUDY-0032", ExitCode::kInterrupted, "interrupted",
                  fmt::format("rank {}", environment.rank),
                  "run the same command again: finished work is kept");
    }
    const auto text = IsFresh(path, not_before) ? base::ReadFile(path)
                                                : tl::unexpected(base::Error{});
    if (text) {
      SS_TRY(const base::Json json, base::ParseJson(*text, path));
      if (!json.Has("error")) return json["folder"].AsString();
      return Fail("STUDY-0031", ExitCode::kEnvironment,
                  "rank 0 could not prepare the run: " + json["error"].AsString(),
                  fmt::format("rank {}", environment.rank),
                  "correct what rank 0 names, then start all ranks again");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return Fail("STUDY-0030", ExitCode::kEnvironment,
              fmt::format("rank 0 has announced no run in {:.0f} s",
                          kLongestPreparationSeconds),
              fmt::format("rank {}, waiting for {}", environment.rank, path),
              "all ranks must see the same --room; see what rank 0 says");
}

}  // namespace stepslack::study
