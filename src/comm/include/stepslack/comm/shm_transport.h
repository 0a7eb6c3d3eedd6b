// Collectives through memory that the ranks of one host share: no system call, no copy
// when the data lie in memory from AllocateShared.
//
// The shared memory has no name: rank 0 makes an anonymous memory file and the others
// open it through /proc, so that nothing is left behind by a killed run and a segment
// of an earlier run cannot be joined. Only a short text file beside the store tells
// where it is, until all ranks have come.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

constexpr int kMaxShmRanks = 64;

struct ShmOptions {
  int rank = 0;            // within the group
  int world_size = 1;      // 1 to kMaxShmRanks, all on this host
  std::string store_path;  // the rendezvous file is this + ".shm"; one for every group
  std::string job_id;      // equal on all ranks; another job's segment is not joined
  double timeout_seconds = 60;  // of the rendezvous and of every wait
  size_t staging_bytes = 0;  // a rank's copy window for data outside; 0: by group size
  bool huge_pages = true;    // 2 MB pages for AllocateShared, when the host has them
};

// Joins the group; returns when all ranks have. Fails when one does not come in time
// (it is named) or the memory cannot be had.
//
// All-reduce in place: each rank sums its 1/n share over all buffers in the order of
// the ranks and writes the sum to all, so that the bits depend neither on bucket
// boundaries nor on the order of arrival. Data outside shared memory pass through a
// double-buffered window in chunks; the bits are the same.
tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectShm(
    const ShmOptions& options);

}  // namespace stepslack::comm
