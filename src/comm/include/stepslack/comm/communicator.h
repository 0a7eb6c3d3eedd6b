// Collectives of one group of ranks. They run in order on one communication thread, so
// their start and end are exact, and the caller may go on computing meanwhile.
//
// Errors: COMM-0002 a peer is gone, COMM-0003 time-out, COMM-0005 refused by the
// engine. Each names this rank, the collective and its sequence number, and the
// suspected peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/progress_board.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// One executed collective, as the flight recorder keeps it.
struct CollectiveRecord {
  std::string_view name;   // "all_reduce", static
  std::string_view dtype;  // "Float", "Double", "Byte", static
  int64_t seq = 0;         // from 1, the same on every rank
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t queued_ns = 0;  // monotonic clock: handed over by the caller
  int64_t start_ns = 0;   // the communication thread began
  int64_t end_ns = 0;
};

// Handle of a running collective. Copies refer to the same one.
class Work {
 public:
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  // Blocks until the collective has ended; bounded by the transport's time-out.
  base::Status Wait();

 private:
  std::shared_ptr<State> state_;  // second owner: the communication thread
};

class Communicator {
 public:
  // `board` may be null: errors then name no suspect.
  Communicator(std::unique_ptr<Transport> transport, double timeout_seconds,
               std::unique_ptr<ProgressBoard> board);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int world_size() const;
  std::string_view transport_name() const;

  // Sum over ranks, in place; `data` must stay alive and untouched until Wait returns.
  Work AllReduceSumAsync(std::span<float> data);
  Work AllReduceSumAsync(Buffer data);
  base::Status AllReduceSum(std::span<float> data);
  base::Status AllReduceSum(std::span<double> data);
  base::Status Broadcast(std::span<std::byte> data, int root);
  base::Status Barrier();
  // Every rank's text, in rank order; lengths may differ.
  base::Result<std::vector<std::string>> AllGather(std::string_view mine);

  // The last collectives, oldest first, and forgets them; bounded, see
  // dropped_records().
  std::vector<CollectiveRecord> TakeRecords();
  int64_t dropped_records() const;
  // Marks this rank as failing, so that its peers know that it did not just vanish.
  void MarkFailed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::comm
