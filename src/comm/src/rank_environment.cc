#include "stepslack/comm/rank_environment.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "stepslack/base/text.h"

namespace stepslack::comm {
namespace {

constexpr int kMaxWorldSize = 4096;

std::optional<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

base::Status Refuse(std::string what) {
  return base::Fail("COMM-0001", base::ExitCode::kUsage, std::move(what), "environment",
                    "start ranks with `stepslack train`, or set STEPSLACK_RANK, "
                    "STEPSLACK_WORLD_SIZE and STEPSLACK_STORE");
}

// Reads an integer variable in [low, high]; absent: the fallback.
base::Result<int> ReadInt(const char* name, int fallback, int low, int high) {
  const auto text = Variable(name);
  if (!text.has_value()) return fallback;
  const auto value = base::ParseInt(*text);
  if (!value.has_value() || *value < low || *value > high) {
    return tl::unexpected(Refuse(std::string(name) + " is '" + *text +
                                 "', expected an integer from " + std::to_string(low) +
                                 " to " + std::to_string(high))
                              .error());
  }
  return static_cast<int>(*value);
}

}  // namespace

base::Result<RankEnvironment> ReadRankEnvironment() {
  RankEnvironment environment;
  SS_TRY(environment.world_size, ReadInt("STEPSLACK_WORLD_SIZE", 1, 1, kMaxWorldSize));
  SS_TRY(environment.rank, ReadInt("STEPSLACK_RANK", 0, 0, environment.world_size - 1));
  environment.store_path = Variable("STEPSLACK_STORE").value_or("");
  environment.interface = Variable("STEPSLACK_INTERFACE").value_or("lo");
  if (environment.world_size > 1 && environment.store_path.empty()) {
    return tl::unexpected(
        Refuse("STEPSLACK_STORE is not set but there are several ranks").error());
  }
  return environment;
}

base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    double timeout_seconds) {
  if (environment.world_size == 1) {
    return std::make_unique<Communicator>(MakeSelfTransport(), timeout_seconds,
                                          nullptr);
  }
  SS_TRY(auto board, ProgressBoard::Open(environment.store_path + ".board",
                                         environment.rank, environment.world_size));
  auto transport =
      ConnectGloo({environment.rank, environment.world_size, environment.store_path,
                   environment.interface, timeout_seconds});
  if (!transport.has_value()) {
    const std::string missing = board->Missing();
    return base::Fail("COMM-0004", base::ExitCode::kEnvironment,
                      "the ranks did not find each other: " +
                          (missing.empty() ? std::string() : missing + "; ") +
                          transport.error().what,
                      "rank " + std::to_string(environment.rank),
                      "see the logs of the other ranks; the store file must be new for "
                      "every attempt");
  }
  return std::make_unique<Communicator>(std::move(*transport), timeout_seconds,
                                        std::move(board));
}

}  // namespace stepslack::comm
