// Ranks as processes, since only those can be killed and stopped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "shm_test_ranks.h"
#include "stepslack/base/context.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {
namespace {

// Runs body(communicator) -> text in one forked process a rank; what it returned is in
// `<store>.<rank>` afterwards.
class ProcessRanks {
 public:
  using Body = std::function<std::string(Communicator&)>;

  ProcessRanks(int ranks, double timeout_seconds, const Body& body)
      : store_(FreshShmStore()) {
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(60);  // never outlives a broken test by much
        std::ofstream(Answer(rank)) << Run(rank, ranks, timeout_seconds, body);
        std::_Exit(0);
      }
      children_.push_back(child);
    }
  }
  ~ProcessRanks() {
    for (const pid_t child : children_) {
      if (child > 0) ::kill(child, SIGKILL);
      if (child > 0) ::waitpid(child, nullptr, 0);
    }
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      std::remove(Answer(static_cast<int>(rank)).c_str());
    }
    std::remove((store_ + ".board").c_str());
  }

  pid_t pid(int rank) const { return children_[static_cast<size_t>(rank)]; }
  // Waits for the rank and returns what it said; "" when it was killed.
  std::string Join(int rank) {
    pid_t& child = children_[static_cast<size_t>(rank)];
    ::waitpid(child, nullptr, 0);
    child = 0;
    std::ifstream file(Answer(rank));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::string Answer(int rank) const { return store_ + "." + std::to_string(rank); }
  std::string Run(int rank, int ranks, double timeout_seconds, const Body& body) const {
    auto board = ProgressBoard::Open(store_ + ".board", rank, ranks);
    if (!board.has_value()) return board.error().what;
    ShmOptions options;
    options.rank = rank;
    options.world_size = ranks;
    options.store_path = store_;
    options.timeout_seconds = 30;
    auto joined = ConnectShm(options);
    if (!joined.has_value()) return joined.error().what;
    joined->reset();  // the wait below is to be short, the rendezvous is not
    options.store_path += ".again";
    options.timeout_seconds = timeout_seconds;
    auto transport = ConnectShm(options);
    if (!transport.has_value()) return transport.error().what;
    Communicator communicator(std::move(*transport), timeout_seconds,
                              std::move(*board));
    return body(communicator);
  }

  std::string store_;
  std::vector<pid_t> children_;
};

TEST(ShmProcesses, SumInPlaceAndOutsideOnTwoFourAndEightRanks) {
  for (const int ranks : {2, 4, 8}) {
    ProcessRanks processes(ranks, 30, [](Communicator& communicator) -> std::string {
      const auto memory = communicator.AllocateShared(1'200'000);
      if (!memory.has_value()) return memory.error().what;
      auto* inside = reinterpret_cast<double*>(memory->data());
      std::vector<double> outside(150'000);
      const int n = communicator.world_size();
      for (double* data : {inside, outside.data()}) {
        for (int round = 0; round < 3; ++round) {
          std::fill(data, data + 150'000, communicator.rank() + round);
          const auto status = communicator.AllReduceSum(std::span(data, 150'000));
          if (!status.has_value()) return status.error().what;
          const double expected = n * (n - 1) / 2 + n * round;
          for (size_t i = 0; i < 150'000; ++i) {
            if (data[i] != expected) return "wrong sum at " + std::to_string(i);
          }
        }
      }
      return "good";
    });
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(processes.Join(rank), "good");
  }
}

// All-reduces until an error, which it returns with the time of the last call.
std::string UntilError(Communicator& communicator) {
  std::vector<float> data(100'000);
  while (true) {
    const int64_t start = base::NowNs();
    const auto status = communicator.AllReduceSum(std::span(data));
    if (status.has_value()) continue;
    const int64_t waited_ms = (base::NowNs() - start) / 1'000'000;
    return status.error().id + "|" + std::to_string(waited_ms) + "|" +
           status.error().what;
  }
}

TEST(ShmProcesses, AKilledRankIsNamedOnAllOthersLongBeforeTheTimeOut) {
  ProcessRanks processes(3, 50, UntilError);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const pid_t victim = processes.pid(1);
  ::kill(victim, SIGKILL);
  for (const int rank : {0, 2}) {
    const std::string said = processes.Join(rank);
    EXPECT_EQ(said.substr(0, 10), "COMM-0002|") << said;
    EXPECT_NE(said.find("rank 1 (process " + std::to_string(victim) + ") has ended"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("all_reduce seq "), std::string::npos) << said;
    // The time-out is 50 s; a loaded machine needs room, a missed death all of it.
    EXPECT_LT(std::atoi(said.c_str() + 10), 20'000) << said;
  }
}

TEST(ShmProcesses, AStoppedRankIsNamedOnAllOthersWithinTheTimeOut) {
  ProcessRanks processes(3, 1.5, UntilError);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  ::kill(processes.pid(2), SIGSTOP);
  for (const int rank : {0, 1}) {
    const std::string said = processes.Join(rank);
    EXPECT_EQ(said.substr(0, 10), "COMM-0003|") << said;
    EXPECT_NE(said.find("rank 2 is stopped by a signal"), std::string::npos) << said;
  }
}

TEST(ShmProcesses, ADifferentOrderOfCallsIsNamedWithItsSequenceNumber) {
  ProcessRanks processes(2, 30, [](Communicator& communicator) -> std::string {
    std::vector<float> data(2048);
    for (int i = 0; i < 16; ++i) {
      if (!communicator.AllReduceSum(std::span(data))) return "too early";
    }
    std::vector<float> all(2048);
    const auto status =
        communicator.rank() == 1
            ? communicator.AllGather(ConstBuffer{data.data(), 1024, DType::kFloat32},
                                     Buffer{all.data(), 2048, DType::kFloat32})
            : communicator.AllReduceSum(std::span(data));
    return status.has_value() ? "agreed"
                              : status.error().id + " " + status.error().what;
  });
  const std::string calls =
      ": rank 1 called all_gather (4096 bytes, Float) where rank 0 called all_reduce "
      "(8192 bytes, Float)";
  EXPECT_EQ(
      processes.Join(0),
      "COMM-0010 the ranks do not agree in all_reduce seq 17 (8192 bytes)" + calls);
  EXPECT_EQ(
      processes.Join(1),
      "COMM-0010 the ranks do not agree in all_gather seq 17 (4096 bytes)" + calls);
}

TEST(ShmProcesses, ASegmentOfAnEarlierRunIsNotJoined) {
  ShmOptions options;
  options.store_path = FreshShmStore();
  options.world_size = 2;
  options.timeout_seconds = 20;
  // An earlier run whose rank 0 was killed while it waited: its file still lies there.
  const pid_t earlier = ::fork();
  if (earlier == 0) {
    (void)ConnectShm(options);
    std::_Exit(0);
  }
  const std::string path = options.store_path + ".shm";
  while (::access(path.c_str(), F_OK) != 0) ::usleep(1000);
  ::kill(earlier, SIGKILL);
  ::waitpid(earlier, nullptr, 0);
  OnShmRanks(2, options, [](Transport& transport) {
    EXPECT_TRUE(transport.Barrier().has_value());
  });
  EXPECT_NE(::access(path.c_str(), F_OK), 0);  // and nothing is left

  // A file that points at memory of another kind, or is no such file at all.
  for (const std::string text : {"1 1 1", "garbage", "", "999999999 3 7",
                                 (std::to_string(::getpid()) + " 0 5").c_str()}) {
    std::ofstream(path) << text << "\n";
    ShmOptions late = options;
    late.rank = 1;
    late.timeout_seconds = 0.05;
    const auto refused = ConnectShm(late);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, TransportFailure::Kind::kTimeout);
  }
  std::remove(path.c_str());
}

TEST(ShmProcesses, AnotherJobAtTheSamePathIsNotJoined) {
  ShmOptions options;
  options.store_path = FreshShmStore();
  options.world_size = 2;
  options.job_id = "a";
  options.timeout_seconds = 0.5;
  std::jthread other([&] { EXPECT_FALSE(ConnectShm(options).has_value()); });
  ShmOptions mine = options;
  mine.rank = 1;
  mine.job_id = "b";
  EXPECT_FALSE(ConnectShm(mine).has_value());
}

}  // namespace
}  // namespace stepslack::comm
