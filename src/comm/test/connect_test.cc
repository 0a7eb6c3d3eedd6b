// Ranks as processes, started the way that torchrun and mpirun start them.
#include "stepslack/comm/connect.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "rendezvous.h"
#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"

namespace stepslack::comm {
namespace {

using Environment = std::map<std::string, std::string>;

// The helper and the adapter of MPI lie beside the worker, one above the tests.
std::string Helper() {
  return base::JoinPath(base::ParentFolder(base::ParentFolder(base::ExecutablePath())),
                        "comm_rank");
}

// A socket that has a port of the loopback interface, which nobody else can take then.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, generic, sizeof address), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    EXPECT_EQ(::getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { Free(); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  int port() const { return port_; }
  void Free() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  int port_ = 0;
};

int FreePort() { return TakenPort().port(); }

class Ranks {
 public:
  Ranks() {
    static int counter = 0;
    folder_ = testing::TempDir() + "connect_" + std::to_string(::getpid()) + "_" +
              std::to_string(counter++);
    std::filesystem::create_directories(folder_);
  }
  ~Ranks() { std::filesystem::remove_all(folder_); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void Start(std::vector<std::string> argv, Environment environment) {
    environment.emplace("TMPDIR", folder_);
    environment.emplace("OMP_NUM_THREADS", "1");
    auto process = base::Process::Start(
        {.argv = std::move(argv),
         .env = std::move(environment),
         .log_path = folder_ + "/log" + std::to_string(processes_.size())});
    ASSERT_TRUE(process.has_value()) << Describe(process.error());
    processes_.push_back(std::move(*process));
  }
  void StartTorchrunStyle(const std::string& backend, int ranks, int port) {
    for (int rank = 0; rank < ranks; ++rank) {
      Start({Helper(), backend, "operations"},
            {{"RANK", std::to_string(rank)},
             {"WORLD_SIZE", std::to_string(ranks)},
             {"LOCAL_RANK", std::to_string(rank)},
             {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
             {"MASTER_ADDR", "127.0.0.1"},
             {"MASTER_PORT", std::to_string(port)}});
    }
  }
  // Waits for all and returns their exit codes; -1: killed or still there.
  std::vector<int> Codes() {
    std::vector<int> codes(processes_.size(), -1);
    const int64_t until = base::NowNs() + int64_t{90'000'000'000};
    for (size_t i = 0; i < codes.size(); ++i) {
      auto end = processes_[i].Poll();
      while (!end && base::NowNs() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        end = processes_[i].Poll();
      }
      if (end && end->signal == 0) codes[i] = end->exit_code;
    }
    return codes;
  }
  std::string Log(size_t index) const {
    return base::ReadFile(folder_ + "/log" + std::to_string(index)).value_or("");
  }

 private:
  std::string folder_;
  std::vector<base::Process> processes_;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Connect, TorchrunStyleRanksDoEveryOperationOverGlooAndTcp) {
  Ranks ranks;
  ranks.StartTorchrunStyle("gloo", 3, FreePort());
  EXPECT_EQ(ranks.Codes(), (std::vector<int>{0, 0, 0})) << ranks.Log(0) << ranks.Log(1);
  EXPECT_TRUE(Has(ranks.Log(2), "gloo | 3 ranks on 1 host | asked for | torchrun"))
      << ranks.Log(2);
}

TEST(Connect, RanksOfOneHostShareMemoryUnlessTold) {
  Ranks ranks;
  ranks.StartTorchrunStyle("auto", 2, FreePort());
  EXPECT_EQ(ranks.Codes(), (std::vector<int>{0, 0})) << ranks.Log(0) << ranks.Log(1);
  EXPECT_TRUE(Has(ranks.Log(1), "shm | 2 ranks on 1 host | one host | torchrun"))
      << ranks.Log(1);
}

TEST(Connect, SeveralHostsMakeTwoLevels) {
  Ranks ranks;
  const int port = FreePort();
  for (int rank = 0; rank < 3; ++rank) {
    ranks.Start({Helper(), "auto", "sums"},
                {{"RANK", std::to_string(rank)},
                 {"WORLD_SIZE", "3"},
                 {"STEPSLACK_HOST", rank < 2 ? "left" : "right"},
                 {"LOCAL_RANK", std::to_string(rank % 2)},
                 {"LOCAL_WORLD_SIZE", rank < 2 ? "2" : "1"},
                 {"MASTER_ADDR", "127.0.0.1"},
                 {"MASTER_PORT", std::to_string(port)}});
  }
  EXPECT_EQ(ranks.Codes(), (std::vector<int>{0, 0, 0})) << ranks.Log(0) << ranks.Log(2);
  EXPECT_TRUE(Has(ranks.Log(1), "hier | 3 ranks on 2 hosts (2+1) | several hosts"))
      << ranks.Log(1);
}

TEST(Connect, NamesAPortThatIsTaken) {
  const TakenPort taken;
  Ranks two;  // of which one is enough here
  two.Start({Helper(), "gloo", "operations"},
            {{"RANK", "0"},
             {"WORLD_SIZE", "2"},
             {"MASTER_ADDR", "127.0.0.1"},
             {"MASTER_PORT", std::to_string(taken.port())}});
  EXPECT_EQ(two.Codes(), std::vector<int>{2});
  EXPECT_TRUE(Has(two.Log(0), "COMM-0040")) << two.Log(0);
  EXPECT_TRUE(Has(two.Log(0), std::to_string(taken.port()))) << two.Log(0);
}

TEST(Connect, NamesAMasterThatIsNotThereAndAnInterfaceThatIsNot) {
  RankEnvironment environment;
  environment.rank = 1;
  environment.world_size = 2;
  environment.interface = "lo";
  environment.master_address = "127.0.0.1";
  environment.master_port = FreePort();
  ConnectOptions options;
  options.backend = "gloo";
  options.timeout_seconds = 0.5;
  auto refused = ConnectTransport(environment, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0047") << Describe(refused.error());

  environment.interface = "nosuch0";
  refused = ConnectTransport(environment, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0041");
  EXPECT_TRUE(Has(refused.error().help, "lo")) << refused.error().help;
}

TEST(Connect, NamesTheRankThatDoesNotComeToTheStore) {
  RankEnvironment environment;
  environment.world_size = 2;
  environment.master_address = "127.0.0.1";
  environment.master_port = FreePort();
  ConnectOptions options;
  options.backend = "gloo";
  options.timeout_seconds = 0.5;
  const auto refused = ConnectTransport(environment, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0004");
  EXPECT_TRUE(Has(refused.error().what, "timed out waiting for rank 1"))
      << refused.error().what;
}

TEST(Connect, RefusesABackendThatDoesNotFit) {
  RankEnvironment environment;
  environment.world_size = 2;
  environment.store_path = testing::TempDir() + "unused_store";
  for (const char* backend : {"telepathy", "self"}) {
    ConnectOptions options;
    options.backend = backend;
    const auto refused = ConnectTransport(environment, options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().id, "COMM-0045");
  }
  // Started by hand: MPI would end the process.
  ConnectOptions options;
  options.backend = "mpi";
  const auto refused = ConnectTransport(environment, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0055");
  ::unlink((environment.store_path + ".board").c_str());
}

TEST(Rendezvous, ResolvesNumbersAndTheLoopbackName) {
  EXPECT_EQ(ResolveHost("10.1.2.3", 1).value(), "10.1.2.3");
  EXPECT_EQ(ResolveHost("::1", 1).value(), "::1");
  const auto nowhere = ResolveHost("no-such-host.invalid", 2);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().id, "COMM-0042");
  EXPECT_EQ(InterfaceTowards("127.0.0.1"), "lo");
}

bool HasMpi() {
  const std::string folder = base::ParentFolder(Helper());
  return base::PathExists("/usr/bin/mpirun") &&
         base::PathExists(folder + "/libstepslack_mpi.so");
}

void StartMpirun(Ranks& ranks, int count, const std::string& backend,
                 const std::string& mode) {
  ranks.Start({"/usr/bin/mpirun", "--oversubscribe", "--bind-to", "none", "-np",
               std::to_string(count), Helper(), backend, mode},
              {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
               {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
               {"OMPI_MCA_mpi_yield_when_idle", "1"}});
}

TEST(ConnectMpi, EveryOperationUnderMpirun) {
  if (!HasMpi()) GTEST_SKIP() << "mpirun or the adapter of MPI is not there";
  for (const int count : {2, 3}) {
    Ranks ranks;
    StartMpirun(ranks, count, "mpi", "operations");
    EXPECT_EQ(ranks.Codes(), std::vector<int>{0}) << ranks.Log(0);
    const std::string wanted =
        "mpi | " + std::to_string(count) + " ranks on 1 host | asked for | mpirun";
    EXPECT_TRUE(Has(ranks.Log(0), wanted)) << ranks.Log(0);
  }
}

TEST(ConnectMpi, RanksOfMpirunShareMemoryUnlessTold) {
  if (!HasMpi()) GTEST_SKIP() << "mpirun or the adapter of MPI is not there";
  Ranks ranks;
  StartMpirun(ranks, 2, "auto", "operations");
  EXPECT_EQ(ranks.Codes(), std::vector<int>{0}) << ranks.Log(0);
  EXPECT_TRUE(Has(ranks.Log(0), "shm | 2 ranks on 1 host")) << ranks.Log(0);
}

TEST(ConnectMpi, ALateRankIsATimeOutOnTheOthers) {
  if (!HasMpi()) GTEST_SKIP() << "mpirun or the adapter of MPI is not there";
  Ranks ranks;
  StartMpirun(ranks, 2, "mpi", "late");
  ranks.Codes();
  EXPECT_TRUE(Has(ranks.Log(0), "timeout: ")) << ranks.Log(0);
}

}  // namespace
}  // namespace stepslack::comm
