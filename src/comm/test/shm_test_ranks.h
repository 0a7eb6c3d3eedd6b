// Ranks as threads over shared memory, and a naive sum to compare with.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stepslack/comm/shm_transport.h"

namespace stepslack::comm {

inline std::string FreshShmStore() {
  static std::atomic<int> counter{0};
  return testing::TempDir() + "shm_store_" + std::to_string(::getpid()) + "_" +
         std::to_string(counter++);
}

inline void OnShmRanks(int ranks, ShmOptions options,
                       const std::function<void(Transport&)>& body) {
  options.world_size = ranks;
  if (options.store_path.empty()) options.store_path = FreshShmStore();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ShmOptions mine = options;
      mine.rank = rank;
      auto transport = ConnectShm(mine);
      ASSERT_TRUE(transport.has_value()) << transport.error().what;
      body(**transport);
    });
  }
}

}  // namespace stepslack::comm
