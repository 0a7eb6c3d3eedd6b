// The blocking collectives that an existing engine provides. An adapter turns every
// exception and time-out of its engine into a Failure; nothing is thrown out of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "stepslack/base/result.h"

namespace stepslack::comm {

struct TransportFailure {
  enum class Kind { kTimeout, kPeerLost, kOther };
  Kind kind = Kind::kOther;
  std::string what;  // the engine's own words, first line
};

using TransportStatus = tl::expected<void, TransportFailure>;

// Called from one thread at a time. After a failure the group can not be used again.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string_view name() const = 0;  // "self", "gloo"

  virtual TransportStatus AllReduceSum(std::span<float> data) = 0;
  virtual TransportStatus AllReduceSum(std::span<double> data) = 0;
  virtual TransportStatus Broadcast(std::span<std::byte> data, int root) = 0;
  // `all` holds world_size blocks of mine.size() bytes, in rank order.
  virtual TransportStatus AllGather(std::span<const std::byte> mine,
                                    std::span<std::byte> all) = 0;
  virtual TransportStatus Barrier() = 0;
};

// One process: every collective is the identity.
std::unique_ptr<Transport> MakeSelfTransport();

struct GlooOptions {
  int rank = 0;
  int world_size = 1;
  std::string store_path;        // file of a c10d FileStore, unique per attempt
  std::string interface = "lo";  // network interface; never a host name look-up
  double timeout_seconds = 60;   // of the rendezvous and of every collective
};

// Joins the group; returns when all ranks have. Fails when one does not come in time.
tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectGloo(
    const GlooOptions& options);

}  // namespace stepslack::comm
