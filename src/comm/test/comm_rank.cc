// One rank of a test with real processes: comm_rank BACKEND operations|sums|late.
// Prints what it is connected by, or the error; ends with 0 when all was as expected.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "every_operation.h"
#include "stepslack/comm/connect.h"

namespace stepslack::comm {
namespace {

int Operations(Transport& transport, bool all) {
  OperationCheck check(transport);
  const std::string problem = all ? check.Run() : check.RunSums();
  if (problem.empty()) return 0;
  std::printf("wrong: %s\n", problem.c_str());
  return 1;
}

// Rank 1 comes long after the time-out: the others must say so, and not hang.
int Late(Transport& transport) {
  if (!transport.Barrier().has_value()) return 1;
  if (transport.rank() == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return 0;
  }
  std::vector<float> data(100'000, 1.0F);
  const auto status =
      transport.AllReduceSum({data.data(), data.size(), DType::kFloat32});
  if (status.has_value()) return 1;
  std::printf(
      "%s: %s\n",
      status.error().kind == TransportFailure::Kind::kTimeout ? "timeout" : "other",
      status.error().what.c_str());
  return 0;
}

int Run(const std::string& backend, const std::string& mode) {
  const auto environment = record::ReadRankEnvironment();
  if (!environment) {
    std::fputs(Describe(environment.error()).c_str(), stdout);
    return 2;
  }
  ConnectOptions options;
  options.backend = backend;
  options.timeout_seconds = mode == "late" ? 1.5 : 20;
  auto connection = ConnectTransport(*environment, options);
  if (!connection) {
    std::fputs(Describe(connection.error()).c_str(), stdout);
    return 2;
  }
  const ConnectionFacts& facts = connection->facts;
  std::printf("%s | %s | %s | %s\n", facts.transport.c_str(), facts.topology.c_str(),
              facts.reason.c_str(), facts.launcher.c_str());
  return mode == "late" ? Late(*connection->transport)
                        : Operations(*connection->transport, mode == "operations");
}

}  // namespace
}  // namespace stepslack::comm

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const int code = stepslack::comm::Run(argv[1], argv[2]);
  std::fflush(stdout);
  return code;
}
