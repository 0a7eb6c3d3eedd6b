#include "stepslack/comm/communicator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "communicator_state.h"

namespace stepslack::comm {
namespace {

Call AllReduceOf(Buffer data) { return {Operation::kAllReduce, {}, data, -1}; }

}  // namespace

Communicator::Communicator(std::unique_ptr<Transport> transport, double timeout_seconds,
                           std::unique_ptr<ProgressBoard> board, GroupFactory factory)
    : state_(std::make_unique<State>()) {
  state_->transport = std::move(transport);
  state_->board = std::move(board);
  state_->factory = std::move(factory);
  state_->timeout_seconds = timeout_seconds;
  const auto ranks = static_cast<size_t>(state_->transport->world_size());
  state_->world_ranks.resize(ranks);
  std::iota(state_->world_ranks.begin(), state_->world_ranks.end(), 0);
  state_->sent.resize(ranks);
  state_->received.resize(ranks);
  state_->thread =
      std::jthread([state = state_.get()](std::stop_token stop) { state->Loop(stop); });
}

Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->transport->rank(); }
int Communicator::world_size() const { return state_->transport->world_size(); }
std::string_view Communicator::transport_name() const {
  return state_->transport->name();
}
const std::string& Communicator::group() const { return state_->group; }
const std::vector<int>& Communicator::world_ranks() const {
  return state_->world_ranks;
}
std::string Communicator::memory_note() const {
  return state_->transport->memory_note();
}

Work Communicator::AllReduceSumAsync(std::span<float> data) {
  return AllReduceSumAsync(Buffer{data.data(), data.size(), DType::kFloat32});
}
Work Communicator::AllReduceSumAsync(Buffer data) {
  return state_->Enqueue(AllReduceOf(data));
}
Work Communicator::ReduceScatterSumAsync(ConstBuffer input, Buffer output) {
  return state_->Enqueue({Operation::kReduceScatter, input, output, -1});
}
Work Communicator::AllGatherAsync(ConstBuffer mine, Buffer all) {
  return state_->Enqueue({Operation::kAllGather, mine, all, -1});
}
Work Communicator::BroadcastAsync(Buffer data, int root) {
  return state_->Enqueue({Operation::kBroadcast, {}, data, root});
}
Work Communicator::AllToAllAsync(ConstBuffer input, Buffer output) {
  return state_->Enqueue({Operation::kAllToAll, input, output, -1});
}
Work Communicator::SendAsync(ConstBuffer data, int peer) {
  return state_->Enqueue({Operation::kSend, data, {}, peer});
}
Work Communicator::ReceiveAsync(Buffer data, int peer) {
  return state_->Enqueue({Operation::kReceive, {}, data, peer});
}

base::Status Communicator::AllReduceSum(std::span<float> data) {
  return AllReduceSum(Buffer{data.data(), data.size(), DType::kFloat32});
}
base::Status Communicator::AllReduceSum(std::span<double> data) {
  return AllReduceSum(Buffer{data.data(), data.size(), DType::kFloat64});
}
base::Status Communicator::AllReduceSum(std::span<int64_t> data) {
  return AllReduceSum(Buffer{data.data(), data.size(), DType::kInt64});
}
base::Status Communicator::AllReduceSum(Buffer data) {
  return state_->Run(AllReduceOf(data));
}
base::Status Communicator::ReduceScatterSum(ConstBuffer input, Buffer output) {
  return state_->Run({Operation::kReduceScatter, input, output, -1});
}
base::Status Communicator::AllGather(ConstBuffer mine, Buffer all) {
  return state_->Run({Operation::kAllGather, mine, all, -1});
}
base::Status Communicator::Broadcast(std::span<std::byte> data, int root) {
  return Broadcast(Buffer{data.data(), data.size(), DType::kByte}, root);
}
base::Status Communicator::Broadcast(Buffer data, int root) {
  return state_->Run({Operation::kBroadcast, {}, data, root});
}
base::Status Communicator::AllToAll(ConstBuffer input, Buffer output) {
  return state_->Run({Operation::kAllToAll, input, output, -1});
}
base::Status Communicator::Send(ConstBuffer data, int peer) {
  return state_->Run({Operation::kSend, data, {}, peer});
}
base::Status Communicator::Receive(Buffer data, int peer) {
  return state_->Run({Operation::kReceive, {}, data, peer});
}
base::Status Communicator::Barrier() {
  return state_->Run({Operation::kBarrier, {}, {nullptr, 0, DType::kByte}, -1});
}

base::Result<std::vector<std::string>> Communicator::AllGather(std::string_view mine) {
  const auto ranks = static_cast<size_t>(world_size());
  auto gather = [&](std::span<const std::byte> block, std::span<std::byte> all) {
    return AllGather(ConstBuffer{block.data(), block.size(), DType::kByte},
                     Buffer{all.data(), all.size(), DType::kByte});
  };
  // Lengths first: the engine gathers blocks of one size only.
  const uint64_t length = mine.size();
  std::vector<uint64_t> lengths(ranks);
  SS_RETURN_IF_ERROR(gather(std::as_bytes(std::span(&length, 1)),
                            std::as_writable_bytes(std::span(lengths))));
  const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::string> texts(ranks);
  if (longest == 0) return texts;

  std::string padded(mine);
  padded.resize(longest);
  std::string all(longest * ranks, '\0');
  SS_RETURN_IF_ERROR(
      gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all))));
  for (size_t rank = 0; rank < ranks; ++rank) {
    texts[rank] = all.substr(rank * longest, lengths[rank]);
  }
  return texts;
}

base::Result<std::span<std::byte>> Communicator::AllocateShared(size_t bytes) {
  SS_RETURN_IF_ERROR(Barrier());  // behind everything that is queued
  std::span<std::byte> memory = state_->transport->AllocateShared(bytes);
  const std::string note = state_->transport->memory_note();
  if (bytes > 0 && memory.empty() && !note.empty()) {
    return base::Fail("COMM-0011", base::ExitCode::kEnvironment,
                      "no shared memory for buffers: " + note,
                      "rank " + std::to_string(rank()),
                      "free memory on this host, use fewer ranks on it, or choose "
                      "another transport");
  }
  return memory;
}

base::Result<std::unique_ptr<Communicator>> Communicator::Split(
    int color, int key, std::string_view label) {
  const auto ranks = static_cast<size_t>(world_size());
  const std::array<int64_t, 2> mine = {color, key};
  std::vector<std::array<int64_t, 2>> all(ranks);
  SS_RETURN_IF_ERROR(AllGather(ConstBuffer{mine.data(), 2, DType::kInt64},
                               Buffer{all.data(), 2 * ranks, DType::kInt64}));
  const std::string count = std::to_string(++state_->splits);
  if (color < 0) return std::unique_ptr<Communicator>();

  std::vector<size_t> members;
  for (size_t r = 0; r < ranks; ++r) {
    if (all[r][0] == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](size_t a, size_t b) { return all[a][1] < all[b][1]; });
  GroupRequest request;
  request.name = std::string(label) + std::to_string(color);
  request.suffix = state_->suffix + "." + count + "." + request.name;
  for (const size_t member : members) {
    if (static_cast<int>(member) == rank()) {
      request.rank = static_cast<int>(request.members.size());
    }
    request.members.push_back(state_->world_ranks[member]);
  }
  GroupParts parts;
  if (members.size() == 1) {
    parts.transport = MakeSelfTransport();
  } else if (state_->factory) {
    SS_TRY(parts, state_->factory(request));
  } else {
    return base::Fail(
        "COMM-0012", base::ExitCode::kEnvironment,
        "transport " + std::string(transport_name()) + " can not make the group " +
            request.name + " of " + std::to_string(members.size()) + " ranks",
        "rank " + std::to_string(rank()), "choose shm or gloo for plans with groups");
  }
  auto group = std::make_unique<Communicator>(std::move(parts.transport),
                                              state_->timeout_seconds,
                                              std::move(parts.board), state_->factory);
  group->state_->group = request.name;
  group->state_->suffix = request.suffix;
  group->state_->world_ranks = request.members;
  return group;
}

std::vector<CollectiveRecord> Communicator::Records(int64_t after) const {
  const std::lock_guard lock(state_->mutex);
  const std::deque<CollectiveRecord>& kept = state_->records;
  const auto skip = std::clamp<int64_t>(after - state_->dropped, 0,
                                        static_cast<int64_t>(kept.size()));
  return {kept.begin() + skip, kept.end()};
}

int64_t Communicator::record_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped + static_cast<int64_t>(state_->records.size());
}

std::vector<CollectiveRecord> Communicator::Pending() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<CollectiveRecord> pending;
  if (state_->current) pending.push_back(*state_->current);
  for (const auto& work : state_->queue) pending.push_back(work->record);
  return pending;
}

void Communicator::MarkFailed() {
  if (state_->board) state_->board->Failed();
}

}  // namespace stepslack::comm
