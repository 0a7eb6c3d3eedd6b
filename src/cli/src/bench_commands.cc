#include "bench_commands.h"

#include <fmt/format.h>

#include "companion.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/store/room.h"
#include "stepslack/study/comm_bench.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

constexpr int64_t kMostRanks = 64;
constexpr int64_t kMostBytes = int64_t{1} << 30;

std::vector<std::string> Words(const std::string& list) {
  std::vector<std::string> words;
  for (const auto& word : base::Split(list, ',')) {
    if (!base::Trim(word).empty()) words.emplace_back(base::Trim(word));
  }
  return words;
}

base::Result<study::CommBenchRequest> ReadRequest(const Arguments& arguments) {
  study::CommBenchRequest request;
  request.worker = Companion("STEPSLACK_WORKER", "stepslack-worker");
  const auto ranks = base::ParseInt(arguments.Value("--ranks"));
  if (!ranks || *ranks < 2 || *ranks > kMostRanks) {
    return base::Fail("CLI-0220", ExitCode::kUsage,
                      fmt::format("must be a whole number from 2 to {}", kMostRanks),
                      fmt::format("--ranks {}", arguments.Value("--ranks")),
                      "one rank has nobody to talk to; for example --ranks 2");
  }
  request.ranks = static_cast<int>(*ranks);
  request.backends = Words(arguments.Value("--backend"));
  request.collectives = Words(arguments.Value("--collective"));
  for (const std::string& word : Words(arguments.Value("--bytes"))) {
    const auto bytes = base::ParseInt(word);
    if (!bytes || *bytes < 1 || *bytes > kMostBytes) {
      return base::Fail("CLI-0221", ExitCode::kUsage,
                        fmt::format("expected whole numbers from 1 to {}", kMostBytes),
                        fmt::format("--bytes {}", word),
                        "for example --bytes 4096,1048576");
    }
    request.bytes.push_back(*bytes);
  }
  return request;
}

}  // namespace

base::Result<CommandResult> Bench(const Arguments& arguments,
                                  const base::Context& context) {
  if (arguments.Value("WHAT") != "comm") {
    return base::Fail("CLI-0222", ExitCode::kUsage,
                      "there is no such bench: " + arguments.Value("WHAT"), "bench",
                      "choose comm");
  }
  SS_TRY(study::CommBenchRequest request, ReadRequest(arguments));
  SS_TRY(const store::Room room, store::Room::Open(arguments.Value("--room")));
  request.folder = room.ScratchFolder();
  SS_TRY(base::Json table, study::MeasureCommunication(request, context));
  const std::string path = base::JoinPath(room.path(), ".stepslack/comm_table.json");
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(path, table.Dump() + "\n"));
  if (arguments.Value("--format") == "json") {
    return CommandResult{.output = table.Dump() + "\n", .exit_code = ExitCode::kOk};
  }
  return CommandResult{
      .output = study::CommBenchText(table) + fmt::format("\nkept: {}\n", path),
      .exit_code = ExitCode::kOk};
}

}  // namespace stepslack::cli
