// Chooses a transport for the ranks of a job and joins them.
#include "stepslack/comm/connect.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rendezvous.h"
#include "stepslack/base/file.h"
#include "stepslack/comm/cost_table.h"
#include "stepslack/comm/hier_transport.h"
#include "stepslack/comm/mpi_transport.h"
#include "stepslack/comm/shm_transport.h"

namespace stepslack::comm {
namespace {

using base::ExitCode;
using Opened = base::Result<std::unique_ptr<Transport>>;

constexpr size_t kHostNameBytes = 192;

// Opens the transport of a part of the ranks, later in the life of the job.
struct GroupOpener {
  RankEnvironment environment;
  ConnectOptions options;
  std::string transport;     // of the world, without "+link"
  GlooOptions engine;        // how the world was joined; for gloo and nccl
  std::vector<int> host_of;  // of each world rank; empty: all on one host

  base::Result<GroupParts> operator()(const GroupRequest& request) const;

 private:
  base::Result<std::unique_ptr<Transport>> Open(const GroupRequest& request) const;
  bool OneHost(const std::vector<int>& members) const;
};

class Connector {
 public:
  Connector(const RankEnvironment& environment, const ConnectOptions& options)
      : environment_(environment), options_(options) {}

  base::Result<Connection> Run();

 private:
  base::Result<std::string> Choose();
  std::optional<CostTable> ReadTable() const;
  std::string FromTable(std::vector<std::string> candidates, std::string usual);
  Opened Open(const std::string& backend);
  Opened OpenShm(int rank, int world_size, const std::string& suffix = "");
  Opened OpenEngine(bool nccl);
  Opened OpenMpi();
  Opened OpenHier();
  base::Status PrepareStore();
  base::Result<std::vector<std::vector<int>>> GatherHosts(Transport& transport);
  base::Error NotFound(const TransportFailure& failure) const;
  base::Error Unknown(const std::string& what) const;
  GlooOptions Engine() const;

  const RankEnvironment& environment_;
  const ConnectOptions& options_;
  std::string interface_;
  std::string master_;  // numeric
  std::unique_ptr<ProgressBoard> board_;
  std::vector<int> host_of_;
  ConnectionFacts facts_;
};

// Prefix of files that the ranks of one host share.
std::string LocalPath(const RankEnvironment& environment) {
  return environment.local_path.empty() ? environment.store_path
                                        : environment.local_path;
}

std::string Where(const RankEnvironment& environment) {
  return "rank " + std::to_string(environment.rank);
}

base::Error Connector::NotFound(const TransportFailure& failure) const {
  const std::string missing = board_ ? board_->Missing() : std::string();
  return {"COMM-0004", ExitCode::kEnvironment,
          "the ranks did not find each other: " +
              (missing.empty() ? std::string() : missing + "; ") + failure.what,
          Where(environment_),
          "see the logs of the other ranks; the store file must be new for every "
          "attempt"};
}

base::Error Connector::Unknown(const std::string& what) const {
  return {
      "COMM-0045", ExitCode::kUsage, what, "backend " + options_.backend,
      "choose auto, shm (one host), gloo, mpi, hier, or nccl where LibTorch has it"};
}

std::optional<CostTable> Connector::ReadTable() const {
  if (options_.cost_table.empty() || !base::PathExists(options_.cost_table)) {
    return std::nullopt;
  }
  const auto text = base::ReadFile(options_.cost_table);
  if (!text) return std::nullopt;
  const auto json = base::ParseJson(*text, options_.cost_table);
  if (!json) return std::nullopt;
  auto table = CostTableFromJson(*json, options_.cost_table);
  if (!table) return std::nullopt;
  return std::move(*table);
}

// The table may choose among transports that can serve these ranks.
std::string Connector::FromTable(std::vector<std::string> candidates,
                                 std::string usual) {
  const std::optional<CostTable> table = ReadTable();
  if (!table) return usual;
  const auto cheapest = CheapestBackend(*table, environment_.world_size,
                                        options_.message_bytes, candidates);
  if (!cheapest) return usual;
  facts_.reason = "least in the table of costs";
  return *cheapest;
}

base::Result<std::string> Connector::Choose() {
  const std::string& asked = options_.backend;
  facts_.reason = "asked for";
  if (asked != "auto") {
    for (const char* known : {"self", "shm", "gloo", "nccl", "mpi", "hier"}) {
      if (asked == known) return asked;
    }
    return tl::unexpected(Unknown("there is no such backend"));
  }
  facts_.reason = "one rank";
  if (environment_.world_size == 1) return std::string("self");
  if (environment_.OneHost()) {
    facts_.reason = "one host";
    if (environment_.world_size > kMaxShmRanks) {
      facts_.reason = "more ranks on one host than share memory";
      return std::string("gloo");
    }
    return FromTable({"shm", "gloo"}, "shm");
  }
  facts_.reason = "several hosts";
  return std::string("hier");
}

// Everything about the way to the store that can be checked beforehand.
base::Status Connector::PrepareStore() {
  interface_ = environment_.interface;
  if (environment_.master_address.empty()) {
    if (environment_.store_path.empty()) {
      return base::Fail("COMM-0046", ExitCode::kUsage,
                        "there is no place where the ranks can meet",
                        Where(environment_),
                        "set MASTER_ADDR and MASTER_PORT, or STEPSLACK_STORE to a file "
                        "or to tcp://host:port, or choose the backend mpi");
    }
    facts_.store = "file";
    return CheckInterface(interface_);
  }
  const double limit = options_.timeout_seconds;
  SS_TRY(master_, ResolveHost(environment_.master_address, limit));
  facts_.store = "tcp " + master_ + ":" + std::to_string(environment_.master_port);
  if (interface_.empty()) interface_ = InterfaceTowards(master_);
  SS_RETURN_IF_ERROR(CheckInterface(interface_));
  if (environment_.rank == 0 && !environment_.store_runs_elsewhere) {
    return CheckPortFree(environment_.master_port);
  }
  return WaitForMaster(master_, environment_.master_port, limit);
}

GlooOptions Connector::Engine() const {
  GlooOptions engine;
  engine.rank = environment_.rank;
  engine.world_size = environment_.world_size;
  engine.store_path =
      environment_.master_address.empty() ? environment_.store_path : "";
  engine.interface = interface_;
  engine.timeout_seconds = options_.timeout_seconds;
  engine.master_address = master_;
  engine.master_port = environment_.master_port;
  engine.store_runs_elsewhere = environment_.store_runs_elsewhere;
  engine.group = "world." + environment_.job.substr(environment_.job.rfind('.') + 1);
  engine.device = environment_.local_rank;
  engine.all_reduce = options_.all_reduce;
  if (options_.all_reduce == "auto") {
    const std::optional<CostTable> table = ReadTable();
    engine.all_reduce =
        table ? AllReduceRulesFrom(*table, environment_.world_size, "gloo") : "";
  }
  return engine;
}

Opened Connector::OpenEngine(bool nccl) {
  if (nccl && !HasNccl()) {
    return tl::unexpected(Unknown("this LibTorch was built without NCCL"));
  }
  SS_RETURN_IF_ERROR(PrepareStore());
  GlooOptions engine = Engine();
  engine.nccl = nccl;
  auto transport = ConnectGloo(engine);
  if (!transport) return tl::unexpected(NotFound(transport.error()));
  return std::move(*transport);
}

Opened Connector::OpenMpi() {
  SS_TRY(auto transport, ConnectMpi({.timeout_seconds = options_.timeout_seconds}));
  if (transport->rank() != environment_.rank ||
      transport->world_size() != environment_.world_size) {
    return base::Fail("COMM-0049", ExitCode::kUsage,
                      "MPI says rank " + std::to_string(transport->rank()) + " of " +
                          std::to_string(transport->world_size()) +
                          ", the environment says " +
                          std::to_string(environment_.rank) + " of " +
                          std::to_string(environment_.world_size),
                      "backend mpi",
                      "unset the rank variables of other launchers (RANK, "
                      "STEPSLACK_RANK)");
  }
  facts_.store = "none";
  return transport;
}

Opened Connector::OpenShm(int rank, int world_size, const std::string& suffix) {
  ShmOptions shm;
  shm.rank = rank;
  shm.world_size = world_size;
  shm.store_path = LocalPath(environment_) + suffix;
  shm.job_id = environment_.job.empty() ? shm.store_path : environment_.job;
  shm.timeout_seconds = options_.timeout_seconds;
  auto transport = ConnectShm(shm);
  if (!transport) return tl::unexpected(NotFound(transport.error()));
  return std::move(*transport);
}

// What tells hosts apart: containers with a network of their own count as hosts, since
// their processes do not see each other.
std::string HostName() {
  const char* given = std::getenv("STEPSLACK_HOST");
  if (given != nullptr && *given != '\0') {
    std::string text = given;
    text.resize(kHostNameBytes);
    return text;
  }
  std::array<char, 64> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string text = name.data();
  std::array<char, 64> space{};
  for (const char* link : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    const ssize_t length = ::readlink(link, space.data(), space.size());
    if (length > 0)
      text += " " + std::string(space.data(), static_cast<size_t>(length));
  }
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(boot, id)) text += " " + id.substr(0, 13);
  text.resize(kHostNameBytes);
  return text;
}

// Ranks of each host, hosts in the order of their first rank.
base::Result<std::vector<std::vector<int>>> Connector::GatherHosts(
    Transport& transport) {
  const auto ranks = static_cast<size_t>(environment_.world_size);
  const std::string mine = HostName();
  std::string all(kHostNameBytes * ranks, '\0');
  const auto status = transport.AllGather({mine.data(), kHostNameBytes, DType::kByte},
                                          {all.data(), all.size(), DType::kByte});
  if (!status) return tl::unexpected(NotFound(status.error()));
  std::map<std::string, size_t> host_of;
  std::vector<std::vector<int>> hosts;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const std::string name = all.substr(rank * kHostNameBytes, kHostNameBytes);
    const auto [place, is_new] = host_of.emplace(name, hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[place->second].push_back(static_cast<int>(rank));
  }
  return hosts;
}

std::vector<int> HostOf(size_t ranks, const std::vector<std::vector<int>>& hosts) {
  std::vector<int> host_of(ranks);
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (const int rank : hosts[host]) {
      host_of[static_cast<size_t>(rank)] = static_cast<int>(host);
    }
  }
  return host_of;
}

std::string TopologyOf(int ranks, const std::vector<std::vector<int>>& hosts) {
  std::string text = std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                     " on " + std::to_string(hosts.size()) +
                     (hosts.size() == 1 ? " host" : " hosts");
  if (hosts.size() < 2) return text;
  std::string counts;
  for (const std::vector<int>& host : hosts) {
    counts += (counts.empty() ? "" : "+") + std::to_string(host.size());
  }
  return text + " (" + counts + ")";
}

// Hosts are learnt over a first group of all ranks, which is then given up: the store
// goes on living in the leaders' group.
Opened Connector::OpenHier() {
  SS_TRY(auto world, OpenEngine(false));
  SS_TRY(const auto hosts, GatherHosts(*world));
  facts_.topology = TopologyOf(environment_.world_size, hosts);
  host_of_ = HostOf(static_cast<size_t>(environment_.world_size), hosts);
  if (hosts.size() == static_cast<size_t>(environment_.world_size)) return world;
  size_t host = 0;
  int local_rank = -1;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const auto place = std::find(hosts[h].begin(), hosts[h].end(), environment_.rank);
    if (place == hosts[h].end()) continue;
    host = h;
    local_rank = static_cast<int>(place - hosts[h].begin());
  }
  // What counts as two hosts may still see one temporary folder.
  SS_TRY(auto local, OpenShm(local_rank, static_cast<int>(hosts[host].size()),
                             ".host" + std::to_string(host)));
  if (hosts.size() == 1) return local;
  std::unique_ptr<Transport> leaders;
  if (local_rank == 0) {
    GlooOptions engine = Engine();
    engine.rank = static_cast<int>(host);
    engine.world_size = static_cast<int>(hosts.size());
    engine.group += ".leaders";
    // A table is of all ranks, not of the leaders.
    if (options_.all_reduce == "auto") engine.all_reduce.clear();
    // A file store is removed with the last member of its group.
    if (!engine.store_path.empty()) engine.store_path += ".leaders";
    auto connected = ConnectGloo(engine);
    if (!connected) return tl::unexpected(NotFound(connected.error()));
    leaders = std::move(*connected);
  }
  // Rank 0 serves the store: nobody may still need it when the first group ends.
  if (const auto met = world->Barrier(); !met) {
    return tl::unexpected(NotFound(met.error()));
  }
  HierLayout layout;
  layout.rank = environment_.rank;
  layout.ranks_by_host = hosts;
  return MakeHier(std::move(layout), std::move(local), std::move(leaders));
}

Opened Connector::Open(const std::string& backend) {
  if (backend == "self") {
    if (environment_.world_size == 1) return MakeSelfTransport();
    return tl::unexpected(Unknown("it serves one rank, and there are " +
                                  std::to_string(environment_.world_size)));
  }
  if (backend == "mpi") return OpenMpi();
  if (backend == "hier") return OpenHier();
  if (backend == "shm") {
    if (!environment_.OneHost()) {
      return tl::unexpected(Unknown("the ranks are not known to be on one host"));
    }
    return OpenShm(environment_.rank, environment_.world_size);
  }
  return OpenEngine(backend == "nccl");
}

base::Result<Connection> Connector::Run() {
  facts_.launcher = environment_.launcher;
  SS_TRY(const std::string backend, Choose());
  const bool several = environment_.world_size > 1;
  const std::string& local = environment_.local_path.empty() ? environment_.store_path
                                                             : environment_.local_path;
  if (several && environment_.OneHost() && !local.empty()) {
    SS_TRY(board_, ProgressBoard::Open(local + ".board", environment_.rank,
                                       environment_.world_size));
  }
  SS_TRY(auto transport, Open(backend));
  if (several && environment_.launcher != "stepslack" && board_) {
    // Our own launcher removes it; others do not know it. Memory stays mapped.
    if (const auto met = transport->Barrier(); !met) {
      return tl::unexpected(NotFound(met.error()));
    }
    if (environment_.rank == 0) ::unlink((local + ".board").c_str());
  }
  if (facts_.topology.empty() && environment_.OneHost()) {
    facts_.topology = TopologyOf(environment_.world_size, {{}});
  } else if (facts_.topology.empty()) {
    SS_TRY(const auto hosts, GatherHosts(*transport));
    facts_.topology = TopologyOf(environment_.world_size, hosts);
    host_of_ = HostOf(static_cast<size_t>(environment_.world_size), hosts);
  }
  GroupOpener opener;
  opener.environment = environment_;
  opener.options = options_;
  opener.transport = transport->name();
  opener.engine = Engine();
  opener.host_of = std::move(host_of_);
  if (options_.link.enabled() && several) {
    LinkModelOptions link = options_.link;
    link.timeout_seconds = options_.timeout_seconds;
    transport = WithLinkModel(std::move(transport), link);
  }
  facts_.transport = transport->name();
  facts_.interface = interface_;
  return Connection{std::move(transport), std::move(board_), std::move(facts_),
                    std::move(opener)};
}

bool GroupOpener::OneHost(const std::vector<int>& members) const {
  if (host_of.empty()) return true;
  const auto host = [&](int rank) { return host_of[static_cast<size_t>(rank)]; };
  return std::all_of(members.begin(), members.end(),
                     [&](int rank) { return host(rank) == host(members.front()); });
}

base::Result<std::unique_ptr<Transport>> GroupOpener::Open(
    const GroupRequest& request) const {
  const int size = static_cast<int>(request.members.size());
  if (size == 1) return MakeSelfTransport();
  if (transport == "mpi") {
    return ConnectMpi(
        {.timeout_seconds = options.timeout_seconds, .group = request.members});
  }
  tl::expected<std::unique_ptr<Transport>, TransportFailure> opened;
  if ((transport == "shm" || transport == "hier") && OneHost(request.members)) {
    ShmOptions shm;
    shm.rank = request.rank;
    shm.world_size = size;
    shm.store_path = LocalPath(environment) + request.suffix;
    shm.job_id = environment.job + request.suffix;
    shm.timeout_seconds = options.timeout_seconds;
    opened = ConnectShm(shm);
  } else {
    GlooOptions part = engine;
    part.rank = request.rank;
    part.world_size = size;
    part.group += request.suffix;
    if (options.all_reduce == "auto" && size != environment.world_size) {
      part.all_reduce.clear();
    }
    // A file store is removed with its last member, so that every group has its own.
    if (!part.store_path.empty()) part.store_path += request.suffix;
    part.nccl = transport == "nccl";
    opened = ConnectGloo(part);
  }
  if (opened) return std::move(*opened);
  return base::Fail(
      "COMM-0057", ExitCode::kEnvironment,
      "the group " + request.name + " was not joined: " + opened.error().what,
      Where(environment), "see the logs of the other ranks");
}

base::Result<GroupParts> GroupOpener::operator()(const GroupRequest& request) const {
  GroupParts parts;
  const auto size = static_cast<int>(request.members.size());
  if (size > 1 && OneHost(request.members)) {
    const std::string path = LocalPath(environment) + request.suffix + ".board";
    SS_TRY(parts.board, ProgressBoard::Open(path, request.rank, size));
  }
  SS_TRY(parts.transport, Open(request));
  if (parts.board) {
    // No launcher knows these files; memory stays mapped.
    const std::string path = LocalPath(environment) + request.suffix + ".board";
    const auto met = parts.transport->Barrier();
    if (met && request.rank == 0) ::unlink(path.c_str());
  }
  if (options.link.enabled() && size > 1) {
    LinkModelOptions link = options.link;
    link.timeout_seconds = options.timeout_seconds;
    parts.transport = WithLinkModel(std::move(parts.transport), link);
  }
  return parts;
}

}  // namespace

base::Json ToJson(const ConnectionFacts& facts) {
  base::Json json;
  json.Set("transport", facts.transport);
  json.Set("topology", facts.topology);
  json.Set("reason", facts.reason);
  json.Set("store", facts.store);
  json.Set("interface", facts.interface);
  json.Set("launcher", facts.launcher);
  return json;
}

base::Result<Connection> ConnectTransport(const RankEnvironment& environment,
                                          const ConnectOptions& options) {
  return Connector(environment, options).Run();
}

base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    const ConnectOptions& options,
                                                    ConnectionFacts* facts) {
  SS_TRY(Connection connection, ConnectTransport(environment, options));
  if (facts != nullptr) *facts = connection.facts;
  return std::make_unique<Communicator>(
      std::move(connection.transport), options.timeout_seconds,
      std::move(connection.board), std::move(connection.make_group));
}

base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    double timeout_seconds) {
  ConnectOptions options;
  options.timeout_seconds = timeout_seconds;
  return Connect(environment, options);
}

}  // namespace stepslack::comm
