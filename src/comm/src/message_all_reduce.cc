#include "message_all_reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "sum_kernels.h"

namespace stepslack::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

struct Chunk {
  int peer = -1;
  size_t begin = 0;  // elements
  size_t end = 0;
  bool reduce = false;
  // A send: so many receives must be in place before. A receive: so many sends must
  // have left before it may change the data.
  size_t after = 0;
  std::unique_ptr<Message> message;
};

class ScheduleRun {
 public:
  ScheduleRun(Buffer data, MessageLink& link, const MessageLimits& limits)
      : data_(data), link_(link), limits_(limits), element_(SizeOf(data.dtype)) {
    chunk_ = std::max<size_t>(limits.chunk_bytes / element_, 1);
  }

  TransportStatus Run(std::span<const Round> rounds) {
    Cut(rounds);
    const size_t longest = std::min(chunk_, data_.count) * element_;
    slots_.resize(std::min(limits_.window, receives_.size()));
    for (std::vector<std::byte>& slot : slots_) slot.resize(longest);
    until_ = Clock::now() + limits_.timeout;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (TransportStatus status = Ask(i); !status) return status;
    }
    for (size_t i = 0; i < receives_.size(); ++i) {
      TransportStatus status = SendUpTo(i);
      if (status) status = Take(i);
      if (status && i + slots_.size() < receives_.size()) {
        status = Ask(i + slots_.size());
      }
      if (!status) return status;
    }
    TransportStatus status = SendUpTo(receives_.size());
    return status ? LeaveUpTo(sends_.size()) : status;
  }

 private:
  // Chunks overlap when their elements do.
  static size_t After(const std::vector<Chunk>& earlier, size_t count,
                      const Chunk& chunk) {
    for (size_t i = count; i > 0; --i) {
      const Chunk& other = earlier[i - 1];
      if (other.begin < chunk.end && chunk.begin < other.end) return i;
    }
    return 0;
  }

  void Cut(const Move& move, bool reduce, std::vector<Chunk>& chunks) const {
    for (size_t at = move.begin; at < move.end; at += chunk_) {
      Chunk chunk;
      chunk.peer = move.peer;
      chunk.begin = at;
      chunk.end = std::min(at + chunk_, move.end);
      chunk.reduce = reduce;
      chunks.push_back(std::move(chunk));
    }
  }

  void Cut(std::span<const Round> rounds) {
    for (const Round& round : rounds) {
      const size_t received = receives_.size();
      size_t first = sends_.size();
      Cut(round.send, false, sends_);
      for (; first < sends_.size(); ++first) {
        sends_[first].after = After(receives_, received, sends_[first]);
      }
      first = received;
      Cut(round.receive, round.reduce, receives_);
      for (; first < receives_.size(); ++first) {
        receives_[first].after = After(sends_, sends_.size(), receives_[first]);
      }
    }
  }

  std::byte* At(size_t element) const {
    return static_cast<std::byte*>(data_.data) + element * element_;
  }
  size_t BytesOf(const Chunk& chunk) const {
    return (chunk.end - chunk.begin) * element_;
  }
  std::span<std::byte> SlotOf(size_t receive) {
    return std::span(slots_[receive % slots_.size()])
        .first(BytesOf(receives_[receive]));
  }

  TransportStatus Ask(size_t receive) {
    Chunk& chunk = receives_[receive];
    StartedMessage started =
        link_.StartReceive(SlotOf(receive), chunk.peer, limits_.tag);
    if (!started) return tl::unexpected(started.error());
    chunk.message = std::move(*started);
    return {};
  }

  // Starts the sends that `received` receives allow, in their order.
  TransportStatus SendUpTo(size_t received) {
    for (; sent_ < sends_.size() && sends_[sent_].after <= received; ++sent_) {
      Chunk& chunk = sends_[sent_];
      StartedMessage started =
          link_.StartSend({At(chunk.begin), BytesOf(chunk)}, chunk.peer, limits_.tag);
      if (!started) return tl::unexpected(started.error());
      chunk.message = std::move(*started);
    }
    return {};
  }

  TransportStatus LeaveUpTo(size_t count) {
    for (; left_ < count; ++left_) {
      if (TransportStatus status = Await(sends_[left_]); !status) return status;
    }
    return {};
  }

  TransportStatus Await(Chunk& chunk) {
    const auto left = std::chrono::duration_cast<Milliseconds>(until_ - Clock::now());
    TransportStatus status = chunk.message->Wait(std::max(left, Milliseconds(1)));
    chunk.message.reset();
    if (!status) {
      status.error().what += " (rank " + std::to_string(chunk.peer) + " of the group)";
    }
    return status;
  }

  TransportStatus Take(size_t receive) {
    Chunk& chunk = receives_[receive];
    if (TransportStatus status = Await(chunk); !status) return status;
    if (TransportStatus status = LeaveUpTo(chunk.after); !status) return status;
    std::byte* to = At(chunk.begin);
    const std::span<const std::byte> from = SlotOf(receive);
    if (chunk.reduce) {
      const std::array<const void*, 2> sources = {to, from.data()};
      const std::array<void*, 1> outputs = {to};
      SumOver(sources, outputs, chunk.end - chunk.begin, data_.dtype);
    } else {
      std::memcpy(to, from.data(), from.size());
    }
    return {};
  }

  Buffer data_;
  MessageLink& link_;
  MessageLimits limits_;
  size_t element_;
  size_t chunk_ = 1;  // elements
  Clock::time_point until_;
  std::vector<std::vector<std::byte>> slots_;  // outlive the messages into them
  std::vector<Chunk> sends_;
  std::vector<Chunk> receives_;
  size_t sent_ = 0;
  size_t left_ = 0;
};

}  // namespace

TransportStatus RunSchedule(std::span<const Round> rounds, Buffer data,
                            MessageLink& link, const MessageLimits& limits) {
  return ScheduleRun(data, link, limits).Run(rounds);
}

}  // namespace stepslack::comm
