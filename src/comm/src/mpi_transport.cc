// The adapter to MPI, compiled into libstepslack_mpi.so only.
//
// Everything is non-blocking and polled, so that a rank that is dead, stopped or slow
// gives a time-out instead of a hang. All-reduce and reduce-scatter are our own on top
// of messages: recursive doubling for short vectors and a ring for the rest (Thakur,
// Rabenseifner, Gropp, IJHPCA 19, 2005). MPI_Iallreduce of OpenMPI 4 takes twice the
// time of its blocking twin, and the order of a ring's sums depends on nothing but the
// count, so that reruns are equal bit by bit.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi_adapter.h"

namespace stepslack::comm {
namespace {

constexpr size_t kShortBytes = 32 << 10;  // recursive doubling up to here
using Clock = std::chrono::steady_clock;

constexpr int kTag = 7;
constexpr int kSpins = 2000;  // polls before the core is offered to others

// MPI is one per process, and so is the knowledge that it is broken: then it must not
// be finalised, which would wait for the lost peer.
std::atomic<bool>& Broken() {
  static std::atomic<bool> broken{false};
  return broken;
}

void FinalizeAtExit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && !Broken().load()) MPI_Finalize();
}

TransportFailure FailureOf(int code, const char* what) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  TransportFailure failure;
  failure.what =
      std::string(what) + ": " + std::string(text.data(), static_cast<size_t>(length));
  int kind = MPI_ERR_OTHER;
  MPI_Error_class(code, &kind);
  // OpenMPI 4 has no class for a lost process; transports report it as one of these.
  if (kind == MPI_ERR_OTHER || kind == MPI_ERR_INTERN) {
    failure.kind = TransportFailure::Kind::kPeerLost;
  }
  Broken() = true;
  return failure;
}

tl::unexpected<TransportFailure> Refuse(std::string what) {
  return tl::unexpected(
      TransportFailure{TransportFailure::Kind::kOther, std::move(what)});
}

float ToFloat(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// To nearest, ties to even; a NaN stays one.
uint16_t ToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
void Add(T* into, const T* from, size_t count) {
  for (size_t i = 0; i < count; ++i) into[i] += from[i];
}

void AddValues(std::byte* into, const std::byte* from, size_t count, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Add(reinterpret_cast<float*>(into), reinterpret_cast<const float*>(from),
                 count);
    case DType::kFloat64:
      return Add(reinterpret_cast<double*>(into), reinterpret_cast<const double*>(from),
                 count);
    case DType::kInt64:  // unsigned: an overflow wraps instead of being undefined
      return Add(reinterpret_cast<uint64_t*>(into),
                 reinterpret_cast<const uint64_t*>(from), count);
    case DType::kBFloat16:
    case DType::kByte:
      break;
  }
}

// Part `index` of `count` elements in `parts` nearly equal ones.
struct Part {
  size_t from = 0;
  size_t count = 0;
};
Part PartOf(size_t count, int parts, int index) {
  const auto n = static_cast<size_t>(parts);
  const auto i = static_cast<size_t>(index);
  const size_t from = count / n * i + std::min(i, count % n);
  return {from, count / n + (i < count % n ? 1 : 0)};
}

class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm communicator, const MpiOptions& options)
      : communicator_(communicator),
        blocking_(options.blocking),
        timeout_(options.timeout_seconds) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && !Broken().load()) MPI_Comm_free(&communicator_);
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  std::string_view name() const override { return "mpi"; }
  std::string_view algorithm() const override { return algorithm_; }
  bool keeps_timeouts() const override { return !blocking_; }

  TransportStatus AllReduceSum(Buffer data) override;
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override;
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override {
    algorithm_ = "engine";
    if (!Fits(all.bytes())) return TooLong();
    return Run("MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(mine.data, Int(mine.bytes()), MPI_BYTE, all.data,
                            Int(mine.bytes()), MPI_BYTE, communicator_, request);
    });
  }
  TransportStatus Broadcast(Buffer data, int root) override {
    algorithm_ = "engine";
    if (!Fits(data.bytes())) return TooLong();
    return Run("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data.data, Int(data.bytes()), MPI_BYTE, root, communicator_,
                        request);
    });
  }
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override {
    algorithm_ = "engine";
    if (!Fits(input.bytes())) return TooLong();
    const int block = Int(input.bytes() / static_cast<size_t>(size_));
    return Run("MPI_Ialltoall", [&](MPI_Request* request) {
      return MPI_Ialltoall(input.data, block, MPI_BYTE, output.data, block, MPI_BYTE,
                           communicator_, request);
    });
  }
  TransportStatus Send(ConstBuffer data, int peer) override {
    if (!Fits(data.bytes())) return TooLong();
    return Run("MPI_Isend", [&](MPI_Request* request) {
      return MPI_Isend(data.data, Int(data.bytes()), MPI_BYTE, peer, kTag,
                       communicator_, request);
    });
  }
  TransportStatus Receive(Buffer data, int peer) override {
    if (!Fits(data.bytes())) return TooLong();
    return Run("MPI_Irecv", [&](MPI_Request* request) {
      return MPI_Irecv(data.data, Int(data.bytes()), MPI_BYTE, peer, kTag,
                       communicator_, request);
    });
  }
  TransportStatus Barrier() override {
    return Run("MPI_Ibarrier", [&](MPI_Request* request) {
      return MPI_Ibarrier(communicator_, request);
    });
  }

 private:
  static bool Fits(size_t bytes) { return bytes <= size_t{INT_MAX}; }
  static TransportStatus TooLong() {
    return Refuse("more than 2 GiB in one operation is not supported over MPI");
  }
  static int Int(size_t value) { return static_cast<int>(value); }

  template <typename Start>
  TransportStatus Run(const char* what, Start&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, what));
    return Await(std::span(&request, 1), what);
  }
  TransportStatus Await(std::span<MPI_Request> requests, const char* what);
  TransportStatus Exchange(const std::byte* send, size_t send_bytes, int to,
                           std::byte* receive, size_t receive_bytes, int from);
  TransportStatus Reduce(std::byte* data, size_t count, DType dtype);
  TransportStatus BlockingReduce(Buffer data);
  TransportStatus RecursiveDoubling(std::byte* data, size_t count, DType dtype);
  TransportStatus RingReduceScatter(std::byte* data, size_t count, DType dtype);
  TransportStatus RingAllGather(std::byte* data, size_t count, DType dtype);
  std::byte* Scratch(size_t bytes) {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }

  MPI_Comm communicator_;
  bool blocking_;
  std::chrono::duration<double> timeout_;
  int rank_ = 0;
  int size_ = 1;
  std::string_view algorithm_ = "ring";
  std::vector<std::byte> scratch_;  // kept: a fresh one costs page faults every time
  std::vector<float> wide_;         // bfloat16 in float32
};

TransportStatus MpiTransport::Await(std::span<MPI_Request> requests, const char* what) {
  const auto start = Clock::now();
  for (int polls = 1;; ++polls) {
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(),
                                 &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, what));
    if (done != 0) return {};
    if (polls < kSpins) continue;
    sched_yield();
    if (polls % 64 == 0 && Clock::now() - start > timeout_) break;
  }
  // The requests are left behind: MPI touches their memory only inside its own calls,
  // and none follows.
  Broken() = true;
  return tl::unexpected(TransportFailure{TransportFailure::Kind::kTimeout,
                                         std::string(what) + " timed out after " +
                                             std::to_string(timeout_.count()) + " s"});
}

TransportStatus MpiTransport::Exchange(const std::byte* send, size_t send_bytes, int to,
                                       std::byte* receive, size_t receive_bytes,
                                       int from) {
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int code = MPI_Irecv(receive, Int(receive_bytes), MPI_BYTE, from, kTag, communicator_,
                       &requests[0]);
  if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, "MPI_Irecv"));
  code =
      MPI_Isend(send, Int(send_bytes), MPI_BYTE, to, kTag, communicator_, &requests[1]);
  if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, "MPI_Isend"));
  return Await(requests, "message exchange");
}

TransportStatus MpiTransport::RecursiveDoubling(std::byte* data, size_t count,
                                                DType dtype) {
  const size_t bytes = count * SizeOf(dtype);
  std::byte* theirs = Scratch(bytes);
  for (int distance = 1; distance < size_; distance *= 2) {
    const int peer = rank_ ^ distance;
    auto status = Exchange(data, bytes, peer, theirs, bytes, peer);
    if (!status.has_value()) return status;
    AddValues(data, theirs, count, dtype);
  }
  return {};
}

// Afterwards rank r holds the sum of part r.
TransportStatus MpiTransport::RingReduceScatter(std::byte* data, size_t count,
                                                DType dtype) {
  const size_t width = SizeOf(dtype);
  const int next = (rank_ + 1) % size_;
  const int previous = (rank_ + size_ - 1) % size_;
  std::byte* theirs = Scratch(PartOf(count, size_, 0).count * width);
  for (int step = 0; step < size_ - 1; ++step) {
    const Part out = PartOf(count, size_, (rank_ + 2 * size_ - step - 1) % size_);
    const Part in = PartOf(count, size_, (rank_ + 2 * size_ - step - 2) % size_);
    auto status = Exchange(data + out.from * width, out.count * width, next, theirs,
                           in.count * width, previous);
    if (!status.has_value()) return status;
    AddValues(data + in.from * width, theirs, in.count, dtype);
  }
  return {};
}

TransportStatus MpiTransport::RingAllGather(std::byte* data, size_t count,
                                            DType dtype) {
  const size_t width = SizeOf(dtype);
  const int next = (rank_ + 1) % size_;
  const int previous = (rank_ + size_ - 1) % size_;
  for (int step = 0; step < size_ - 1; ++step) {
    const Part out = PartOf(count, size_, (rank_ + size_ - step) % size_);
    const Part in = PartOf(count, size_, (rank_ + size_ - step - 1) % size_);
    auto status = Exchange(data + out.from * width, out.count * width, next,
                           data + in.from * width, in.count * width, previous);
    if (!status.has_value()) return status;
  }
  return {};
}

TransportStatus MpiTransport::Reduce(std::byte* data, size_t count, DType dtype) {
  const bool power_of_two = (size_ & (size_ - 1)) == 0;
  if (power_of_two && count * SizeOf(dtype) <= kShortBytes) {
    algorithm_ = "recursive_doubling";
    return RecursiveDoubling(data, count, dtype);
  }
  algorithm_ = "ring";
  auto status = RingReduceScatter(data, count, dtype);
  return status.has_value() ? RingAllGather(data, count, dtype) : status;
}

TransportStatus MpiTransport::BlockingReduce(Buffer data) {
  algorithm_ = "engine";
  MPI_Datatype type = MPI_FLOAT;
  if (data.dtype == DType::kFloat64) type = MPI_DOUBLE;
  if (data.dtype == DType::kInt64) type = MPI_INT64_T;
  const int code = MPI_Allreduce(MPI_IN_PLACE, data.data, Int(data.count), type,
                                 MPI_SUM, communicator_);
  if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, "MPI_Allreduce"));
  return {};
}

TransportStatus MpiTransport::AllReduceSum(Buffer data) {
  if (data.dtype == DType::kByte) return Refuse("bytes can not be summed");
  if (!Fits(data.count * 4) || !Fits(data.bytes())) return TooLong();
  if (data.count == 0 || size_ == 1) return {};
  if (data.dtype != DType::kBFloat16) {
    if (blocking_) return BlockingReduce(data);
    return Reduce(static_cast<std::byte*>(data.data), data.count, data.dtype);
  }
  auto* halves = static_cast<uint16_t*>(data.data);
  wide_.resize(data.count);
  std::transform(halves, halves + data.count, wide_.begin(), ToFloat);
  auto status =
      Reduce(reinterpret_cast<std::byte*>(wide_.data()), data.count, DType::kFloat32);
  if (status.has_value()) {
    std::transform(wide_.begin(), wide_.end(), halves, ToBFloat16);
  }
  return status;
}

TransportStatus MpiTransport::ReduceScatterSum(ConstBuffer input, Buffer output) {
  if (input.dtype == DType::kByte) return Refuse("bytes can not be summed");
  if (!Fits(input.count * 4) || !Fits(input.bytes())) return TooLong();
  if (output.count == 0) return {};
  algorithm_ = "ring";
  const auto first = static_cast<size_t>(rank_) * output.count;
  if (input.dtype == DType::kBFloat16) {
    const auto* halves = static_cast<const uint16_t*>(input.data);
    wide_.resize(input.count);
    std::transform(halves, halves + input.count, wide_.begin(), ToFloat);
    auto status = RingReduceScatter(reinterpret_cast<std::byte*>(wide_.data()),
                                    input.count, DType::kFloat32);
    if (status.has_value()) {
      std::transform(wide_.begin() + static_cast<ptrdiff_t>(first),
                     wide_.begin() + static_cast<ptrdiff_t>(first + output.count),
                     static_cast<uint16_t*>(output.data), ToBFloat16);
    }
    return status;
  }
  // The caller's input stays as it is.
  const auto* bytes = static_cast<const std::byte*>(input.data);
  std::vector<std::byte> copy(bytes, bytes + input.bytes());
  auto status = RingReduceScatter(copy.data(), input.count, input.dtype);
  if (status.has_value()) {
    std::memcpy(output.data, copy.data() + first * SizeOf(output.dtype),
                output.bytes());
  }
  return status;
}

// Once a process; a process that MPI can not start in is ended by MPI itself.
std::string StartMpi() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return {};
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code != MPI_SUCCESS) return "MPI_Init_thread gave " + std::to_string(code);
  std::atexit(FinalizeAtExit);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (provided < MPI_THREAD_SERIALIZED) {
    return "this MPI can not be called from another thread than the first";
  }
  return {};
}

MpiConnected Connect(const MpiOptions& options) {
  if (std::string problem = StartMpi(); !problem.empty()) {
    return Refuse(std::move(problem));
  }
  MPI_Comm communicator = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
  if (options.group.empty()) {
    code = MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  } else {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    code = MPI_Group_incl(world, static_cast<int>(options.group.size()),
                          options.group.data(), &members);
    if (code == MPI_SUCCESS) {
      code = MPI_Comm_create_group(MPI_COMM_WORLD, members, kTag, &communicator);
      MPI_Group_free(&members);
    }
    MPI_Group_free(&world);
  }
  if (code != MPI_SUCCESS) return tl::unexpected(FailureOf(code, "making the group"));
  if (communicator == MPI_COMM_NULL) return Refuse("this rank is not in the group");
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return std::make_unique<MpiTransport>(communicator, options);
}

}  // namespace
}  // namespace stepslack::comm

extern "C" {
int StepslackMpiAdapterVersion() { return stepslack::comm::kMpiAdapterVersion; }
void StepslackMpiConnect(const stepslack::comm::MpiOptions& options,
                         stepslack::comm::MpiConnected& connected) {
  connected = stepslack::comm::Connect(options);
}
}
