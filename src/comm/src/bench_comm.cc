#include "stepslack/comm/bench_comm.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "stepslack/base/context.h"
#include "stepslack/comm/mpi_transport.h"

namespace stepslack::comm {
namespace {

constexpr const char* kYardstick = "memcpy";

// Ranks that share a core would measure the scheduler. Our launcher has pinned them
// already; mpirun is told not to, since its numbering knows nothing of ours.
void PinTo(int local_rank) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int cores = CPU_COUNT(&allowed);
  if (cores < 2) return;
  int wanted = local_rank % cores;
  for (size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || wanted-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// Calls per sample and samples: the same on every rank, so fixed by the size.
struct Effort {
  int calls = 1;
  int rounds = 12;
};
Effort EffortFor(int64_t bytes) {
  if (bytes <= (64 << 10)) return {50, 30};
  if (bytes <= (1 << 20)) return {10, 30};
  return {1, bytes <= (16 << 20) ? 20 : 12};
}

struct Lane {
  std::string backend;
  std::unique_ptr<Transport> transport;  // null: the yardstick
  std::span<std::byte> data;
  std::vector<std::byte> own;  // behind `data`, unless the transport gave memory
  std::vector<std::byte> other;
  std::string algorithm;  // of the last sample

  // The algorithms of Gloo differ in all_reduce alone.
  bool Serves(const std::string& collective) const {
    return collective == "all_reduce" || backend.find(':') == std::string::npos ||
           backend.ends_with(":engine");
  }
};

TransportStatus Call(Lane& lane, const std::string& collective, size_t bytes) {
  if (!lane.transport) {
    std::memcpy(lane.other.data(), lane.data.data(), bytes);
    return {};
  }
  Transport& transport = *lane.transport;
  const size_t count = bytes / 4;
  const size_t block = count / static_cast<size_t>(transport.world_size());
  void* data = lane.data.data();
  void* other = lane.other.data();
  const DType type = DType::kFloat32;
  if (collective == "all_reduce") return transport.AllReduceSum({data, count, type});
  if (collective == "broadcast") return transport.Broadcast({data, count, type}, 0);
  if (collective == "all_gather") {
    return transport.AllGather({data, block, type}, {other, count, type});
  }
  if (collective == "reduce_scatter") {
    return transport.ReduceScatterSum({data, count, type}, {other, block, type});
  }
  return transport.AllToAll({data, count, type}, {other, count, type});
}

class Bench {
 public:
  Bench(const RankEnvironment& environment, const BenchCommOptions& options)
      : environment_(environment), options_(options) {}

  base::Result<CostTable> Run() {
    PinTo(environment_.local_rank);
    SS_RETURN_IF_ERROR(Open());
    CostTable table;
    table.hardware = HardwareTag();
    table.measured_utc = base::UtcNow();
    table.ranks = environment_.world_size;
    for (const std::string& collective : options_.collectives) {
      std::vector<CostCurve> curves;
      for (const int64_t bytes : options_.bytes) {
        SS_RETURN_IF_ERROR(Measure(collective, bytes, curves));
      }
      for (CostCurve& curve : curves) {
        curve.fit = FitCost(curve.points);
        table.curves.push_back(std::move(curve));
      }
    }
    return table;
  }

 private:
  base::Result<std::unique_ptr<Transport>> OpenOne(const std::string& backend) {
    MpiOptions mpi;
    mpi.timeout_seconds = options_.timeout_seconds;
    mpi.blocking = true;
    if (backend == "openmpi") return ConnectMpi(mpi);
    ConnectOptions options;
    const size_t colon = backend.find(':');
    options.backend = backend.substr(0, colon);
    if (colon != std::string::npos) options.all_reduce = backend.substr(colon + 1);
    options.timeout_seconds = options_.timeout_seconds;
    // Groups of one store must not have one name.
    RankEnvironment mine = environment_;
    if (colon != std::string::npos) {
      mine.job += "." + options.all_reduce;
      if (!mine.store_path.empty()) mine.store_path += "." + options.all_reduce;
    }
    SS_TRY(Connection connection, ConnectTransport(mine, options));
    boards_.push_back(std::move(connection.board));
    return std::move(connection.transport);
  }

  base::Status Open() {
    const int64_t longest =
        *std::max_element(options_.bytes.begin(), options_.bytes.end());
    const auto size = static_cast<size_t>(longest);
    std::vector<std::string> names;
    for (const std::string& backend : options_.backends) {
      if (backend != "gloo") {
        names.push_back(backend);
        continue;
      }
      for (const char* algorithm :
           {"engine", "ring", "halving_doubling", "doubling", "tree"}) {
        names.push_back(backend + ":" + algorithm);
      }
    }
    names.emplace_back(kYardstick);
    for (const std::string& name : names) {
      Lane lane;
      lane.backend = name;
      if (name != kYardstick) {
        SS_TRY(lane.transport, OpenOne(name));
        lane.data = lane.transport->AllocateShared(size);
      }
      if (lane.data.empty()) {
        lane.own.resize(size);
        lane.data = lane.own;
      }
      lane.other.resize(size);
      lanes_.push_back(std::move(lane));
    }
    return {};
  }

  base::Error Broken(const Lane& lane, const TransportFailure& failure) const {
    return {"COMM-0059", base::ExitCode::kEnvironment,
            lane.backend + " failed while it was measured: " + failure.what,
            "rank " + std::to_string(environment_.rank),
            "measure without it: --backend names the others"};
  }

  // One sample; negative: never.
  base::Result<double> Sample(Lane& lane, const std::string& collective, size_t bytes,
                              int calls) {
    Transport& meeting = lane.transport ? *lane.transport : *lanes_.front().transport;
    if (const auto met = meeting.Barrier(); !met) {
      return tl::unexpected(Broken(lane, met.error()));
    }
    const int64_t start = base::NowNs();
    for (int i = 0; i < calls; ++i) {
      if (const auto status = Call(lane, collective, bytes); !status) {
        return tl::unexpected(Broken(lane, status.error()));
      }
    }
    const int64_t end = base::NowNs();
    if (lane.transport) lane.algorithm = lane.transport->algorithm();
    return static_cast<double>(end - start) * 1e-3 / calls;
  }

  base::Status Measure(const std::string& collective, int64_t bytes,
                       std::vector<CostCurve>& curves) {
    const Effort effort = EffortFor(bytes);
    const auto size = static_cast<size_t>(bytes);
    std::vector<std::vector<double>> samples(lanes_.size());
    for (int round = -1; round < effort.rounds; ++round) {  // one to warm up
      for (size_t i = 0; i < lanes_.size(); ++i) {
        if (!lanes_[i].Serves(collective)) continue;
        SS_TRY(const double us, Sample(lanes_[i], collective, size, effort.calls));
        if (round >= 0) samples[i].push_back(us);
      }
    }
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& lane = lanes_[i];
      if (!lane.Serves(collective)) continue;
      SS_RETURN_IF_ERROR(Slowest(samples[i]));
      std::vector<double>& sorted = samples[i];
      std::sort(sorted.begin(), sorted.end());
      CurveOf(lane.backend.substr(0, lane.backend.find(':')), lane.algorithm,
              collective, curves)
          .points.push_back({bytes, sorted.front(), sorted[sorted.size() / 10],
                             sorted[sorted.size() / 2]});
    }
    return {};
  }

  // A transport that changes its algorithm with the size has a line for each.
  static CostCurve& CurveOf(const std::string& backend, const std::string& algorithm,
                            const std::string& collective,
                            std::vector<CostCurve>& curves) {
    for (CostCurve& curve : curves) {
      if (curve.backend == backend && curve.algorithm == algorithm) return curve;
    }
    curves.push_back({backend, algorithm, collective, {}, {}});
    return curves.back();
  }

  // A collective has ended when it has on every rank.
  base::Status Slowest(std::vector<double>& samples) {
    Lane& lane = lanes_.front();
    const auto ranks = static_cast<size_t>(environment_.world_size);
    std::vector<double> all(samples.size() * ranks);
    const auto gathered =
        lane.transport->AllGather({samples.data(), samples.size(), DType::kFloat64},
                                  {all.data(), all.size(), DType::kFloat64});
    if (!gathered) return tl::unexpected(Broken(lane, gathered.error()));
    for (size_t i = 0; i < all.size(); ++i) {
      double& slowest = samples[i % samples.size()];
      slowest = std::max(slowest, all[i]);
    }
    return {};
  }

  const RankEnvironment& environment_;
  const BenchCommOptions& options_;
  std::vector<std::unique_ptr<ProgressBoard>> boards_;  // outlive the transports
  std::vector<Lane> lanes_;
};

}  // namespace

base::Result<CostTable> BenchComm(const RankEnvironment& environment,
                                  const BenchCommOptions& options) {
  for (const std::string& collective : options.collectives) {
    const std::vector<std::string> known = {"all_reduce", "reduce_scatter",
                                            "all_gather", "broadcast", "all_to_all"};
    if (std::find(known.begin(), known.end(), collective) != known.end()) continue;
    return base::Fail("COMM-0058", base::ExitCode::kUsage,
                      "there is no collective of this name", collective,
                      "choose all_reduce, reduce_scatter, all_gather, broadcast or "
                      "all_to_all");
  }
  SS_CHECK(!options.backends.empty() && !options.bytes.empty());
  return Bench(environment, options).Run();
}

}  // namespace stepslack::comm
