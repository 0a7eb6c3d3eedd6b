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
  enum class Kind { kTimeout, kPeerLost, kOther, kDesync };
  Kind kind = Kind::kOther;
  std::string what;  // the engine's own words, first line
};

using TransportStatus = tl::expected<void, TransportFailure>;

// Element types; the names are PyTorch's, as trace arguments spell them.
enum class DType { kFloat32, kFloat64, kBFloat16, kInt64, kByte };
size_t SizeOf(DType dtype);            // bytes of one element
std::string_view NameOf(DType dtype);  // "Float", "Double", "BFloat16", "Long", "Byte"

// Memory of the caller, not owned. `count` is in elements.
struct Buffer {
  void* data = nullptr;
  size_t count = 0;
  DType dtype = DType::kFloat32;
  size_t bytes() const { return count * SizeOf(dtype); }
};
struct ConstBuffer {
  const void* data = nullptr;
  size_t count = 0;
  DType dtype = DType::kFloat32;
  size_t bytes() const { return count * SizeOf(dtype); }
};

// Called from one thread at a time. After a failure the group can not be used again.
// Every rank must call the same operations in the same order with equal counts and
// dtypes. Sums are taken in float32 for kBFloat16 (rounded once at the end, to nearest
// even); kByte can not be summed.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string_view name() const = 0;  // "self", "shm", "gloo", "mpi", "hier"
  // How the last collective was done: "ring", "direct", "tree"; static.
  virtual std::string_view algorithm() const = 0;

  virtual TransportStatus AllReduceSum(Buffer data) = 0;
  // `input` holds world_size blocks of output.count; block `rank` of the sum arrives.
  virtual TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) = 0;
  // `all` holds world_size blocks of mine.count, in rank order.
  virtual TransportStatus AllGather(ConstBuffer mine, Buffer all) = 0;
  virtual TransportStatus Broadcast(Buffer data, int root) = 0;
  // Block r of `input` goes to rank r; block r of `output` comes from it.
  virtual TransportStatus AllToAll(ConstBuffer input, Buffer output) = 0;
  virtual TransportStatus Send(ConstBuffer data, int peer) = 0;
  virtual TransportStatus Receive(Buffer data, int peer) = 0;
  virtual TransportStatus Barrier() = 0;

  // Memory on which this transport's all-reduce needs no copy, aligned to 64 bytes,
  // zero-filled and alive as long as the transport. Every rank must ask in the same
  // order for the same size. Empty: there is none, take memory of your own.
  virtual std::span<std::byte> AllocateShared(size_t /*bytes*/) { return {}; }
  // What AllocateShared's memory is made of, or why the last call gave none; "" when
  // this transport never has any.
  virtual std::string memory_note() const { return {}; }
  // True when every collective compares the ranks' calls before data move.
  virtual bool checks_agreement() const { return false; }
  // True when every wait ends by itself after the time-out, so that a blocking call may
  // run on the caller's own thread.
  virtual bool keeps_timeouts() const { return false; }
};

// One process: every collective is the identity.
std::unique_ptr<Transport> MakeSelfTransport();

struct GlooOptions {
  int rank = 0;
  int world_size = 1;
  std::string store_path;        // file of a c10d FileStore, unique per attempt
  std::string interface = "lo";  // network interface; never a host name look-up
  double timeout_seconds = 60;   // of the rendezvous and of every collective
  // Where the ranks meet when store_path is empty: rank 0 listens there.
  std::string master_address;  // numeric; a name would be looked up without a limit
  int master_port = 0;
  bool store_runs_elsewhere = false;  // by torchrun: rank 0 is a client as well
  std::string group = "world";        // tells apart groups that share a store
  bool nccl = false;                  // NCCL instead of Gloo
  int device = 0;                     // GPU of this rank, NCCL only
  // How Gloo's all-reduce is done: "" for ours by size, "engine" for Gloo's own, one of
  // "ring", "halving_doubling", "doubling", "tree", or by size: "0:doubling,65536:ring"
  // (from so many bytes on). That of rank 0 counts on all ranks.
  std::string all_reduce;
};

// Joins the group; returns when all ranks have. Fails when one does not come in time,
// and then says which; with `nccl` also when this LibTorch has no NCCL.
tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectGloo(
    const GlooOptions& options);
bool HasNccl();  // LibTorch was built with it

}  // namespace stepslack::comm
