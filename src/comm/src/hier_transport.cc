#include "stepslack/comm/hier_transport.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stepslack/base/result.h"
#include "sum_kernels.h"

namespace stepslack::comm {
namespace {

using Kind = TransportFailure::Kind;

// The leader's second hand: sums one chunk between hosts while the next one is summed
// inside the host.
class LeaderThread {
 public:
  explicit LeaderThread(Transport& leaders)
      : thread_(
            [this, &leaders](const std::stop_token& stop) { Loop(stop, leaders); }) {}

  void Start(Buffer chunk) {
    const std::lock_guard lock(mutex_);
    chunk_ = chunk;
    status_.reset();
    changed_.notify_all();
  }
  // Of the chunk that was started; the leaders' transport keeps the time-out.
  TransportStatus Finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

 private:
  void Loop(const std::stop_token& stop, Transport& leaders) {
    while (true) {
      Buffer chunk;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return chunk_.has_value(); })) return;
        chunk = *chunk_;
        chunk_.reset();
      }
      TransportStatus status = leaders.AllReduceSum(chunk);
      const std::lock_guard lock(mutex_);
      status_ = std::move(status);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Buffer> chunk_;            // to be summed
  std::optional<TransportStatus> status_;  // of the last one
  std::jthread thread_;
};

class HierTransport final : public Transport {
 public:
  HierTransport(HierLayout layout, std::unique_ptr<Transport> local,
                std::unique_ptr<Transport> leaders)
      : layout_(std::move(layout)),
        local_(std::move(local)),
        leaders_(std::move(leaders)) {
    for (size_t host = 0; host < layout_.ranks_by_host.size(); ++host) {
      const std::vector<int>& ranks = layout_.ranks_by_host[host];
      largest_ = std::max(largest_, ranks.size());
      world_size_ += static_cast<int>(ranks.size());
      for (const int rank : ranks) {
        if (rank == layout_.rank) host_ = host;
      }
    }
    SS_CHECK(local_->world_size() == static_cast<int>(Mine().size()));
    SS_CHECK(Mine()[static_cast<size_t>(local_->rank())] == layout_.rank);
    SS_CHECK((local_->rank() == 0) == (leaders_ != nullptr));
    if (leaders_ != nullptr) second_hand_.emplace(*leaders_);
  }

  int rank() const override { return layout_.rank; }
  int world_size() const override { return world_size_; }
  std::string_view name() const override { return "hier"; }
  std::string_view algorithm() const override { return algorithm_; }
  std::string memory_note() const override { return local_->memory_note(); }
  std::span<std::byte> AllocateShared(size_t bytes) override {
    return local_->AllocateShared(bytes);
  }

  TransportStatus AllReduceSum(Buffer data) override;
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override;
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override;
  TransportStatus Broadcast(Buffer data, int root) override;
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override;
  TransportStatus Send(ConstBuffer data, int peer) override;
  TransportStatus Receive(Buffer data, int peer) override;
  TransportStatus Barrier() override;

 private:
  struct Place {
    size_t host = 0;
    int local = -1;  // -1: no such rank
  };
  const std::vector<int>& Mine() const { return layout_.ranks_by_host[host_]; }
  Place PlaceOf(int rank) const;
  // The transport that leads to `peer` and the peer's rank there.
  tl::expected<std::pair<Transport*, int>, TransportFailure> WayTo(int peer);
  TransportStatus ReduceChunks(Buffer data);
  TransportStatus ReduceRounded(Buffer data);
  TransportStatus Spread(Buffer chunk);

  HierLayout layout_;
  std::unique_ptr<Transport> local_;
  std::unique_ptr<Transport> leaders_;
  std::optional<LeaderThread> second_hand_;
  size_t host_ = 0;
  size_t largest_ = 0;  // ranks of the largest host
  int world_size_ = 0;
  std::string_view algorithm_ = "two_level";
};

HierTransport::Place HierTransport::PlaceOf(int rank) const {
  for (size_t host = 0; host < layout_.ranks_by_host.size(); ++host) {
    const std::vector<int>& ranks = layout_.ranks_by_host[host];
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found != ranks.end()) return {host, static_cast<int>(found - ranks.begin())};
  }
  return {};
}

tl::expected<std::pair<Transport*, int>, TransportFailure> HierTransport::WayTo(
    int peer) {
  const Place place = PlaceOf(peer);
  if (place.local >= 0 && place.host == host_) return {{local_.get(), place.local}};
  if (place.local == 0 && leaders_ != nullptr) {
    return {{leaders_.get(), static_cast<int>(place.host)}};
  }
  return tl::unexpected(TransportFailure{
      Kind::kOther, "there is no direct way from rank " + std::to_string(layout_.rank) +
                        " to rank " + std::to_string(peer) +
                        ": only leaders talk to other hosts"});
}

TransportStatus HierTransport::AllReduceSum(Buffer data) {
  if (data.dtype == DType::kBFloat16) return ReduceRounded(data);
  return ReduceChunks(data);
}

// Chunk k travels between hosts while chunk k + 1 is summed inside this one and chunk
// k - 1 has been spread.
TransportStatus HierTransport::ReduceChunks(Buffer data) {
  const size_t element = SizeOf(data.dtype);
  const size_t chunk = std::max<size_t>(layout_.chunk_bytes / element, 1);
  const size_t chunks = std::max<size_t>((data.count + chunk - 1) / chunk, 1);
  auto part = [&](size_t k) {
    const size_t first = k * chunk;
    return Buffer{static_cast<std::byte*>(data.data) + first * element,
                  std::min(chunk, data.count - first), data.dtype};
  };
  for (size_t k = 0; k < chunks; ++k) {
    // On a failure the chunk under way must end first: it is the caller's memory.
    TransportStatus status = local_->AllReduceSum(part(k));
    if (k > 0) {
      TransportStatus before;
      if (leaders_ != nullptr) before = second_hand_->Finish();
      if (status.has_value()) status = before;
    }
    if (!status.has_value()) return status;
    if (leaders_ != nullptr) second_hand_->Start(part(k));
    if (k > 0) status = Spread(part(k - 1));
    if (!status.has_value()) {
      if (leaders_ != nullptr) (void)second_hand_->Finish();
      return status;
    }
  }
  if (leaders_ != nullptr) {
    if (TransportStatus last = second_hand_->Finish(); !last.has_value()) return last;
  }
  return Spread(part(chunks - 1));
}

TransportStatus HierTransport::Spread(Buffer chunk) {
  return local_->Broadcast(chunk, 0);
}

// In float32 through both levels, rounded once.
TransportStatus HierTransport::ReduceRounded(Buffer data) {
  const size_t piece = std::max<size_t>(layout_.chunk_bytes, 64);
  std::vector<float> wide(std::min(data.count, piece));
  auto* narrow = static_cast<std::byte*>(data.data);
  for (size_t first = 0; first < data.count || first == 0; first += piece) {
    const size_t length = std::min(piece, data.count - first);
    WidenBFloat16(narrow + 2 * first, wide.data(), length);
    TransportStatus status = ReduceChunks({wide.data(), length, DType::kFloat32});
    if (!status.has_value()) return status;
    RoundToBFloat16(wide.data(), narrow + 2 * first, length);
  }
  return {};
}

TransportStatus HierTransport::ReduceScatterSum(ConstBuffer input, Buffer output) {
  std::vector<std::byte> sum(input.bytes());
  if (!sum.empty()) std::memcpy(sum.data(), input.data, sum.size());
  TransportStatus status = AllReduceSum({sum.data(), input.count, input.dtype});
  if (status.has_value() && output.count > 0) {
    std::memcpy(output.data,
                sum.data() + static_cast<size_t>(layout_.rank) * output.bytes(),
                output.bytes());
  }
  return status;
}

// Inside the host, then one block a host between leaders (padded to the largest host),
// then inside the host again.
TransportStatus HierTransport::AllGather(ConstBuffer mine, Buffer all) {
  const size_t bytes = mine.bytes();
  const size_t hosts = layout_.ranks_by_host.size();
  const size_t host_count = largest_ * mine.count;
  std::vector<std::byte> host_blocks(largest_ * bytes);
  std::vector<std::byte> blocks(hosts * largest_ * bytes);
  TransportStatus status = local_->AllGather(
      mine, {host_blocks.data(), Mine().size() * mine.count, mine.dtype});
  if (status.has_value() && leaders_ != nullptr) {
    status = leaders_->AllGather({host_blocks.data(), host_count, mine.dtype},
                                 {blocks.data(), hosts * host_count, mine.dtype});
  }
  if (status.has_value()) {
    status = Spread({blocks.data(), hosts * host_count, mine.dtype});
  }
  if (!status.has_value() || bytes == 0) return status;
  for (size_t host = 0; host < hosts; ++host) {
    const std::vector<int>& ranks = layout_.ranks_by_host[host];
    for (size_t local = 0; local < ranks.size(); ++local) {
      std::memcpy(
          static_cast<std::byte*>(all.data) + static_cast<size_t>(ranks[local]) * bytes,
          blocks.data() + (host * largest_ + local) * bytes, bytes);
    }
  }
  return {};
}

TransportStatus HierTransport::Broadcast(Buffer data, int root) {
  const Place place = PlaceOf(root);
  if (place.local < 0) {
    return tl::unexpected(
        TransportFailure{Kind::kOther, "there is no rank " + std::to_string(root)});
  }
  TransportStatus status;
  if (place.host == host_) status = local_->Broadcast(data, place.local);
  if (status.has_value() && leaders_ != nullptr) {
    status = leaders_->Broadcast(data, static_cast<int>(place.host));
  }
  if (status.has_value() && place.host != host_) status = Spread(data);
  return status;
}

// One broadcast a source, of which each rank keeps its block: simple, and the bytes
// between hosts are hosts times those of a direct exchange.
TransportStatus HierTransport::AllToAll(ConstBuffer input, Buffer output) {
  const auto ranks = static_cast<size_t>(world_size_);
  const size_t block = input.bytes() / ranks;
  std::vector<std::byte> scratch(input.bytes());
  std::vector<std::byte> result(input.bytes());  // output may be the input
  for (size_t source = 0; source < ranks; ++source) {
    if (static_cast<int>(source) == layout_.rank && !scratch.empty()) {
      std::memcpy(scratch.data(), input.data, scratch.size());
    }
    TransportStatus status =
        Broadcast({scratch.data(), input.count, input.dtype}, static_cast<int>(source));
    if (!status.has_value()) return status;
    if (block == 0) continue;
    std::memcpy(result.data() + source * block,
                scratch.data() + static_cast<size_t>(layout_.rank) * block, block);
  }
  if (!result.empty()) std::memcpy(output.data, result.data(), result.size());
  return {};
}

TransportStatus HierTransport::Send(ConstBuffer data, int peer) {
  auto way = WayTo(peer);
  if (!way.has_value()) return tl::unexpected(way.error());
  return way->first->Send(data, way->second);
}

TransportStatus HierTransport::Receive(Buffer data, int peer) {
  auto way = WayTo(peer);
  if (!way.has_value()) return tl::unexpected(way.error());
  return way->first->Receive(data, way->second);
}

TransportStatus HierTransport::Barrier() {
  TransportStatus status = local_->Barrier();
  if (status.has_value() && leaders_ != nullptr) status = leaders_->Barrier();
  if (status.has_value()) status = local_->Barrier();
  return status;
}

}  // namespace

std::unique_ptr<Transport> MakeHier(HierLayout layout, std::unique_ptr<Transport> local,
                                    std::unique_ptr<Transport> leaders) {
  return std::make_unique<HierTransport>(std::move(layout), std::move(local),
                                         std::move(leaders));
}

}  // namespace stepslack::comm
