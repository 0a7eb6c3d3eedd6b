// All-reduce through shared memory against one memcpy of the same bytes, interleaved in
// one run: all_reduce_bench [RANKS [ROUNDS]]. Times are of the slowest rank, in
// microseconds, the least and the median over rounds. `in_place`: buffers from
// AllocateShared; `staged`: buffers of the rank's own; `inline`: in place through a
// Communicator, with its records and its progress board.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/comm/shm_transport.h"

namespace {

namespace comm = stepslack::comm;
using stepslack::base::NowNs;

constexpr std::array<size_t, 5> kSizes = {4096, 65536, 1 << 20, 16 << 20, 100 << 20};
constexpr std::array<const char*, 4> kModes = {"in_place", "staged", "inline",
                                               "memcpy"};

void Pin(int rank) {
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(rank) % static_cast<size_t>(cores), &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

std::unique_ptr<comm::Transport> Join(const std::string& store, int rank, int ranks) {
  comm::ShmOptions options;
  options.rank = rank;
  options.world_size = ranks;
  options.store_path = store;
  auto transport = comm::ConnectShm(options);
  if (transport.has_value()) return std::move(*transport);
  std::fprintf(stderr, "%s\n", transport.error().what.c_str());
  std::_Exit(1);
}

struct Bench {
  std::unique_ptr<comm::Transport> control;
  std::unique_ptr<comm::Communicator> communicator;
  std::span<std::byte> shared;     // of `control`
  std::span<std::byte> shared_in;  // of `communicator`
  std::vector<float> own;
  std::vector<float> other;

  // Microseconds of one call, averaged over `repeats`, of the slowest rank.
  double Time(const std::function<void()>& call, int repeats) {
    (void)control->Barrier();
    const int64_t start = NowNs();
    for (int i = 0; i < repeats; ++i) call();
    const double us = static_cast<double>(NowNs() - start) / 1e3 / repeats;
    std::vector<double> all(static_cast<size_t>(control->world_size()));
    (void)control->AllGather({&us, 1, comm::DType::kFloat64},
                             {all.data(), all.size(), comm::DType::kFloat64});
    return *std::max_element(all.begin(), all.end());
  }

  double TimeMode(size_t mode, size_t bytes) {
    const int repeats = bytes <= 65536 ? 200 : bytes <= (1 << 20) ? 20 : 1;
    const size_t count = bytes / sizeof(float);
    auto reduce = [&](void* data) {
      if (!control->AllReduceSum({data, count, comm::DType::kFloat32})) std::_Exit(1);
    };
    switch (mode) {
      case 0:
        return Time([&] { reduce(shared.data()); }, repeats);
      case 1:
        return Time([&] { reduce(own.data()); }, repeats);
      case 2:
        return Time(
            [&] {
              const comm::Buffer data{shared_in.data(), count, comm::DType::kFloat32};
              if (!communicator->AllReduceSum(data)) std::_Exit(1);
            },
            repeats);
      default:
        // The yardstick has the machine for itself: one rank copies.
        if (control->rank() != 0) return Time([] {}, 1);
        return Time(
            [&] {
              std::memcpy(other.data(), own.data(), bytes);
              asm volatile("" : : "r"(other.data()) : "memory");
            },
            repeats);
    }
  }
};

int RunRank(const std::string& store, int rank, int ranks, int rounds) {
  Pin(rank);
  Bench bench;
  bench.control = Join(store, rank, ranks);
  auto board = comm::ProgressBoard::Open(store + ".board", rank, ranks);
  bench.communicator = std::make_unique<comm::Communicator>(
      Join(store + ".c", rank, ranks), 60, board ? std::move(*board) : nullptr);
  bench.shared = bench.control->AllocateShared(kSizes.back());
  if (auto memory = bench.communicator->AllocateShared(kSizes.back())) {
    bench.shared_in = *memory;
  }
  if (bench.shared.empty() || bench.shared_in.empty()) return 1;
  bench.own.assign(kSizes.back() / sizeof(float), 0.0F);
  bench.other = bench.own;
  if (rank == 0) {
    std::printf("%d ranks, %s\n", ranks, bench.control->memory_note().c_str());
    std::printf("%10s %10s %12s %12s %10s\n", "bytes", "mode", "min us", "median us",
                "/ memcpy");
  }
  for (const size_t bytes : kSizes) {
    std::array<std::vector<double>, kModes.size()> times;
    for (int round = 0; round < rounds; ++round) {
      for (size_t mode = 0; mode < kModes.size(); ++mode) {
        times[mode].push_back(bench.TimeMode(mode, bytes));
      }
    }
    if (rank != 0) continue;
    for (std::vector<double>& mode : times) std::sort(mode.begin(), mode.end());
    for (size_t mode = 0; mode < kModes.size(); ++mode) {
      const std::vector<double>& sorted = times[mode];
      std::printf("%10zu %10s %12.2f %12.2f %10.2f\n", bytes, kModes[mode], sorted[0],
                  sorted[sorted.size() / 2], sorted[0] / times.back()[0]);
    }
    std::fflush(stdout);
  }
  return bench.control->Barrier().has_value() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 30;
  const std::string store = "/tmp/all_reduce_bench." + std::to_string(::getpid());
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(RunRank(store, rank, ranks, rounds));
    children.push_back(child);
  }
  int code = RunRank(store, 0, ranks, rounds);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) code = 1;
  }
  std::remove((store + ".board").c_str());
  return code;
}
