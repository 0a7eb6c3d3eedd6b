// What a rank calls, so that ranks can compare their calls before data move.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

enum class Operation : uint32_t {
  kAllReduce = 1,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kSend,
  kReceive,
  kBarrier,
  kAllocate
};
std::string_view NameOf(Operation operation);  // "all_reduce"

// Plain values: it is written into memory that processes share. All ranks of a group
// must call collectives of equal shape in the same order.
struct CallShape {
  Operation operation = Operation::kBarrier;
  DType dtype = DType::kByte;
  uint64_t count =
      0;              // elements: of the buffer (all_reduce, broadcast) or of one block
  int64_t root = -1;  // of a broadcast, else -1
  bool operator==(const CallShape&) const = default;
};

// "all_reduce (8192 bytes, Float)", "broadcast (4 bytes, Byte, root 1)".
std::string Describe(const CallShape& shape);
// "rank 1 called <theirs> where rank 0 called <ours>".
std::string DescribeMismatch(int their_rank, const CallShape& theirs, int our_rank,
                             const CallShape& ours);

}  // namespace stepslack::comm
