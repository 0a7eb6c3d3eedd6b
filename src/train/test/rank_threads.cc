#include "rank_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "stepslack/comm/connect.h"

namespace stepslack::train {

void RunRanks(int world_size, const std::function<void(comm::Communicator&)>& body) {
  static std::atomic<int> counter{0};
  const std::string store = testing::TempDir() + "rank_threads_" +
                            std::to_string(::getpid()) + "_" +
                            std::to_string(counter++);
  const auto run = [&](int rank) {
    comm::ConnectOptions options;
    // The transport that overlaps; one process needs none.
    options.backend = world_size > 1 ? "gloo" : "auto";
    options.timeout_seconds = 20;
    auto communicator = comm::Connect({rank, world_size, store, "lo"}, options);
    ASSERT_TRUE(communicator.has_value()) << Describe(communicator.error());
    body(**communicator);
    (void)(*communicator)->Barrier();  // nobody leaves while another needs it
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) threads.emplace_back(run, rank);
  }
  std::remove(store.c_str());
  std::remove((store + ".board").c_str());
}

}  // namespace stepslack::train
