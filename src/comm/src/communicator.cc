#include "stepslack/comm/communicator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

constexpr size_t kMaxRecords = 1 << 16;
// Beyond the transport's own time-out: a thread that is still inside then hangs.
constexpr double kGraceSeconds = 5.0;
// Sockets of a killed process close a moment before it counts as ended.
constexpr int kPatienceMs = 500;

using Operation = std::function<TransportStatus()>;

base::Error MakeError(const TransportFailure& failure, int rank, std::string context,
                      const std::string& suspects) {
  const std::string where = "rank " + std::to_string(rank);
  std::string what = std::move(context);
  if (!suspects.empty()) what += ": " + suspects;
  what += " (" + failure.what + ")";
  const auto code = base::ExitCode::kEnvironment;
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

}  // namespace

struct Work::State {
  CollectiveRecord record;
  Operation run;
  double timeout_seconds = 0;
  int rank = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;             // guarded by mutex, like the next two
  int64_t running_since_ns = 0;  // 0: still queued
  std::optional<base::Error> error;

  std::string Context() const {
    return std::string(record.name) + " seq " + std::to_string(record.seq) + " (" +
           std::to_string(record.bytes) + " bytes)";
  }
  // True when the engine has been inside for longer than its own time-out allows.
  bool Hangs() const {
    const double limit_ns = (timeout_seconds + kGraceSeconds) * 1e9;
    return running_since_ns != 0 &&
           static_cast<double>(base::NowNs() - running_since_ns) > limit_ns;
  }
};

base::Status Work::Wait() {
  std::unique_lock lock(state_->mutex);
  while (!state_->done) {
    state_->changed.wait_for(lock, std::chrono::milliseconds(500),
                             [&] { return state_->done; });
    if (!state_->done && state_->Hangs()) {
      return tl::unexpected(MakeError(
          {TransportFailure::Kind::kTimeout, "the engine ignored its own time-out"},
          state_->rank, state_->Context(), ""));
    }
  }
  if (state_->error.has_value()) return tl::unexpected(*state_->error);
  return {};
}

struct Communicator::State {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ProgressBoard> board;
  double timeout_seconds = 60;

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable_any queued;
  std::deque<std::shared_ptr<Work::State>> queue;
  std::deque<CollectiveRecord> records;
  int64_t dropped = 0;
  int64_t next_seq = 1;
  std::optional<base::Error> broken;  // first failure; later work fails with it at once

  std::jthread thread;  // last: joined before the rest is destroyed

  Work Enqueue(std::string_view name, Buffer data, Operation run);
  void Loop(const std::stop_token& stop);
  void Execute(Work::State& work);
  void Remember(const CollectiveRecord& record);
  void Fail(Work::State& work, const TransportFailure& failure);
};

Work Communicator::State::Enqueue(std::string_view name, Buffer data, Operation run) {
  auto work = std::make_shared<Work::State>();
  work->record.name = name;
  work->record.dtype = NameOf(data.dtype);
  work->record.elements = static_cast<int64_t>(data.count);
  work->record.bytes = static_cast<int64_t>(data.bytes());
  work->record.queued_ns = base::NowNs();
  work->run = std::move(run);
  work->timeout_seconds = timeout_seconds;
  work->rank = transport->rank();
  {
    const std::lock_guard lock(mutex);
    work->record.seq = next_seq++;
    queue.push_back(work);
  }
  queued.notify_one();
  return Work(std::move(work));
}

void Communicator::State::Loop(const std::stop_token& stop) {
  while (true) {
    std::shared_ptr<Work::State> work;
    {
      std::unique_lock lock(mutex);
      if (!queued.wait(lock, stop, [&] { return !queue.empty(); })) return;
      work = std::move(queue.front());
      queue.pop_front();
    }
    Execute(*work);
    {
      const std::lock_guard lock(work->mutex);
      work->done = true;
    }
    work->changed.notify_all();
  }
}

void Communicator::State::Execute(Work::State& work) {
  {
    const std::lock_guard lock(mutex);
    if (broken.has_value()) {
      work.error = broken;
      return;
    }
  }
  work.record.start_ns = base::NowNs();
  {
    const std::lock_guard lock(work.mutex);
    work.running_since_ns = work.record.start_ns;
  }
  if (board) board->Entered(work.record.seq);
  const TransportStatus status = work.run();
  work.record.end_ns = base::NowNs();
  if (status.has_value()) {
    if (board) board->Finished(work.record.seq);
    Remember(work.record);
  } else {
    Fail(work, status.error());
  }
}

void Communicator::State::Fail(Work::State& work, const TransportFailure& failure) {
  const int patience =
      failure.kind == TransportFailure::Kind::kPeerLost ? kPatienceMs : 0;
  const std::string suspects =
      board ? board->Suspects(work.record.seq, patience) : std::string();
  base::Error error = MakeError(failure, work.rank, work.Context(), suspects);
  if (board) board->Failed();
  const std::lock_guard lock(mutex);
  broken = error;
  work.error = std::move(error);
}

void Communicator::State::Remember(const CollectiveRecord& record) {
  const std::lock_guard lock(mutex);
  if (records.size() == kMaxRecords) {
    records.pop_front();
    ++dropped;
  }
  records.push_back(record);
}

Communicator::Communicator(std::unique_ptr<Transport> transport, double timeout_seconds,
                           std::unique_ptr<ProgressBoard> board)
    : state_(std::make_unique<State>()) {
  state_->transport = std::move(transport);
  state_->board = std::move(board);
  state_->timeout_seconds = timeout_seconds;
  state_->thread =
      std::jthread([state = state_.get()](std::stop_token stop) { state->Loop(stop); });
}

Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->transport->rank(); }
int Communicator::world_size() const { return state_->transport->world_size(); }
std::string_view Communicator::transport_name() const {
  return state_->transport->name();
}

Work Communicator::AllReduceSumAsync(std::span<float> data) {
  return AllReduceSumAsync(Buffer{data.data(), data.size(), DType::kFloat32});
}

Work Communicator::AllReduceSumAsync(Buffer data) {
  return state_->Enqueue("all_reduce", data,
                         [transport = state_->transport.get(), data] {
                           return transport->AllReduceSum(data);
                         });
}

base::Status Communicator::AllReduceSum(std::span<float> data) {
  return AllReduceSumAsync(data).Wait();
}

base::Status Communicator::AllReduceSum(std::span<double> data) {
  return AllReduceSumAsync(Buffer{data.data(), data.size(), DType::kFloat64}).Wait();
}

base::Status Communicator::Broadcast(std::span<std::byte> data, int root) {
  const Buffer buffer{data.data(), data.size(), DType::kByte};
  return state_
      ->Enqueue("broadcast", buffer,
                [transport = state_->transport.get(), buffer, root] {
                  return transport->Broadcast(buffer, root);
                })
      .Wait();
}

base::Status Communicator::Barrier() {
  return state_
      ->Enqueue("barrier", {nullptr, 0, DType::kByte},
                [transport = state_->transport.get()] { return transport->Barrier(); })
      .Wait();
}

base::Result<std::vector<std::string>> Communicator::AllGather(std::string_view mine) {
  const auto ranks = static_cast<size_t>(world_size());
  auto gather = [&](std::span<std::byte> block, std::span<std::byte> all) {
    const Buffer from{block.data(), block.size(), DType::kByte};
    const Buffer to{all.data(), all.size(), DType::kByte};
    return state_
        ->Enqueue(
            "all_gather", from,
            [transport = state_->transport.get(), from, to] {
              return transport->AllGather({from.data, from.count, from.dtype}, to);
            })
        .Wait();
  };
  // Lengths first: the engine gathers blocks of one size only.
  uint64_t length = mine.size();
  std::vector<uint64_t> lengths(ranks);
  SS_RETURN_IF_ERROR(gather(std::as_writable_bytes(std::span(&length, 1)),
                            std::as_writable_bytes(std::span(lengths))));
  const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::string> texts(ranks);
  if (longest == 0) return texts;

  std::string padded(mine);
  padded.resize(longest);
  std::string all(longest * ranks, '\0');
  SS_RETURN_IF_ERROR(gather(std::as_writable_bytes(std::span(padded)),
                            std::as_writable_bytes(std::span(all))));
  for (size_t rank = 0; rank < ranks; ++rank) {
    texts[rank] = all.substr(rank * longest, lengths[rank]);
  }
  return texts;
}

std::vector<CollectiveRecord> Communicator::TakeRecords() {
  const std::lock_guard lock(state_->mutex);
  std::vector<CollectiveRecord> taken(state_->records.begin(), state_->records.end());
  state_->records.clear();
  return taken;
}

int64_t Communicator::dropped_records() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

void Communicator::MarkFailed() {
  if (state_->board) state_->board->Failed();
}

}  // namespace stepslack::comm
