// Adapter to c10d's process groups (Gloo, and NCCL where LibTorch has it), the one file
// of this module that sees LibTorch.
#include <ATen/Context.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "all_reduce_rules.h"
#include "c10d_compat.h"
#include "message_all_reduce.h"
#include "stepslack/comm/transport.h"
#include "sum_kernels.h"

namespace stepslack::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

std::string FirstLine(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The engines tell their kinds of failure apart by text only.
TransportFailure Translate(const std::exception& error) {
  TransportFailure failure;
  failure.what = FirstLine(error.what());
  if (Contains(failure.what, "imed out") || Contains(failure.what, "imeout")) {
    failure.kind = TransportFailure::Kind::kTimeout;
  } else if (Contains(failure.what, "onnection") || Contains(failure.what, "peer") ||
             Contains(failure.what, "Broken pipe") || Contains(failure.what, "ocket")) {
    failure.kind = TransportFailure::Kind::kPeerLost;
  }
  return failure;
}

TransportFailure Refused(std::string what) {
  return {TransportFailure::Kind::kOther, std::move(what)};
}

Milliseconds ToMilliseconds(double seconds) {
  return Milliseconds(static_cast<int64_t>(seconds * 1000.0));
}

at::ScalarType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat64:
      return at::kDouble;
    case DType::kBFloat16:
      return at::kBFloat16;
    case DType::kInt64:
      return at::kLong;
    case DType::kByte:
      break;
  }
  return at::kByte;
}

// Where memory lies: the caller may hand over host memory to NCCL as well, which is
// then staged on the GPU.
std::optional<c10::Device> DeviceOf(void* data, bool gpu) {
  if (!gpu) return std::nullopt;
  try {
    return at::globalContext().getDeviceFromPtr(data, c10::DeviceType::CUDA);
  } catch (const std::exception&) {
    return std::nullopt;  // host memory that CUDA does not know
  }
}

using PgWork = decltype(std::declval<PgBase&>().barrier());

class C10dMessage final : public Message {
 public:
  explicit C10dMessage(PgWork work) : work_(std::move(work)) {}
  TransportStatus Wait(Milliseconds limit) override {
    try {
      if (work_->wait(limit)) return {};
      return tl::unexpected(
          TransportFailure{TransportFailure::Kind::kPeerLost,
                           "the message was aborted: connection lost"});
    } catch (const std::exception& error) {
      return tl::unexpected(Translate(error));
    }
  }

 private:
  PgWork work_;
};

// Gloo sends a message when its receiver has asked for it, and keeps the order of
// messages with equal tags.
class C10dLink final : public MessageLink {
 public:
  explicit C10dLink(PgBase& group) : group_(group) {}
  StartedMessage StartSend(std::span<const std::byte> data, int peer,
                           uint32_t tag) override {
    return Start(const_cast<std::byte*>(data.data()), data.size(), [&](auto& tensors) {
      return group_.send(tensors, peer, static_cast<int>(tag));
    });
  }
  StartedMessage StartReceive(std::span<std::byte> data, int peer,
                              uint32_t tag) override {
    return Start(data.data(), data.size(), [&](auto& tensors) {
      return group_.recv(tensors, peer, static_cast<int>(tag));
    });
  }

 private:
  template <typename Body>
  static StartedMessage Start(std::byte* data, size_t bytes, Body&& body) {
    try {
      std::vector<at::Tensor> tensors = {
          at::from_blob(data, {static_cast<int64_t>(bytes)}, at::kByte)};
      return std::make_unique<C10dMessage>(body(tensors));
    } catch (const std::exception& error) {
      return tl::unexpected(Translate(error));
    }
  }

  PgBase& group_;
};

class C10dTransport final : public Transport {
 public:
  C10dTransport(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<PgBase> group,
                const GlooOptions& options, AllReduceRules rules)
      : store_(std::move(store)),
        group_(std::move(group)),
        link_(*group_),
        rules_(std::move(rules)),
        timeout_(ToMilliseconds(options.timeout_seconds)),
        gpu_(options.nccl),
        device_(options.device) {}

  int rank() const override { return group_->getRank(); }
  int world_size() const override { return group_->getSize(); }
  std::string_view name() const override { return gpu_ ? "nccl" : "gloo"; }
  std::string_view algorithm() const override { return NameOf(algorithm_); }

  TransportStatus AllReduceSum(Buffer data) override {
    if (auto status = CheckSummable(data.dtype); !status) return status;
    if (data.count == 0) return {};
    algorithm_ =
        gpu_ ? AllReduceAlgorithm::kEngine : rules_.For(world_size(), data.bytes());
    if (algorithm_ != AllReduceAlgorithm::kEngine) return SumByMessages(data);
    return Guarded([&] {
      at::Tensor mine = Values(data);
      std::vector<at::Tensor> tensors = {ForSum(mine)};
      Finish(group_->allreduce(tensors));
      CopyUnlessSame(tensors[0], mine);
      Return(mine, data);
    });
  }
  // Gloo of 1.13 has no reduce-scatter: a sum of everything, of which one block is
  // kept.
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (auto status = CheckSummable(output.dtype); !status) return status;
    if (output.count == 0) return {};
    return Guarded([&] {
      at::Tensor from = Values(Mutable(input));
      std::vector<at::Tensor> tensors = {ForSum(from)};
      if (tensors[0].is_same(from) && !IsStaged(from, input.data)) {
        tensors[0] = from.clone();  // the caller's input stays as it is
      }
      Finish(group_->allreduce(tensors));
      const auto count = static_cast<int64_t>(output.count);
      View(output).copy_(tensors[0].narrow(0, rank() * count, count));
    });
  }
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (mine.count == 0) return {};
    return Guarded([&] {
      std::vector<at::Tensor> inputs = {Bytes(Mutable(mine))};
      at::Tensor whole = Bytes(all);
      std::vector<std::vector<at::Tensor>> outputs = {
          whole.chunk(static_cast<int64_t>(world_size()))};
      Finish(group_->allgather(outputs, inputs));
      Return(whole, all);
    });
  }
  TransportStatus Broadcast(Buffer data, int root) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (data.count == 0) return {};
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {Bytes(data)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      Finish(group_->broadcast(tensors, options));
      Return(tensors[0], data);
    });
  }
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (output.count == 0) return {};
    return Guarded([&] {
      at::Tensor to = Bytes(output);
      at::Tensor from = Bytes(Mutable(input));
      std::vector<int64_t> even;
      Finish(group_->alltoall_base(to, from, even, even));
      Return(to, output);
    });
  }
  TransportStatus Send(ConstBuffer data, int peer) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (data.count == 0) return {};
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {Bytes(Mutable(data))};
      FinishMessage(group_->send(tensors, peer, 0));
    });
  }
  TransportStatus Receive(Buffer data, int peer) override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    if (data.count == 0) return {};
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {Bytes(data)};
      FinishMessage(group_->recv(tensors, peer, 0));
      Return(tensors[0], data);
    });
  }
  TransportStatus Barrier() override {
    algorithm_ = AllReduceAlgorithm::kEngine;
    return Guarded([&] { Finish(group_->barrier()); });
  }

 private:
  // c10d takes no const views; the engine only reads these.
  static Buffer Mutable(ConstBuffer data) {
    return {const_cast<void*>(data.data), data.count, data.dtype};
  }
  static TransportStatus CheckSummable(DType dtype) {
    if (dtype != DType::kByte) return {};
    return tl::unexpected(Refused("bytes can not be summed"));
  }

  // What bfloat16 needs more than one addition for is added in float32.
  TransportStatus SumByMessages(Buffer data) {
    if (data.dtype != DType::kBFloat16 || world_size() == 2) return RunRounds(data);
    std::vector<float> wide(data.count);
    WidenBFloat16(data.data, wide.data(), data.count);
    TransportStatus status = RunRounds({wide.data(), data.count, DType::kFloat32});
    if (status) RoundToBFloat16(wide.data(), data.data, data.count);
    return status;
  }
  // Calls that differ between ranks have different tags and never meet: a time-out
  // then, but no mixture of two sums.
  TransportStatus RunRounds(Buffer data) {
    MessageLimits limits;
    limits.timeout = timeout_;
    const uint64_t call =
        ++sums_ * 0x9E3779B97F4A7C15U ^
        (data.count * 8 + static_cast<uint64_t>(data.dtype)) * 0xC2B2AE3D27D4EB4FU;
    limits.tag = static_cast<uint32_t>(call >> 34) | 1;  // fits an int, and is not 0
    return RunSchedule(AllReduceSchedule(algorithm_, rank(), world_size(), data.count),
                       data, link_, limits);
  }

  // The caller's memory as a tensor, where it lies.
  at::Tensor View(Buffer data) const {
    auto options = at::TensorOptions().dtype(TypeOf(data.dtype));
    if (const auto device = DeviceOf(data.data, gpu_))
      options = options.device(*device);
    return at::from_blob(data.data, {static_cast<int64_t>(data.count)}, options);
  }
  // The same where the engine wants it: on the GPU for NCCL.
  at::Tensor Values(Buffer data) const {
    at::Tensor view = View(data);
    if (!gpu_ || view.is_cuda()) return view;
    return view.to(c10::Device(c10::DeviceType::CUDA, DeviceIndex()));
  }
  // Operations that only move elements do not need to know their type, and Gloo knows
  // no bfloat16.
  at::Tensor Bytes(Buffer data) const {
    return Values({data.data, data.bytes(), DType::kByte});
  }
  // Gloo can not sum bfloat16, and sums are taken in float32 anyway.
  static at::Tensor ForSum(const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
  }
  static void CopyUnlessSame(const at::Tensor& from, at::Tensor& to) {
    if (!from.is_same(to)) to.copy_(from);
  }
  static bool IsStaged(const at::Tensor& tensor, const void* memory) {
    return tensor.data_ptr() != memory;
  }
  // Copies a staged result back to the caller.
  void Return(const at::Tensor& result, Buffer data) const {
    if (IsStaged(result, data.data)) {
      Buffer target = data;
      if (result.scalar_type() == at::kByte) {
        target = {data.data, data.bytes(), DType::kByte};
      }
      View(target).copy_(result);
    }
  }
  c10::DeviceIndex DeviceIndex() const {
    return static_cast<c10::DeviceIndex>(device_);
  }

  // Gloo's wait() is bounded by the group's own time-out and returns when the engine
  // has let go of the memory. NCCL's returns at once: the stream is watched instead.
  template <typename Work>
  void Finish(const Work& work) {
    if (!gpu_) {
      work->wait();
      return;
    }
    const auto until = Clock::now() + timeout_;
    while (!work->isCompleted()) {
      if (Clock::now() > until) throw std::runtime_error("timed out on the GPU");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    work->wait();
  }
  // Point-to-point work of Gloo has no limit unless one is given.
  template <typename Work>
  void FinishMessage(const Work& work) {
    if (gpu_) {
      Finish(work);
    } else if (!work->wait(timeout_)) {
      throw std::runtime_error("the message was aborted: connection lost");
    }
  }
  template <typename Body>
  TransportStatus Guarded(Body&& body) {
    try {
      body();
      return {};
    } catch (const std::exception& error) {
      return tl::unexpected(Translate(error));
    }
  }

  c10::intrusive_ptr<c10d::Store>
      store_;  // rank 0 serves it as long as the group lives
  c10::intrusive_ptr<PgBase> group_;
  C10dLink link_;
  AllReduceRules rules_;
  AllReduceAlgorithm algorithm_ = AllReduceAlgorithm::kEngine;  // of the last call
  uint64_t sums_ = 0;                                           // by messages, so far
  Milliseconds timeout_;
  bool gpu_;
  int device_;
};

c10::intrusive_ptr<c10d::Store> OpenStore(const GlooOptions& options) {
  const Milliseconds timeout = ToMilliseconds(options.timeout_seconds);
  c10::intrusive_ptr<c10d::Store> store;
  if (!options.store_path.empty()) {
    store =
        c10::make_intrusive<c10d::FileStore>(options.store_path, options.world_size);
  } else {
    c10d::TCPStoreOptions tcp;
    tcp.port = static_cast<uint16_t>(options.master_port);
    tcp.isServer = options.rank == 0 && !options.store_runs_elsewhere;
    tcp.numWorkers = static_cast<size_t>(options.world_size);
    tcp.waitWorkers = false;  // Meet() waits, and names who is missing
    // It counts whole seconds, and 0 would be over at once.
    tcp.timeout = std::chrono::ceil<std::chrono::seconds>(timeout);
    tcp.multiTenant = true;  // several groups of one process share the port
    store = c10::make_intrusive<c10d::TCPStore>(options.master_address, tcp);
  }
  store->setTimeout(timeout);
  return c10::make_intrusive<c10d::PrefixStore>("stepslack/" + options.group, store);
}

// Every rank signs in and waits for the others, so that a missing one is named; the
// engines would only say that something timed out.
std::optional<TransportFailure> Meet(c10d::Store& store, const GlooOptions& options) {
  const auto key = [](int rank) { return "here/" + std::to_string(rank); };
  store.set(key(options.rank), std::vector<uint8_t>{1});
  const auto until = Clock::now() + ToMilliseconds(options.timeout_seconds);
  for (int rank = 0; rank < options.world_size;) {
    if (store.check({key(rank)})) {
      ++rank;
      continue;
    }
    if (Clock::now() > until) {
      return TransportFailure{TransportFailure::Kind::kTimeout,
                              "timed out waiting for rank " + std::to_string(rank)};
    }
    std::this_thread::sleep_for(Milliseconds(5));
  }
  return std::nullopt;
}

c10::intrusive_ptr<PgBase> MakeGloo(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GlooOptions& options) {
  auto engine =
      c10d::ProcessGroupGloo::Options::create(ToMilliseconds(options.timeout_seconds));
  engine->threads = 1;  // our communication thread keeps the order anyway
  engine->devices.push_back(
      c10d::ProcessGroupGloo::createDeviceForInterface(options.interface));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank,
                                                     options.world_size, engine);
}

#ifdef USE_C10D_NCCL
c10::intrusive_ptr<PgBase> MakeNccl(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GlooOptions& options) {
  auto engine = c10d::ProcessGroupNCCL::Options::create();
  // Longer than ours: its watchdog ends the process instead of reporting.
  engine->timeout = 2 * ToMilliseconds(options.timeout_seconds);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, options.rank,
                                                     options.world_size, engine);
}
#endif

}  // namespace

bool HasNccl() {
#ifdef USE_C10D_NCCL
  return true;
#else
  return false;
#endif
}

tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectGloo(
    const GlooOptions& options) {
  if (options.nccl && !HasNccl()) {
    return tl::unexpected(Refused("this LibTorch was built without NCCL"));
  }
  try {
    auto store = OpenStore(options);
    // Ranks that took different ones would wait for each other.
    const std::string key = "all_reduce";
    if (options.rank == 0) {
      store->set(key, {options.all_reduce.begin(), options.all_reduce.end()});
    }
    if (const auto failure = Meet(*store, options)) return tl::unexpected(*failure);
    const std::vector<uint8_t> text = store->get(key);
    const auto rules = AllReduceRules::Parse(std::string(text.begin(), text.end()));
    if (!rules) return tl::unexpected(Refused("no such all-reduce algorithm"));
    c10::intrusive_ptr<PgBase> group;
#ifdef USE_C10D_NCCL
    if (options.nccl) group = MakeNccl(store, options);
#endif
    if (!options.nccl) group = MakeGloo(store, options);
    return std::make_unique<C10dTransport>(std::move(store), std::move(group), options,
                                           *rules);
  } catch (const std::exception& error) {
    return tl::unexpected(Translate(error));
  }
}

}  // namespace stepslack::comm
