#include "stepslack/comm/shm_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "shm_channel.h"
#include "shm_memory.h"
#include "shm_segment.h"
#include "sum_kernels.h"

namespace stepslack::comm {
namespace {

using Kind = TransportFailure::Kind;

// Small enough that the windows of two ranks stay in the second-level cache.
constexpr size_t kPieceBytes = size_t{256} << 10;
// Up to this many ranks each one sums everything itself: one meeting point a piece
// instead of two, for the price of reading more.
constexpr int kMaxDirectRanks = 3;

bool Overlap(ConstBuffer a, Buffer b) {
  const auto* a0 = static_cast<const std::byte*>(a.data);
  const auto* b0 = static_cast<const std::byte*>(b.data);
  return a0 < b0 + b.bytes() && b0 < a0 + a.bytes();
}

class ShmTransport final : public Transport {
 public:
  ShmTransport(std::unique_ptr<ShmSegment> segment, bool huge_pages)
      : segment_(std::move(segment)),
        memory_(*segment_),
        want_huge_(huge_pages),
        senders_(static_cast<size_t>(segment_->ranks())),
        receivers_(static_cast<size_t>(segment_->ranks())) {}

  int rank() const override { return segment_->rank(); }
  int world_size() const override { return segment_->ranks(); }
  std::string_view name() const override { return "shm"; }
  std::string_view algorithm() const override { return algorithm_; }
  std::string memory_note() const override { return memory_note_; }
  bool checks_agreement() const override { return true; }
  bool keeps_timeouts() const override { return true; }

  TransportStatus AllReduceSum(Buffer data) override;
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override;
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override;
  TransportStatus Broadcast(Buffer data, int root) override;
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override;
  TransportStatus Send(ConstBuffer data, int peer) override;
  TransportStatus Receive(Buffer data, int peer) override;
  TransportStatus Barrier() override {
    return Meet({Operation::kBarrier, DType::kByte, 0, -1}, kOutside);
  }
  std::span<std::byte> AllocateShared(size_t bytes) override;

 private:
  // What one rank shows to the others: `blocks` blocks of `count` elements.
  struct Exhibit {
    CallShape shape;
    const void* data = nullptr;
    size_t blocks = 1;
    bool shown = true;     // false: a rank that only looks, as in a broadcast
    bool may_stay = true;  // data may be read where they lie, if in shared memory
  };
  // A part of it, [first, first + length) of every block, where the others can read.
  class Part;

  size_t ranks() const { return static_cast<size_t>(segment_->ranks()); }
  size_t me() const { return static_cast<size_t>(segment_->rank()); }
  TransportStatus Meet(const CallShape& shape, uint64_t location);
  TransportStatus MeetAgain();
  TransportStatus CheckPosts(uint32_t sequence) const;
  uint64_t LocationOf(size_t rank) const {
    return segment_->slot(static_cast<int>(rank)).posts[sequence_ % 2].location;
  }
  bool AllInside() const;
  size_t PieceCount(size_t blocks, size_t element) const;
  void Stage(const Exhibit& exhibit, size_t first, size_t length);
  template <typename Use>
  TransportStatus Show(const Exhibit& exhibit, Use&& use);
  template <typename Use>
  TransportStatus ShowPieces(const Exhibit& exhibit, bool staged, Use&& use);
  TransportStatus ReduceInPlace(Buffer data);
  TransportStatus ReduceByShares(Buffer data);
  TransportStatus ReducePiece(std::byte* data, size_t count, DType dtype);
  std::string AgreeOnResults(size_t half, size_t bytes);
  TransportStatus CheckRank(int peer) const;
  TransportStatus CheckPeer(int peer) const;
  TransportStatus CheckSummable(DType dtype) const;

  std::unique_ptr<ShmSegment> segment_;
  ShmMemory memory_;
  bool want_huge_;
  std::vector<ShmSender> senders_;
  std::vector<ShmReceiver> receivers_;
  uint32_t sequence_ = 0;  // collectives so far
  uint32_t step_ = 0;      // further meeting points so far
  size_t parity_ = 0;      // copy window for the next piece
  std::string_view algorithm_ = "direct";
  std::string memory_note_ = "shared memory not asked for";
};

class ShmTransport::Part {
 public:
  Part(const ShmTransport& owner, const Exhibit& exhibit, size_t first, size_t length,
       bool staged)
      : owner_(owner),
        exhibit_(exhibit),
        first_(first),
        length_(length),
        staged_(staged) {}
  size_t first() const { return first_; }
  size_t length() const { return length_; }
  const std::byte* Of(size_t rank, size_t block) const {
    const size_t element = SizeOf(exhibit_.shape.dtype);
    if (staged_) {
      return owner_.segment_->window(static_cast<int>(rank), owner_.parity_) +
             block * length_ * element;
    }
    return owner_.memory_.At(static_cast<int>(rank), owner_.LocationOf(rank)) +
           (block * exhibit_.shape.count + first_) * element;
  }

 private:
  const ShmTransport& owner_;
  const Exhibit& exhibit_;
  size_t first_;
  size_t length_;
  bool staged_;
};

// --- meeting points -------------------------------------------------------------

// Announces this rank's call, waits for all and compares the calls. A rank reuses a
// post two collectives later, when all have passed the one between.
TransportStatus ShmTransport::Meet(const CallShape& shape, uint64_t location) {
  if (TransportStatus whole = segment_->CheckWhole(); !whole.has_value()) return whole;
  ++sequence_;
  Post& mine = segment_->mine().posts[sequence_ % 2];
  mine.shape = shape;
  mine.location = location;
  ShmSegment::Raise(mine.arrived, sequence_);
  for (int peer = 0; peer < segment_->ranks(); ++peer) {
    if (peer == segment_->rank()) continue;
    Post& post = segment_->slot(peer).posts[sequence_ % 2];
    TransportStatus status = segment_->Await(post.arrived, sequence_, peer);
    if (!status.has_value()) return status;
  }
  return CheckPosts(sequence_);
}

// Every rank compares with rank 0, so that all of them say the same.
TransportStatus ShmTransport::CheckPosts(uint32_t sequence) const {
  const CallShape& ours = segment_->slot(0).posts[sequence % 2].shape;
  for (int peer = 1; peer < segment_->ranks(); ++peer) {
    const CallShape& theirs = segment_->slot(peer).posts[sequence % 2].shape;
    if (theirs == ours) continue;
    return segment_->Break({Kind::kDesync, DescribeMismatch(peer, theirs, 0, ours)});
  }
  return {};
}

TransportStatus ShmTransport::MeetAgain() {
  ++step_;
  ShmSegment::Raise(segment_->mine().step, step_);
  for (int peer = 0; peer < segment_->ranks(); ++peer) {
    if (peer == segment_->rank()) continue;
    TransportStatus status = segment_->Await(segment_->slot(peer).step, step_, peer);
    if (!status.has_value()) return status;
  }
  return {};
}

bool ShmTransport::AllInside() const {
  for (size_t rank = 0; rank < ranks(); ++rank) {
    if (LocationOf(rank) == kOutside) return false;
  }
  return true;
}

// --- showing data to the others -------------------------------------------------

// Elements of every block in one piece; whole cache lines.
size_t ShmTransport::PieceCount(size_t blocks, size_t element) const {
  // When ranks take turns on a core, a meeting point costs more than a cache miss.
  const size_t bytes = segment_->oversubscribed()
                           ? segment_->window_bytes()
                           : std::min(segment_->window_bytes(), kPieceBytes);
  return std::max(bytes / blocks / 64 * 64, size_t{64}) / element;
}

void ShmTransport::Stage(const Exhibit& exhibit, size_t first, size_t length) {
  const size_t element = SizeOf(exhibit.shape.dtype);
  std::byte* window = segment_->window(segment_->rank(), parity_);
  const auto* data = static_cast<const std::byte*>(exhibit.data);
  for (size_t block = 0; exhibit.shown && length > 0 && block < exhibit.blocks;
       ++block) {
    std::memcpy(window + block * length * element,
                data + (block * exhibit.shape.count + first) * element,
                length * element);
  }
}

// Calls use(part) for parts that together are everything. Data in shared memory stay
// where they are: one part and a meeting point at the end, after which the owner may
// change them.
template <typename Use>
TransportStatus ShmTransport::Show(const Exhibit& exhibit, Use&& use) {
  const size_t element = SizeOf(exhibit.shape.dtype);
  const size_t bytes = exhibit.blocks * exhibit.shape.count * element;
  uint64_t location = kOutside;
  if (exhibit.shown && exhibit.may_stay) {
    location = memory_.Locate(exhibit.data, bytes);
  } else if (!exhibit.shown) {
    location = kNothing;
  }
  // Staged ahead of the meeting point, a small message needs only that one. The other
  // window may still be read by a slower rank, this one not.
  const bool early = location == kOutside;
  if (early) {
    Stage(exhibit, 0,
          std::min<size_t>(exhibit.shape.count, PieceCount(exhibit.blocks, element)));
  }
  TransportStatus status = Meet(exhibit.shape, location);
  if (!status.has_value()) return status;
  if (!AllInside()) return ShowPieces(exhibit, early, std::forward<Use>(use));
  algorithm_ = "in_place";
  use(Part(*this, exhibit, 0, exhibit.shape.count, false));
  return MeetAgain();
}

template <typename Use>
TransportStatus ShmTransport::ShowPieces(const Exhibit& exhibit, bool staged,
                                         Use&& use) {
  algorithm_ = "staged";
  const size_t piece = PieceCount(exhibit.blocks, SizeOf(exhibit.shape.dtype));
  bool all_staged = true;
  for (size_t rank = 0; rank < ranks(); ++rank) {
    all_staged = all_staged && LocationOf(rank) >= kNothing;
  }
  for (size_t first = 0; first < exhibit.shape.count; first += piece) {
    const size_t length = std::min<size_t>(piece, exhibit.shape.count - first);
    if (first > 0 || !staged) Stage(exhibit, first, length);
    if (first > 0 || !all_staged) {
      if (TransportStatus met = MeetAgain(); !met.has_value()) return met;
    }
    use(Part(*this, exhibit, first, length, true));
    // The next piece goes to the other window; when that is full everywhere, nobody
    // reads this one any more.
    parity_ ^= 1U;
  }
  return {};
}

// --- collectives ----------------------------------------------------------------

TransportStatus ShmTransport::AllReduceSum(Buffer data) {
  if (TransportStatus sum = CheckSummable(data.dtype); !sum.has_value()) return sum;
  Exhibit exhibit;
  exhibit.shape = {Operation::kAllReduce, data.dtype, data.count, -1};
  exhibit.data = data.data;
  const uint64_t location = memory_.Locate(data.data, data.bytes());
  if (location != kOutside || segment_->ranks() > kMaxDirectRanks) {
    TransportStatus status = Meet(exhibit.shape, location);
    if (!status.has_value()) return status;
    if (AllInside()) return ReduceInPlace(data);
    if (segment_->ranks() > kMaxDirectRanks) return ReduceByShares(data);
  }
  auto use = [&](const Part& part) {
    std::array<const void*, kMaxDirectRanks> sources{};
    for (size_t r = 0; r < ranks(); ++r) sources[r] = part.Of(r, 0);
    void* out = static_cast<std::byte*>(data.data) + part.first() * SizeOf(data.dtype);
    SumOver(std::span(sources.data(), ranks()), std::span(&out, 1), part.length(),
            data.dtype);
  };
  if (location != kOutside) return ShowPieces(exhibit, false, use);
  exhibit.may_stay = false;
  return Show(exhibit, use);
}

// Each rank sums its share over all buffers and writes the sum to all of them.
TransportStatus ShmTransport::ReduceInPlace(Buffer data) {
  algorithm_ = "in_place";
  const size_t element = SizeOf(data.dtype);
  const size_t line = 64 / element;
  const size_t share = ((data.count + ranks() - 1) / ranks() + line - 1) / line * line;
  const size_t first = std::min(data.count, me() * share);
  const size_t length = std::min(data.count, first + share) - first;
  std::array<void*, kMaxShmRanks> buffers{};
  std::array<const void*, kMaxShmRanks> sources{};
  for (size_t r = 0; r < ranks(); ++r) {
    buffers[r] = memory_.At(static_cast<int>(r), LocationOf(r)) + first * element;
    sources[r] = buffers[r];
  }
  if (length > 0) {
    SumOver(std::span(sources.data(), ranks()), std::span(buffers.data(), ranks()),
            length, data.dtype);
  }
  return MeetAgain();
}

// Many ranks, data outside: window 0 takes a piece of the input, window 1 this rank's
// share of the sum.
TransportStatus ShmTransport::ReduceByShares(Buffer data) {
  algorithm_ = "shares";
  const size_t element = SizeOf(data.dtype);
  const size_t piece = segment_->window_bytes() / element;
  auto* bytes = static_cast<std::byte*>(data.data);
  for (size_t first = 0; first < data.count; first += piece) {
    TransportStatus status = ReducePiece(
        bytes + first * element, std::min(piece, data.count - first), data.dtype);
    if (!status.has_value()) return status;
  }
  // A slower rank may still read the sums, so the next small message goes elsewhere.
  parity_ = 0;
  return {};
}

TransportStatus ShmTransport::ReducePiece(std::byte* data, size_t count, DType dtype) {
  const size_t element = SizeOf(dtype);
  const size_t line = 64 / element;
  const size_t share = ((count + ranks() - 1) / ranks() + line - 1) / line * line;
  auto first_of = [&](size_t rank) { return std::min(count, rank * share) * element; };
  std::memcpy(segment_->window(segment_->rank(), 0), data, count * element);
  if (TransportStatus met = MeetAgain(); !met.has_value()) return met;
  std::array<const void*, kMaxShmRanks> sources{};
  for (size_t r = 0; r < ranks(); ++r) {
    sources[r] = segment_->window(static_cast<int>(r), 0) + first_of(me());
  }
  void* sum = segment_->window(segment_->rank(), 1) + first_of(me());
  SumOver(std::span(sources.data(), ranks()), std::span(&sum, 1),
          (first_of(me() + 1) - first_of(me())) / element, dtype);
  if (TransportStatus met = MeetAgain(); !met.has_value()) return met;
  for (size_t r = 0; r < ranks(); ++r) {
    const size_t length = first_of(r + 1) - first_of(r);
    if (length == 0) continue;
    std::memcpy(data + first_of(r),
                segment_->window(static_cast<int>(r), 1) + first_of(r), length);
  }
  return {};
}

TransportStatus ShmTransport::ReduceScatterSum(ConstBuffer input, Buffer output) {
  if (TransportStatus sum = CheckSummable(input.dtype); !sum.has_value()) return sum;
  Exhibit exhibit;
  exhibit.shape = {Operation::kReduceScatter, output.dtype, output.count, -1};
  exhibit.data = input.data;
  exhibit.blocks = ranks();
  exhibit.may_stay = !Overlap(input, output);
  return Show(exhibit, [&](const Part& part) {
    std::array<const void*, kMaxShmRanks> sources{};
    for (size_t r = 0; r < ranks(); ++r) sources[r] = part.Of(r, me());
    void* out =
        static_cast<std::byte*>(output.data) + part.first() * SizeOf(output.dtype);
    if (part.length() > 0) {
      SumOver(std::span(sources.data(), ranks()), std::span(&out, 1), part.length(),
              output.dtype);
    }
  });
}

TransportStatus ShmTransport::AllGather(ConstBuffer mine, Buffer all) {
  Exhibit exhibit;
  exhibit.shape = {Operation::kAllGather, mine.dtype, mine.count, -1};
  exhibit.data = mine.data;
  const size_t element = SizeOf(mine.dtype);
  return Show(exhibit, [&](const Part& part) {
    for (size_t r = 0; r < ranks() && part.length() > 0; ++r) {
      std::byte* to =
          static_cast<std::byte*>(all.data) + (r * mine.count + part.first()) * element;
      // The own block may be there already.
      const auto* from = part.Of(r, 0);
      if (to != from) std::memcpy(to, from, part.length() * element);
    }
  });
}

TransportStatus ShmTransport::Broadcast(Buffer data, int root) {
  if (TransportStatus there = CheckRank(root); !there.has_value()) return there;
  Exhibit exhibit;
  exhibit.shape = {Operation::kBroadcast, data.dtype, data.count, root};
  exhibit.data = data.data;
  exhibit.shown = root == segment_->rank();
  const size_t element = SizeOf(data.dtype);
  return Show(exhibit, [&](const Part& part) {
    if (exhibit.shown || part.length() == 0) return;
    std::memcpy(static_cast<std::byte*>(data.data) + part.first() * element,
                part.Of(static_cast<size_t>(root), 0), part.length() * element);
  });
}

TransportStatus ShmTransport::AllToAll(ConstBuffer input, Buffer output) {
  Exhibit exhibit;
  exhibit.shape = {Operation::kAllToAll, input.dtype, input.count / ranks(), -1};
  exhibit.data = input.data;
  exhibit.blocks = ranks();
  exhibit.may_stay = !Overlap(input, output);
  const size_t element = SizeOf(input.dtype);
  return Show(exhibit, [&](const Part& part) {
    for (size_t r = 0; r < ranks() && part.length() > 0; ++r) {
      std::memcpy(static_cast<std::byte*>(output.data) +
                      (r * exhibit.shape.count + part.first()) * element,
                  part.Of(r, me()), part.length() * element);
    }
  });
}

TransportStatus ShmTransport::Send(ConstBuffer data, int peer) {
  algorithm_ = "ring_buffer";
  if (TransportStatus there = CheckPeer(peer); !there.has_value()) return there;
  if (TransportStatus whole = segment_->CheckWhole(); !whole.has_value()) return whole;
  return senders_[static_cast<size_t>(peer)].Send(*segment_, peer, data);
}

TransportStatus ShmTransport::Receive(Buffer data, int peer) {
  algorithm_ = "ring_buffer";
  if (TransportStatus there = CheckPeer(peer); !there.has_value()) return there;
  if (TransportStatus whole = segment_->CheckWhole(); !whole.has_value()) return whole;
  return receivers_[static_cast<size_t>(peer)].Receive(*segment_, peer, data);
}

TransportStatus ShmTransport::CheckRank(int peer) const {
  if (peer >= 0 && peer < segment_->ranks()) return {};
  return segment_->Break({Kind::kOther, "there is no rank " + std::to_string(peer) +
                                            " among " +
                                            std::to_string(segment_->ranks())});
}

TransportStatus ShmTransport::CheckPeer(int peer) const {
  if (peer != segment_->rank()) return CheckRank(peer);
  return segment_->Break({Kind::kOther, "rank " + std::to_string(peer) +
                                            " cannot send to or receive from itself"});
}

TransportStatus ShmTransport::CheckSummable(DType dtype) const {
  if (dtype != DType::kByte) return {};
  return segment_->Break({Kind::kOther, "bytes can not be summed"});
}

// --- memory ---------------------------------------------------------------------

// "" when every rank has what it needs.
std::string ShmTransport::AgreeOnResults(size_t half, size_t bytes) {
  if (TransportStatus met = MeetAgain(); !met.has_value()) return met.error().what;
  for (int rank = 0; rank < segment_->ranks(); ++rank) {
    const int reason = segment_->slot(rank).results[half].load();
    if (reason == 0) continue;
    return "rank " + std::to_string(rank) + " has no " + std::to_string(bytes) +
           " bytes of shared memory: " + std::strerror(reason);
  }
  return {};
}

// Rank 0 makes the file, every rank takes the space of its stripe and maps all. After
// each half the ranks compare results, so that all have the memory or none has.
std::span<std::byte> ShmTransport::AllocateShared(size_t bytes) {
  int64_t file = 0;
  if (segment_->rank() == 0) file = memory_.Make(bytes, want_huge_);
  const uint64_t note =
      (static_cast<uint64_t>(file) << 1U) | (memory_.huge() ? 1U : 0U);
  const CallShape shape{Operation::kAllocate, DType::kByte, bytes, -1};
  if (TransportStatus met = Meet(shape, note); !met.has_value()) {
    memory_.Close();
    memory_note_ = met.error().what;
    return {};
  }
  const uint64_t answer = LocationOf(0);
  file = static_cast<int64_t>(answer) >> 1;
  const bool huge = (answer & 1U) != 0;
  RankSlot& slot = segment_->mine();
  // Two results: a quick rank may write the second while a slow one reads the first.
  slot.results[1].store(0);
  slot.results[0].store(file < 0 ? static_cast<int32_t>(-file)
                                 : memory_.Reserve(file, bytes, huge));
  std::string refusal = AgreeOnResults(0, bytes);
  std::span<std::byte> mine;
  if (refusal.empty()) {
    mine = memory_.Map(bytes);
    if (mine.data() == nullptr) slot.results[1].store(errno);
    refusal = AgreeOnResults(1, bytes);
    if (!refusal.empty() && mine.data() != nullptr) memory_.DropLast();
  }
  memory_.Close();
  memory_note_ = refusal.empty() ? ShmMemory::PageNote(huge) : refusal;
  return refusal.empty() ? mine : std::span<std::byte>();
}

}  // namespace

tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectShm(
    const ShmOptions& options) {
  if (options.world_size < 1 || options.world_size > kMaxShmRanks || options.rank < 0 ||
      options.rank >= options.world_size) {
    return tl::unexpected(TransportFailure{
        Kind::kOther, "shared memory takes 1 to " + std::to_string(kMaxShmRanks) +
                          " ranks, this is rank " + std::to_string(options.rank) +
                          " of " + std::to_string(options.world_size)});
  }
  auto segment = ShmSegment::Join(options);
  if (!segment.has_value()) return tl::unexpected(segment.error());
  return std::make_unique<ShmTransport>(std::move(*segment), options.huge_pages);
}

}  // namespace stepslack::comm
