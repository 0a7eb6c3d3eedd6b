#include "stepslack/analyze/run_files.h"

#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/trace/input_files.h"
#include "stepslack/trace/mllog.h"

namespace stepslack::analyze {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestDescription = int64_t{1} << 20;
constexpr size_t kMostBeside = 5000;  // descriptions looked at in one folder
constexpr int kFoldersAbove = 4;

bool LooksLikeSystem(std::string_view head) {
  return head.find("\"number_of_nodes\"") != std::string_view::npos;
}

class RunFileReader {
 public:
  explicit RunFileReader(const RunFileOptions& options) : options_(options) {}

  base::Result<RunFiles> Read(std::span<const std::string> paths);

 private:
  struct PendingRun {
    RunOutcome outcome;
    std::string platform;
  };

  void ReadPath(const std::string& path);
  void ReadInput(const trace::Input& input, trace::ByteSource& source);
  void ReadLog(const trace::Input& input, trace::ByteSource& source);
  void AddSystem(std::string_view text, const std::string& name);
  void LookBeside(const std::string& path);
  void LookInto(const std::string& folder);
  void Skip(std::string name, std::string reason) {
    files_.skipped.push_back({std::move(name), std::move(reason)});
  }

  RunFileOptions options_;
  RunFiles files_;
  std::vector<PendingRun> pending_;
  std::set<std::string> folders_seen_;
  std::set<std::string> systems_seen_;
  std::map<std::string, std::string> logs_seen_;  // digest to name
};

base::Result<RunFiles> RunFileReader::Read(std::span<const std::string> paths) {
  SS_TRY(const trace::FoundFiles found, trace::ExpandPaths(paths));
  const std::vector<std::string>& files = found.files;
  for (const std::string& file : files) ReadPath(file);
  if (pending_.empty()) {
    return base::Fail("ANL-0184", base::ExitCode::kInput,
                      "none of the inputs is a training log",
                      files.empty() ? "" : files.front(),
                      "give logs with :::MLLOG lines, or archives of them");
  }
  if (options_.look_beside) {
    for (const std::string& file : files) LookBeside(file);
  }
  for (PendingRun& run : pending_) {
    RunOutcome& outcome = run.outcome;
    if (!outcome.world_size) {
      const SystemMatch match =
          MatchSystem(files_.systems, outcome.source, run.platform, outcome.submitter);
      if (match.index) {
        ApplySystem(files_.systems[*match.index], outcome);
      } else {
        outcome.world_size_reason += ", and " + match.reason;
      }
    }
    files_.runs.push_back(std::move(outcome));
  }
  return std::move(files_);
}

void RunFileReader::ReadPath(const std::string& path) {
  const auto whole = trace::VisitInputs(
      path, [this](const trace::Input& input, trace::ByteSource& source) {
        ReadInput(input, source);
      });
  if (!whole.has_value()) {
    Skip(path, whole.error().what);
  } else if (!*whole) {
    Skip(path, "the archive ends inside a member");
  }
}

void RunFileReader::ReadInput(const trace::Input& input, trace::ByteSource& source) {
  if (input.format == trace::InputFormat::kMlLog) return ReadLog(input, source);
  if (!LooksLikeSystem(input.head)) {
    Skip(input.name, "neither a training log nor a system description");
    return;
  }
  const auto text = trace::ReadAll(source, input.name, kLargestDescription);
  if (text.has_value()) {
    AddSystem(*text, input.name);
  } else {
    Skip(input.name, text.error().what);
  }
}

void RunFileReader::ReadLog(const trace::Input& input, trace::ByteSource& source) {
  const auto text = trace::ReadAll(source, input.name, options_.max_log_bytes);
  if (!text.has_value()) return Skip(input.name, text.error().what);
  // Logs have times in them: equal bytes are one run, unpacked beside its archive.
  const auto [first, is_new] =
      logs_seen_.try_emplace(base::Sha256Of(*text), input.name);
  if (!is_new) return Skip(input.name, "the same log as " + first->second);
  trace::MllogRun parsed_here;
  const trace::MllogRun* run = &parsed_here;
  if (const auto found = options_.parsed.find(input.name);
      found != options_.parsed.end()) {
    run = found->second;
  } else {
    auto parsed = trace::ParseMllog(*text, input.name);
    if (!parsed.has_value()) return Skip(input.name, parsed.error().what);
    parsed_here = *std::move(parsed);
  }
  PendingRun pending;
  pending.outcome = OutcomeOf(*run, input.name);
  pending.platform = run->platform;
  if (const auto system = SystemInLog(*text, input.name)) {
    // The folder names the system better than the object, which often is the same at
    // every size.
    const std::string named = pending.outcome.system;
    ApplySystem(*system, pending.outcome);
    if (!named.empty()) pending.outcome.system = named;
  }
  if (source.damaged()) {
    std::string& reason = pending.outcome.reason;
    reason += reason.empty() ? "" : "; ";
    reason += "the compressed input is damaged, and read up to there";
  }
  pending_.push_back(std::move(pending));
}

void RunFileReader::AddSystem(std::string_view text, const std::string& name) {
  if (!systems_seen_.insert(name).second) return;
  auto system = ParseSystemDescription(text, name);
  if (system.has_value()) {
    files_.systems.push_back(*std::move(system));
  } else {
    Skip(name, system.error().what);
  }
}

void RunFileReader::LookBeside(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error).parent_path();
  if (error) return;
  LookInto(folder.string());
  for (int i = 0; i <= kFoldersAbove && !folder.empty(); ++i) {
    LookInto((folder / "systems").string());
    if (!folder.has_relative_path()) return;  // the root
    folder = folder.parent_path();
  }
}

void RunFileReader::LookInto(const std::string& folder) {
  if (!folders_seen_.insert(folder).second || !base::IsFolder(folder)) return;
  const auto names = base::ListFolder(folder);
  if (!names.has_value()) return;
  size_t looked_at = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".json") || ++looked_at > kMostBeside) continue;
    const std::string path = base::JoinPath(folder, name);
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;
    const auto size = fs::file_size(path, error);
    if (error || size > static_cast<uintmax_t>(kLargestDescription)) continue;
    const auto text = base::ReadFile(path);
    if (text.has_value() && LooksLikeSystem(*text)) AddSystem(*text, path);
  }
}

}  // namespace

base::Result<RunFiles> ReadRunFiles(std::span<const std::string> paths,
                                    const RunFileOptions& options) {
  return RunFileReader(options).Read(paths);
}

}  // namespace stepslack::analyze
