#include "checkpoint_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::train {
namespace {

constexpr std::string_view kFolder = "checkpoints";
constexpr std::string_view kPrefix = "step";
constexpr std::string_view kSuffix = ".pt";

// What rank 0 tells the others before it sends the bytes.
struct Announcement {
  int64_t step = -1;  // -1: train from the beginning
  int64_t bytes = 0;  // 0 with a step: there are only damaged ones
  int64_t skipped = 0;
};

void Warn(const base::Error& error) {
  const std::string text = "warning" + base::Describe(error).substr(5);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void SetAside(const CheckpointFile& file, const base::Error& damage) {
  const std::string aside = file.path + ".damaged";
  const bool moved = std::rename(file.path.c_str(), aside.c_str()) == 0;
  Warn({"TRAIN-0060", base::ExitCode::kIntegrity,
        "skipped: " + damage.what + (moved ? "; it is kept as " + aside : ""),
        file.path, "training resumes from the checkpoint before it"});
}

// Rank 0: the bytes of the newest checkpoint that can be read.
std::string ReadNewest(const std::string& run_folder, Announcement& announcement) {
  for (const CheckpointFile& file : ListCheckpoints(run_folder)) {
    announcement.step = file.step;
    auto bytes = base::ReadFile(file.path);
    base::Status usable;
    if (!bytes.has_value()) {
      usable = tl::unexpected(bytes.error());
    } else if (auto state = model::DecodeState(*bytes, file.path); !state.has_value()) {
      usable = tl::unexpected(state.error());
    }
    if (usable.has_value()) {
      announcement.bytes = static_cast<int64_t>(bytes->size());
      return std::move(*bytes);
    }
    SetAside(file, usable.error());
    ++announcement.skipped;
  }
  return {};
}

}  // namespace

std::string CheckpointPath(const std::string& run_folder, int64_t step) {
  return base::JoinPath(
      base::JoinPath(run_folder, kFolder),
      std::string(kPrefix) + std::to_string(step) + std::string(kSuffix));
}

std::vector<CheckpointFile> ListCheckpoints(const std::string& run_folder) {
  const auto names = base::ListFolder(base::JoinPath(run_folder, kFolder));
  std::vector<CheckpointFile> files;
  if (!names.has_value()) return files;
  for (const std::string& name : *names) {
    std::string_view number = name;
    if (!number.starts_with(kPrefix) || !number.ends_with(kSuffix)) continue;
    number.remove_prefix(kPrefix.size());
    number.remove_suffix(std::min(number.size(), kSuffix.size()));
    const auto step = base::ParseInt(number);
    if (!step || *step < 0) continue;
    // Only names that are written here: no "step007.pt" beside "step7.pt".
    const std::string path = CheckpointPath(run_folder, *step);
    if (base::FileName(path) == name) files.push_back({*step, path});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.step > b.step; });
  return files;
}

void PruneCheckpoints(const std::string& run_folder, int64_t step, int keep) {
  int kept = 0;
  for (const CheckpointFile& file : ListCheckpoints(run_folder)) {
    if (file.step > step) continue;
    if (kept++ >= keep) ::unlink(file.path.c_str());
  }
}

void RemoveHalfWritten(const std::string& run_folder) {
  const std::string folder = base::JoinPath(run_folder, kFolder);
  const auto names = base::ListFolder(folder);
  if (!names.has_value()) return;
  for (const std::string& name : *names) {
    if (name.starts_with(".tmp.")) {
      ::unlink(base::JoinPath(folder, name).c_str());
    }
  }
}

base::Result<std::optional<FoundCheckpoint>> FindCheckpoint(
    const std::string& run_folder, comm::Communicator& communicator) {
  std::string bytes;
  Announcement announcement;
  if (communicator.rank() == 0) {
    RemoveHalfWritten(run_folder);
    bytes = ReadNewest(run_folder, announcement);
  }
  SS_RETURN_IF_ERROR(
      communicator.Broadcast(std::as_writable_bytes(std::span(&announcement, 1)), 0));
  if (announcement.step < 0) return std::optional<FoundCheckpoint>();
  if (announcement.bytes == 0) {
    return base::Fail(
        "TRAIN-0061", base::ExitCode::kIntegrity,
        "all " + std::to_string(announcement.skipped) + " checkpoints are damaged",
        base::JoinPath(run_folder, kFolder),
        "start again to train from the beginning; first check the disk");
  }
  bytes.resize(static_cast<size_t>(announcement.bytes));
  SS_RETURN_IF_ERROR(
      communicator.Broadcast(std::as_writable_bytes(std::span(bytes)), 0));
  FoundCheckpoint found;
  found.path = CheckpointPath(run_folder, announcement.step);
  found.skipped = static_cast<int>(announcement.skipped);
  SS_TRY(found.state, model::DecodeState(bytes, found.path));
  return std::optional<FoundCheckpoint>(std::move(found));
}

}  // namespace stepslack::train
