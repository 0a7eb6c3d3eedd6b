#include "communicator_state.h"

#include <chrono>
#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

constexpr size_t kMaxRecords = 1 << 16;
// Beyond the transport's own time-out: a thread that is still inside then hangs.
constexpr double kGraceSeconds = 5.0;
// Sockets of a killed process close a moment before it counts as ended.
constexpr int kPatienceMs = 500;

std::string ContextOf(const CollectiveRecord& record) {
  std::string text(record.name);
  if (record.name == "send") text += " to rank " + std::to_string(record.peer);
  if (record.name == "recv") text += " from rank " + std::to_string(record.peer);
  text += " seq " + std::to_string(record.seq) + " (" + std::to_string(record.bytes) +
          " bytes)";
  if (record.group != "world") text += " of group " + record.group;
  return text;
}

base::Error MakeError(const TransportFailure& failure, int rank, std::string context,
                      const std::string& suspects) {
  const std::string where = "rank " + std::to_string(rank);
  const auto code = base::ExitCode::kEnvironment;
  if (failure.kind == TransportFailure::Kind::kDesync) {
    return {"COMM-0010", code,
            "the ranks do not agree in " + context + ": " + failure.what, where,
            "a branch of the program or plan differs between ranks; the calls above "
            "show where they part"};
  }
  std::string what = std::move(context);
  if (!suspects.empty()) what += ": " + suspects;
  what += " (" + failure.what + ")";
  switch (failure.kind) {
    case TransportFailure::Kind::kPeerLost:
      return {"COMM-0002", code, "lost a peer in " + what, where,
              "see the log of that rank; the run resumes from its last checkpoint"};
    case TransportFailure::Kind::kTimeout:
      return {"COMM-0003", code, "time-out in " + what, where,
              "see whether that rank hangs or is slow; timeout_seconds sets the limit"};
    case TransportFailure::Kind::kDesync:
    case TransportFailure::Kind::kOther:
      break;
  }
  return {"COMM-0005", code, "refused by the communication engine in " + what, where,
          "check that all ranks run the same plan and the same program"};
}

ConstBuffer Const(Buffer buffer) { return {buffer.data, buffer.count, buffer.dtype}; }

}  // namespace

ConstBuffer Call::given() const {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
    case Operation::kReceive:
    case Operation::kBarrier:
    case Operation::kAllocate:
      return Const(output);
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
    case Operation::kSend:
      break;
  }
  return input;
}

CallShape Call::Shape(int world_size) const {
  const ConstBuffer buffer = given();
  CallShape shape{operation, buffer.dtype, buffer.count, -1};
  if (operation == Operation::kReduceScatter) shape.count = output.count;
  if (operation == Operation::kAllToAll) {
    shape.count = buffer.count / static_cast<size_t>(world_size);
  }
  if (operation == Operation::kBroadcast) shape.root = peer;
  return shape;
}

TransportStatus Call::Run(Transport& transport) const {
  switch (operation) {
    case Operation::kAllReduce:
      return transport.AllReduceSum(output);
    case Operation::kReduceScatter:
      return transport.ReduceScatterSum(input, output);
    case Operation::kAllGather:
      return transport.AllGather(input, output);
    case Operation::kBroadcast:
      return transport.Broadcast(output, peer);
    case Operation::kAllToAll:
      return transport.AllToAll(input, output);
    case Operation::kSend:
      return transport.Send(input, peer);
    case Operation::kReceive:
      return transport.Receive(output, peer);
    case Operation::kBarrier:
    case Operation::kAllocate:  // not queued: returns memory
      break;
  }
  return transport.Barrier();
}

bool Work::State::Hangs() const {
  const double limit_ns = (timeout_seconds + kGraceSeconds) * 1e9;
  return running_since_ns != 0 &&
         static_cast<double>(base::NowNs() - running_since_ns) > limit_ns;
}

base::Status Work::Wait() {
  std::unique_lock lock(state_->mutex);
  while (!state_->done) {
    state_->changed.wait_for(lock, std::chrono::milliseconds(500),
                             [&] { return state_->done; });
    if (!state_->done && state_->Hangs()) {
      return tl::unexpected(MakeError(
          {TransportFailure::Kind::kTimeout, "the engine ignored its own time-out"},
          state_->rank, ContextOf(state_->record), ""));
    }
  }
  if (state_->error.has_value()) return tl::unexpected(*state_->error);
  return {};
}

bool Work::Done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

CollectiveRecord Communicator::State::NewRecord(const Call& call) const {
  const ConstBuffer buffer = call.given();
  CollectiveRecord record;
  record.name = NameOf(call.operation);
  record.dtype = NameOf(buffer.dtype);
  record.elements = static_cast<int64_t>(buffer.count);
  record.bytes = static_cast<int64_t>(buffer.bytes());
  record.group = group;
  record.peer = call.peer;
  record.queued_ns = base::NowNs();
  return record;
}

int64_t Communicator::State::NextSeq(const Call& call) {
  if (!call.one_to_one()) return ++last_seq;
  const auto peer = static_cast<size_t>(call.peer);
  if (call.peer < 0 || peer >= world_ranks.size()) return 0;  // the transport refuses
  return call.operation == Operation::kSend ? ++sent[peer] : ++received[peer];
}

Work Communicator::State::Enqueue(const Call& call) {
  auto work = std::make_shared<Work::State>();
  work->record = NewRecord(call);
  work->call = call;
  work->timeout_seconds = timeout_seconds;
  work->rank = transport->rank();
  {
    const std::lock_guard lock(mutex);
    work->record.seq = NextSeq(call);
    queue.push_back(work);
  }
  queued.notify_one();
  return Work(std::move(work));
}

base::Status Communicator::State::Run(const Call& call) {
  if (!transport->keeps_timeouts()) return Enqueue(call).Wait();
  CollectiveRecord record = NewRecord(call);
  bool mine = false;
  {
    const std::lock_guard lock(mutex);
    mine = queue.empty() && !busy;
    if (mine) {
      busy = true;
      record.seq = NextSeq(call);
    }
  }
  if (!mine) return Enqueue(call).Wait();
  record.start_ns = record.queued_ns;
  std::optional<base::Error> error = Execute(call, record);
  bool waiting = false;
  {
    const std::lock_guard lock(mutex);
    busy = false;
    waiting = !queue.empty();
  }
  if (waiting) queued.notify_one();
  if (error.has_value()) return tl::unexpected(std::move(*error));
  return {};
}

void Communicator::State::Loop(const std::stop_token& stop) {
  while (true) {
    std::shared_ptr<Work::State> work;
    {
      std::unique_lock lock(mutex);
      if (!queued.wait(lock, stop, [&] { return !queue.empty() && !busy; })) return;
      work = std::move(queue.front());
      queue.pop_front();
      busy = true;
    }
    CollectiveRecord record = work->record;
    record.start_ns = base::NowNs();
    {
      const std::lock_guard lock(work->mutex);
      work->running_since_ns = record.start_ns;
    }
    std::optional<base::Error> error = Execute(work->call, record);
    {
      const std::lock_guard lock(mutex);
      busy = false;
    }
    {
      const std::lock_guard lock(work->mutex);
      work->error = std::move(error);
      work->done = true;
    }
    work->changed.notify_all();
  }
}

std::optional<base::Error> Communicator::State::Execute(const Call& call,
                                                        CollectiveRecord& record) {
  {
    const std::lock_guard lock(mutex);
    if (broken.has_value()) return broken;
    current = record;
  }
  if (board && call.one_to_one()) {
    board->Talking(call.operation, call.peer);
  } else if (board) {
    board->Entered(record.seq, call.Shape(transport->world_size()));
  }
  TransportStatus status;
  if (!call.one_to_one()) status = CheckAgreement(record);
  if (status.has_value()) status = call.Run(*transport);
  record.end_ns = base::NowNs();
  record.algorithm = transport->algorithm();
  record.failed = !status.has_value();
  Remember(record);
  if (!status.has_value()) return Fail(record, status.error());
  if (board && call.one_to_one()) {
    board->Quiet();
  } else if (board) {
    board->Finished(record.seq);
  }
  return std::nullopt;
}

// On one host the last rank to come sees the calls of all others.
TransportStatus Communicator::State::CheckAgreement(
    const CollectiveRecord& record) const {
  if (!board || transport->checks_agreement()) return {};
  const std::string mismatch = board->Mismatch(record.seq);
  if (mismatch.empty()) return {};
  return tl::unexpected(TransportFailure{TransportFailure::Kind::kDesync, mismatch});
}

base::Error Communicator::State::Fail(const CollectiveRecord& record,
                                      const TransportFailure& failure) {
  const bool collective = record.name != "send" && record.name != "recv";
  TransportFailure cause = failure;
  std::string suspects;
  if (board && cause.kind != TransportFailure::Kind::kDesync) {
    // The engine of a rank that came first knows only that another one has gone.
    const std::string mismatch = collective ? board->Mismatch(record.seq) : "";
    if (mismatch.empty()) {
      const bool lost = cause.kind == TransportFailure::Kind::kPeerLost;
      suspects = board->Suspects(collective ? record.seq : 0, lost ? kPatienceMs : 0);
    } else {
      cause = {TransportFailure::Kind::kDesync, mismatch};
    }
  }
  base::Error error = MakeError(cause, transport->rank(), ContextOf(record), suspects);
  if (board) board->Failed();
  const std::lock_guard lock(mutex);
  broken = error;
  return error;
}

void Communicator::State::Remember(const CollectiveRecord& record) {
  const std::lock_guard lock(mutex);
  current.reset();
  if (records.size() == kMaxRecords) {
    records.pop_front();
    ++dropped;
  }
  records.push_back(record);
}

}  // namespace stepslack::comm
