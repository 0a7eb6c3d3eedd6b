// Messages from one rank to another through a byte ring in the shared segment. A
// message that fits is left there and its sender goes on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm_segment.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// One end of a channel; keeps its own count of bytes moved.
class ShmSender {
 public:
  TransportStatus Send(const ShmSegment& segment, int to, ConstBuffer data);

 private:
  TransportStatus Write(const ShmSegment& segment, int to, const void* data,
                        size_t bytes);
  uint32_t written_ = 0;  // modulo 2^32; the ring's size divides that
};

class ShmReceiver {
 public:
  // Compares count and dtype with the sender's before data move (kDesync).
  TransportStatus Receive(const ShmSegment& segment, int from, Buffer data);

 private:
  TransportStatus Read(const ShmSegment& segment, int from, void* data, size_t bytes);
  uint32_t taken_ = 0;
};

}  // namespace stepslack::comm
