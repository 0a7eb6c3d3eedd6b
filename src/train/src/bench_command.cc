#include "bench_command.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/comm/bench_comm.h"

namespace stepslack::train {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr double kMostSeconds = 3600;

tl::unexpected<base::Error> Misused(std::string what) {
  return base::Fail("TRAIN-0100", base::ExitCode::kUsage, std::move(what), "bench-comm",
                    "stepslack-worker bench-comm --backends shm,gloo --bytes 4096 "
                    "--out FILE; `stepslack bench comm` does it all");
}

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  for (const auto& word : base::Split(list, ',')) words.emplace_back(word);
  return words;
}

}  // namespace

base::Status RunBenchCommand(std::span<char* const> arguments) {
  std::map<std::string, std::string, std::less<>> values;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    values[arguments[i]] = arguments[i + 1];
  }
  for (const char* name : {"--backends", "--bytes", "--out"}) {
    if (!values.contains(name)) return Misused(std::string(name) + " is missing");
  }
  SS_TRY(const record::RankEnvironment environment, record::ReadRankEnvironment());
  comm::BenchCommOptions options;
  options.backends = Words(values["--backends"]);
  if (values.contains("--collectives")) {
    options.collectives = Words(values["--collectives"]);
  }
  const int64_t unit = int64_t{4} * environment.world_size;
  for (const std::string& word : Words(values["--bytes"])) {
    const auto bytes = base::ParseInt(word);
    if (!bytes || *bytes < 1 || *bytes > kMostBytes) {
      return Misused("--bytes has '" + word + "', expected 1 to " +
                     std::to_string(kMostBytes));
    }
    options.bytes.push_back((*bytes + unit - 1) / unit * unit);
  }
  if (values.contains("--timeout")) {
    const auto seconds = base::ParseInt(values["--timeout"]);
    if (!seconds || *seconds < 1 || static_cast<double>(*seconds) > kMostSeconds) {
      return Misused("--timeout is '" + values["--timeout"] + "', expected seconds");
    }
    options.timeout_seconds = static_cast<double>(*seconds);
  }
  SS_TRY(const comm::CostTable table, comm::BenchComm(environment, options));
  if (environment.rank != 0) return {};
  return base::WriteFileAtomic(values["--out"], comm::ToJson(table).Dump() + "\n");
}

}  // namespace stepslack::train
