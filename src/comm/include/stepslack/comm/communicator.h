// Collectives of one group of ranks. Asynchronous ones run in order on one
// communication thread, so that the caller may go on computing; a blocking one runs on
// the caller's thread when nothing is queued. One thread calls a communicator at a
// time.
//
// Errors: COMM-0002 a peer is gone, COMM-0003 time-out, COMM-0005 refused by the
// engine, COMM-0010 the ranks call different collectives (found before data move on one
// host). Each names this rank, the collective and its sequence number, and the
// suspected peer. After one of them the group can not be used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/progress_board.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// One executed call, as the flight recorder keeps it.
struct CollectiveRecord {
  std::string_view name;   // "all_reduce", "send"; static
  std::string_view dtype;  // "Float", "Double", "BFloat16", "Long", "Byte"; static
  // Collectives: from 1, the same on every rank. Send and receive: from 1 for each pair
  // and direction, the same at both ends.
  int64_t seq = 0;
  int64_t elements = 0;  // of this rank's input
  int64_t bytes = 0;
  int64_t queued_ns = 0;  // monotonic clock: handed over by the caller
  int64_t start_ns = 0;   // the transport began
  int64_t end_ns = 0;
  std::string_view algorithm;  // as the transport says; static
  std::string group;           // "world", "dp0"
  int peer = -1;               // root of a broadcast, other end of send and receive
  bool failed = false;         // at most the last one
};

// Handle of a running collective. Copies refer to the same one.
class Work {
 public:
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  // Blocks until the collective has ended; bounded by the transport's time-out.
  base::Status Wait();
  // Whether Wait would return at once.
  bool Done() const;

 private:
  std::shared_ptr<State> state_;  // second owner: the communication thread
};

// A new group of some ranks of a group, as its maker needs it.
struct GroupRequest {
  std::string name;          // "dp0"
  std::string suffix;        // for file names, unique in the job: ".1.dp0"
  int rank = 0;              // within the new group
  std::vector<int> members;  // world ranks, in the order of the new group
};
struct GroupParts {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ProgressBoard> board;  // may be null
};
// Called on all members of a new group at about the same time.
using GroupFactory = std::function<base::Result<GroupParts>(const GroupRequest&)>;

class Communicator {
 public:
  // `board` may be null: errors then name no suspect. Without a factory Split makes
  // groups of one rank only.
  Communicator(std::unique_ptr<Transport> transport, double timeout_seconds,
               std::unique_ptr<ProgressBoard> board, GroupFactory factory = nullptr);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int world_size() const;
  std::string_view transport_name() const;
  const std::string& group() const;             // "world" unless made by Split
  const std::vector<int>& world_ranks() const;  // of the members

  // Asynchronous: buffers must stay alive and untouched until Wait returns. Shapes as
  // in transport.h; sums are in place.
  Work AllReduceSumAsync(std::span<float> data);
  Work AllReduceSumAsync(Buffer data);
  Work ReduceScatterSumAsync(ConstBuffer input, Buffer output);
  Work AllGatherAsync(ConstBuffer mine, Buffer all);
  Work BroadcastAsync(Buffer data, int root);
  Work AllToAllAsync(ConstBuffer input, Buffer output);
  Work SendAsync(ConstBuffer data, int peer);
  Work ReceiveAsync(Buffer data, int peer);

  base::Status AllReduceSum(std::span<float> data);
  base::Status AllReduceSum(std::span<double> data);
  base::Status AllReduceSum(std::span<int64_t> data);
  base::Status AllReduceSum(Buffer data);
  base::Status ReduceScatterSum(ConstBuffer input, Buffer output);
  base::Status AllGather(ConstBuffer mine, Buffer all);
  base::Status Broadcast(std::span<std::byte> data, int root);
  base::Status Broadcast(Buffer data, int root);
  base::Status AllToAll(ConstBuffer input, Buffer output);
  base::Status Send(ConstBuffer data, int peer);
  base::Status Receive(Buffer data, int peer);
  base::Status Barrier();
  // Every rank's text, in rank order; lengths may differ.
  base::Result<std::vector<std::string>> AllGather(std::string_view mine);

  // Zero-filled memory on which all-reduce needs no copy, aligned to 64 bytes and alive
  // as long as this object; a collective call. Empty: the transport has none, take
  // memory of your own. COMM-0011: it has, but not as much as asked for.
  base::Result<std::span<std::byte>> AllocateShared(size_t bytes);
  // What that memory is made of: "shared memory file with 2 MB pages".
  std::string memory_note() const;

  // A collective call: ranks of equal `color` form a group, ordered by `key`, then by
  // rank; null for a negative color. The name is `label` and the color. COMM-0012: the
  // group can not be made.
  base::Result<std::unique_ptr<Communicator>> Split(int color, int key,
                                                    std::string_view label);

  // The last calls that have ended, oldest first, without the first `after` ones of
  // this communicator. Bounded: the oldest of all are forgotten.
  std::vector<CollectiveRecord> Records(int64_t after = 0) const;
  int64_t record_count() const;  // of all calls that have ended, forgotten ones too
  // The call that the transport is in, and those behind it; from any thread.
  std::vector<CollectiveRecord> Pending() const;
  // Marks this rank as failing, so that its peers know that it did not just vanish.
  void MarkFailed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::comm
