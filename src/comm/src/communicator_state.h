// The order of calls of one communicator: a queue with one thread behind it, which a
// blocking call passes by when nothing is queued.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "stepslack/comm/call_shape.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {

// One call with all its arguments.
struct Call {
  Operation operation = Operation::kBarrier;
  ConstBuffer input;  // empty for operations in place
  Buffer output;
  int peer = -1;  // root or other end

  bool one_to_one() const {
    return operation == Operation::kSend || operation == Operation::kReceive;
  }
  // The memory that this rank gives.
  ConstBuffer given() const;
  CallShape Shape(int world_size) const;
  TransportStatus Run(Transport& transport) const;
};

struct Work::State {
  CollectiveRecord record;
  Call call;
  double timeout_seconds = 0;
  int rank = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;             // guarded by mutex, like the next two
  int64_t running_since_ns = 0;  // 0: still queued
  std::optional<base::Error> error;

  // True when the engine has been inside for longer than its own time-out allows.
  bool Hangs() const;
};

struct Communicator::State {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ProgressBoard> board;
  GroupFactory factory;
  double timeout_seconds = 60;
  std::string group = "world";
  std::string suffix;  // of file names, "" for the world
  std::vector<int> world_ranks;
  int splits = 0;  // so far, the same on all ranks

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable_any queued;
  std::deque<std::shared_ptr<Work::State>> queue;
  bool busy = false;                        // a thread is inside the transport
  std::optional<CollectiveRecord> current;  // what the transport is in
  std::deque<CollectiveRecord> records;
  int64_t dropped = 0;
  int64_t last_seq = 0;
  std::vector<int64_t> sent;  // messages so far, by peer
  std::vector<int64_t> received;
  std::optional<base::Error> broken;  // first failure; later work fails with it at once

  std::jthread thread;  // last: joined before the rest is destroyed

  Work Enqueue(const Call& call);
  base::Status Run(const Call& call);
  void Loop(const std::stop_token& stop);

 private:
  CollectiveRecord NewRecord(const Call& call) const;
  int64_t NextSeq(const Call& call);
  std::optional<base::Error> Execute(const Call& call, CollectiveRecord& record);
  TransportStatus CheckAgreement(const CollectiveRecord& record) const;
  base::Error Fail(const CollectiveRecord& record, const TransportFailure& failure);
  void Remember(const CollectiveRecord& record);
};

}  // namespace stepslack::comm
