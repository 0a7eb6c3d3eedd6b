#include "shm_channel.h"

#include <algorithm>
#include <cstring>

namespace stepslack::comm {
namespace {

// Sent ahead of every message.
struct Preamble {
  uint64_t count;
  uint64_t dtype;
};

}  // namespace

TransportStatus ShmSender::Send(const ShmSegment& segment, int to, ConstBuffer data) {
  const Preamble preamble{data.count, static_cast<uint64_t>(data.dtype)};
  TransportStatus status = Write(segment, to, &preamble, sizeof(preamble));
  if (!status.has_value()) return status;
  return Write(segment, to, data.data, data.bytes());
}

TransportStatus ShmSender::Write(const ShmSegment& segment, int to, const void* data,
                                 size_t bytes) {
  Channel& channel = segment.channel(segment.rank(), to);
  std::byte* ring = segment.ring(segment.rank(), to);
  const auto size = static_cast<uint32_t>(segment.ring_bytes());
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    // In pieces of half a ring at most: the other end empties one half meanwhile.
    const uint32_t at = written_ % size;
    const auto piece = static_cast<uint32_t>(std::min(
        {bytes, static_cast<size_t>(size / 2), static_cast<size_t>(size - at)}));
    TransportStatus room = segment.Await(channel.taken, written_ + piece - size, to);
    if (!room.has_value()) return room;
    std::memcpy(ring + at, from, piece);
    written_ += piece;
    ShmSegment::Raise(channel.written, written_);
    from += piece;
    bytes -= piece;
  }
  return {};
}

TransportStatus ShmReceiver::Receive(const ShmSegment& segment, int from, Buffer data) {
  Preamble preamble{};
  TransportStatus status = Read(segment, from, &preamble, sizeof(preamble));
  if (!status.has_value()) return status;
  if (preamble.count != data.count ||
      preamble.dtype != static_cast<uint64_t>(data.dtype)) {
    const CallShape theirs{Operation::kSend, static_cast<DType>(preamble.dtype),
                           preamble.count, -1};
    const CallShape ours{Operation::kReceive, data.dtype, data.count, -1};
    return segment.Break({TransportFailure::Kind::kDesync,
                          DescribeMismatch(from, theirs, segment.rank(), ours)});
  }
  return Read(segment, from, data.data, data.bytes());
}

TransportStatus ShmReceiver::Read(const ShmSegment& segment, int from, void* data,
                                  size_t bytes) {
  Channel& channel = segment.channel(from, segment.rank());
  const std::byte* ring = segment.ring(from, segment.rank());
  const auto size = static_cast<uint32_t>(segment.ring_bytes());
  auto* to = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const uint32_t at = taken_ % size;
    const auto piece = static_cast<uint32_t>(std::min(
        {bytes, static_cast<size_t>(size / 2), static_cast<size_t>(size - at)}));
    TransportStatus filled = segment.Await(channel.written, taken_ + piece, from);
    if (!filled.has_value()) return filled;
    std::memcpy(to, ring + at, piece);
    taken_ += piece;
    ShmSegment::Raise(channel.taken, taken_);
    to += piece;
    bytes -= piece;
  }
  return {};
}

}  // namespace stepslack::comm
