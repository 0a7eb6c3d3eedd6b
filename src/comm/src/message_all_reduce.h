// Runs the rounds of an all-reduce over messages between two ranks, cut into chunks of
// which several are under way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "all_reduce_schedule.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// A message under way. Destroying it lets go of the memory.
class Message {
 public:
  virtual ~Message() = default;
  // Afterwards what was received is there, what was sent may be overwritten.
  virtual TransportStatus Wait(std::chrono::milliseconds limit) = 0;
};
using StartedMessage = tl::expected<std::unique_ptr<Message>, TransportFailure>;

// Messages from one rank to another with equal tags arrive in the order in which they
// were started; nothing is sent before the receiver asks for it.
class MessageLink {
 public:
  virtual ~MessageLink() = default;
  virtual StartedMessage StartSend(std::span<const std::byte> data, int peer,
                                   uint32_t tag) = 0;
  virtual StartedMessage StartReceive(std::span<std::byte> data, int peer,
                                      uint32_t tag) = 0;
};

struct MessageLimits {
  // What a receiver has asked for and not got: it keeps a fast link busy, and on a slow
  // one nothing else waits behind more than this.
  size_t chunk_bytes = size_t{128} << 10;
  size_t window = 4;
  std::chrono::milliseconds timeout{60'000};  // of the whole collective
  uint32_t tag = 1;
};

// Sums `data` over the ranks of the schedule, in place. kBFloat16 only in schedules
// that add once (two ranks): else it would be rounded several times.
TransportStatus RunSchedule(std::span<const Round> rounds, Buffer data,
                            MessageLink& link, const MessageLimits& limits);

}  // namespace stepslack::comm
