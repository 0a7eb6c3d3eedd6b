#include "stepslack/comm/call_shape.h"

namespace stepslack::comm {

std::string_view NameOf(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "all_reduce";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kAllGather:
      return "all_gather";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kAllToAll:
      return "all_to_all";
    case Operation::kSend:
      return "send";
    case Operation::kReceive:
      return "recv";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kAllocate:
      return "allocate_shared";
  }
  return "unknown";
}

std::string Describe(const CallShape& shape) {
  std::string text(NameOf(shape.operation));
  if (shape.operation == Operation::kBarrier) return text;
  text += " (" + std::to_string(shape.count * SizeOf(shape.dtype)) + " bytes, " +
          std::string(NameOf(shape.dtype));
  if (shape.root >= 0) text += ", root " + std::to_string(shape.root);
  return text + ")";
}

std::string DescribeMismatch(int their_rank, const CallShape& theirs, int our_rank,
                             const CallShape& ours) {
  return "rank " + std::to_string(their_rank) + " called " + Describe(theirs) +
         " where rank " + std::to_string(our_rank) + " called " + Describe(ours);
}

}  // namespace stepslack::comm
