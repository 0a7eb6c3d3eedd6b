#include "pipeline_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace stepslack::analyze {
namespace {

using trace::OpType;

// Clocks of neighbouring operations on one worker agree to this.
constexpr int64_t kSlackNs = 50'000;

enum Port { kForwardSend, kForwardRecv, kBackwardSend, kBackwardRecv, kPorts };
constexpr std::array<OpType, kPorts> kPortTypes = {
    OpType::kForwardSend, OpType::kForwardRecv, OpType::kBackwardSend,
    OpType::kBackwardRecv};

bool IsSend(Port port) { return port == kForwardSend || port == kBackwardSend; }

OpType ComputeOf(Port port) {
  return port == kForwardSend || port == kForwardRecv ? OpType::kForwardCompute
                                                      : OpType::kBackwardCompute;
}

// Where the other end of a port lies: one chunk of the model further or back.
int PeerStep(Port port) {
  return port == kForwardSend || port == kBackwardRecv ? 1 : -1;
}

bool IsCompute(OpType type) {
  return type == OpType::kForwardCompute || type == OpType::kBackwardCompute;
}

class PipelineBuilder {
 public:
  PipelineBuilder(std::span<const PipelineOp> ops, const PipelineSize& size)
      : ops_(ops), size_(size), ports_(static_cast<size_t>(size.pp_size)) {}

  base::Result<PipelineLinks> Run();

 private:
  using Indices = std::vector<OpIndex>;

  Indices OfType(std::span<const OpIndex> stage, OpType type) const;
  std::optional<OpIndex> Find(int32_t stage, OpType type, int64_t seq) const;
  void SortByStart(Indices& indices) const;
  void Link(OpIndex before, OpIndex after) { edges_.push_back({before, after}); }
  void Chain(std::span<const OpIndex> ops);

  base::Status LinkStage(std::span<const OpIndex> stage);
  base::Status LinkPort(std::span<const OpIndex> stage, Port port);
  base::Status MatchPort(const Indices& launched, int32_t stage, size_t computes,
                         Port port);
  void LinkMessage(OpIndex message, OpIndex compute, Port port);
  bool ReachesOutside(const PipelineOp& compute, Port port) const;
  void LinkFirstBackward(const Indices& computes, int32_t stage);
  void LinkGathers(std::span<const OpIndex> stage, const Indices& computes);
  void LinkScatters(std::span<const OpIndex> stage, const Indices& computes);
  void LinkEnd(std::span<const OpIndex> stage, const Indices& computes);
  base::Status PairPorts();
  PipelineLinks SpreadOverRanks() const;

  std::span<const PipelineOp> ops_;
  PipelineSize size_;
  bool overlapped_ = false;  // gradients are reduced while others are computed
  std::vector<OpEdge> edges_;
  std::vector<std::pair<OpIndex, OpIndex>> pairs_;
  std::vector<std::array<Indices, kPorts>> ports_;  // launched, with a partner
};

base::Result<PipelineLinks> PipelineBuilder::Run() {
  overlapped_ = std::any_of(ops_.begin(), ops_.end(), [](const PipelineOp& op) {
    return op.type == OpType::kSeparateGradsAllReduce;
  });
  Indices stage;
  for (OpIndex i = 0; i < ops_.size(); ++i) {
    stage.push_back(i);
    if (i + 1 == ops_.size() || ops_[i + 1].stage != ops_[i].stage) {
      SS_RETURN_IF_ERROR(LinkStage(stage));
      stage.clear();
    }
  }
  SS_RETURN_IF_ERROR(PairPorts());
  return SpreadOverRanks();
}

PipelineBuilder::Indices PipelineBuilder::OfType(std::span<const OpIndex> stage,
                                                 OpType type) const {
  Indices found;
  std::copy_if(stage.begin(), stage.end(), std::back_inserter(found),
               [&](OpIndex i) { return ops_[i].type == type; });
  return found;
}

std::optional<OpIndex> PipelineBuilder::Find(int32_t stage, OpType type,
                                             int64_t seq) const {
  const auto key = [](const PipelineOp& op) {
    return std::make_tuple(op.stage, op.type, int64_t{op.seq});
  };
  const auto wanted = std::make_tuple(stage, type, seq);
  const auto at = std::lower_bound(
      ops_.begin(), ops_.end(), wanted,
      [&](const PipelineOp& op, const auto& value) { return key(op) < value; });
  if (at == ops_.end() || key(*at) != wanted) return std::nullopt;
  return static_cast<OpIndex>(at - ops_.begin());
}

void PipelineBuilder::SortByStart(Indices& indices) const {
  std::sort(indices.begin(), indices.end(), [this](OpIndex a, OpIndex b) {
    return std::tie(ops_[a].start_ns, ops_[a].seq, a) <
           std::tie(ops_[b].start_ns, ops_[b].seq, b);
  });
}

void PipelineBuilder::Chain(std::span<const OpIndex> ops) {
  for (size_t i = 1; i < ops.size(); ++i) Link(ops[i - 1], ops[i]);
}

base::Status PipelineBuilder::LinkStage(std::span<const OpIndex> stage) {
  Indices computes;
  Indices data_parallel;
  for (const OpIndex i : stage) {
    if (IsCompute(ops_[i].type)) computes.push_back(i);
    if (ops_[i].type == OpType::kParamsAllGather ||
        ops_[i].type == OpType::kGradsReduceScatter) {
      data_parallel.push_back(i);
    }
  }
  SortByStart(computes);
  SortByStart(data_parallel);
  Chain(computes);
  Chain(data_parallel);
  for (int port = 0; port < kPorts; ++port) {
    SS_RETURN_IF_ERROR(LinkPort(stage, static_cast<Port>(port)));
  }
  LinkFirstBackward(computes, ops_[stage.front()].stage);
  LinkGathers(stage, computes);
  if (overlapped_) LinkScatters(stage, computes);
  LinkEnd(stage, computes);
  return {};
}

base::Status PipelineBuilder::LinkPort(std::span<const OpIndex> stage, Port port) {
  Indices messages = OfType(stage, kPortTypes[port]);
  SortByStart(messages);
  Chain(messages);
  const Indices computes = OfType(stage, ComputeOf(port));
  if (computes.empty()) return {};
  int64_t last_start = ops_[computes[0]].start_ns;
  int64_t first_end = ops_[computes[0]].end_ns;
  for (const OpIndex c : computes) {
    last_start = std::max(last_start, ops_[c].start_ns);
    first_end = std::min(first_end, ops_[c].end_ns);
  }
  Indices launched;
  for (const OpIndex m : messages) {
    const bool used = IsSend(port) ? ops_[m].end_ns >= first_end - kSlackNs
                                   : ops_[m].start_ns <= last_start + kSlackNs;
    if (used) launched.push_back(m);
  }
  return MatchPort(launched, ops_[stage.front()].stage, computes.size(), port);
}

base::Status PipelineBuilder::MatchPort(const Indices& launched, int32_t stage,
                                        size_t computes, Port port) {
  const bool outer = stage == 0 || stage == size_.pp_size - 1;
  // At an end of the model the first receive or the last send may not be recorded, or
  // none at all.
  const bool one_less = outer && launched.size() + 1 == computes;
  const bool none = outer && launched.empty();
  bool matched = launched.size() == computes || one_less || none;
  const int64_t offset = one_less && !IsSend(port) ? 1 : 0;
  for (size_t k = 0; matched && k < launched.size(); ++k) {
    const int64_t seq = static_cast<int64_t>(k) + offset;
    const std::optional<OpIndex> compute = Find(stage, ComputeOf(port), seq);
    matched = compute.has_value();
    if (matched) LinkMessage(launched[k], *compute, port);
  }
  if (matched) return {};
  return base::Fail(
      "ANL-0142", base::ExitCode::kInput,
      fmt::format("{} of {} do not match {} computations", launched.size(),
                  trace::ToString(kPortTypes[port]), computes),
      fmt::format("stage {}", stage),
      "record every operation of a step, numbered from 0 by start");
}

void PipelineBuilder::LinkMessage(OpIndex message, OpIndex compute, Port port) {
  const PipelineOp& op = ops_[compute];
  if (IsSend(port)) {
    Link(compute, message);
  } else {
    Link(message, compute);
    if (const auto before = Find(op.stage, op.type, int64_t{op.seq} - 1)) {
      Link(*before, message);
    }
  }
  if (!ReachesOutside(op, port)) {
    ports_[static_cast<size_t>(op.stage)][port].push_back(message);
  }
}

bool PipelineBuilder::ReachesOutside(const PipelineOp& compute, Port port) const {
  const int64_t chunk =
      compute.global_chunk >= 0
          ? compute.global_chunk
          : std::max<int64_t>(compute.chunk, 0) * size_.pp_size + compute.stage;
  const int64_t peer = chunk + PeerStep(port);
  return peer < 0 || peer >= int64_t{size_.vpp_size} * size_.pp_size;
}

// The first backward messages are posted once the forward computation before the last
// one of the warm-up is done.
void PipelineBuilder::LinkFirstBackward(const Indices& computes, int32_t stage) {
  const auto first = std::find_if(computes.begin(), computes.end(), [this](OpIndex i) {
    return ops_[i].type == OpType::kBackwardCompute;
  });
  if (first == computes.end() || first - computes.begin() < 2) return;
  for (const OpType type : {OpType::kBackwardRecv, OpType::kBackwardSend}) {
    if (const auto message = Find(stage, type, 0)) Link(*(first - 2), *message);
  }
}

void PipelineBuilder::LinkGathers(std::span<const OpIndex> stage,
                                  const Indices& computes) {
  const Indices gathers = OfType(stage, OpType::kParamsAllGather);
  std::set<int32_t> done;
  for (auto gather = gathers.rbegin(); gather != gathers.rend(); ++gather) {
    const int32_t chunk = ops_[*gather].chunk;
    if (!done.insert(chunk).second) continue;
    const auto first = std::find_if(computes.begin(), computes.end(), [&](OpIndex i) {
      return ops_[i].type == OpType::kForwardCompute && ops_[i].chunk == chunk;
    });
    if (first != computes.end()) Link(*gather, *first);
  }
}

void PipelineBuilder::LinkScatters(std::span<const OpIndex> stage,
                                   const Indices& computes) {
  std::set<int32_t> done;
  for (const OpIndex scatter : OfType(stage, OpType::kGradsReduceScatter)) {
    const int32_t chunk = ops_[scatter].chunk;
    if (!done.insert(chunk).second) continue;
    std::optional<OpIndex> last;
    for (const OpIndex i : computes) {
      if (ops_[i].type != OpType::kBackwardCompute || ops_[i].chunk != chunk) continue;
      if (!last || ops_[i].end_ns > ops_[*last].end_ns) last = i;
    }
    if (last) Link(*last, scatter);
  }
}

void PipelineBuilder::LinkEnd(std::span<const OpIndex> stage, const Indices& computes) {
  Indices chain;
  if (!computes.empty()) {
    chain.push_back(*std::max_element(
        computes.begin(), computes.end(),
        [this](OpIndex a, OpIndex b) { return ops_[a].end_ns < ops_[b].end_ns; }));
  }
  const auto append = [&](Indices& to, OpType type) {
    const Indices ops = OfType(stage, type);
    to.insert(to.end(), ops.begin(), ops.end());
  };
  append(chain, OpType::kGc);
  Indices reductions;
  append(reductions, OpType::kLayernormGradsAllReduce);
  append(reductions, OpType::kEmbeddingGradsAllReduce);
  append(reductions,
         overlapped_ ? OpType::kSeparateGradsAllReduce : OpType::kGradsReduceScatter);
  append(reductions, OpType::kOptimizerClipMainGrad);
  append(reductions, OpType::kOptimizer);
  const Indices scatters = OfType(stage, OpType::kGradsReduceScatter);
  if (overlapped_ && !scatters.empty() && !reductions.empty()) {
    Link(scatters.back(), reductions.front());
  }
  chain.insert(chain.end(), reductions.begin(), reductions.end());
  Chain(chain);
}

base::Status PipelineBuilder::PairPorts() {
  const auto stages = static_cast<size_t>(size_.pp_size);
  for (size_t stage = 0; stage < stages; ++stage) {
    for (const auto& [send, recv] : {std::pair{kForwardSend, kForwardRecv},
                                     std::pair{kBackwardSend, kBackwardRecv}}) {
      const size_t peer =
          send == kForwardSend ? (stage + 1) % stages : (stage + stages - 1) % stages;
      const Indices& from = ports_[stage][send];
      const Indices& to = ports_[peer][recv];
      if (from.size() != to.size()) {
        return base::Fail("ANL-0143", base::ExitCode::kInput,
                          fmt::format("{} of {} meet {} of {}", from.size(),
                                      trace::ToString(kPortTypes[send]), to.size(),
                                      trace::ToString(kPortTypes[recv])),
                          fmt::format("stages {} and {}", stage, peer),
                          "record sends and receives on every stage");
      }
      for (size_t k = 0; k < from.size(); ++k) pairs_.emplace_back(from[k], to[k]);
    }
  }
  return {};
}

PipelineLinks PipelineBuilder::SpreadOverRanks() const {
  PipelineLinks links;
  std::map<std::tuple<OpType, int32_t, int32_t>, Indices> over_ranks;  // stage, seq
  const auto per_rank = static_cast<OpIndex>(ops_.size());
  for (OpIndex d = 0; d < static_cast<OpIndex>(size_.dp_size); ++d) {
    const OpIndex base = d * per_rank;
    for (const OpEdge& edge : edges_) {
      links.edges.push_back({base + edge.before, base + edge.after});
    }
    for (const auto& [send, recv] : pairs_) {
      links.groups.push_back({base + send, base + recv});
    }
    std::map<int32_t, Indices> embeddings;
    for (OpIndex i = 0; i < per_rank; ++i) {
      const PipelineOp& op = ops_[i];
      if (op.type == OpType::kEmbeddingGradsAllReduce) {
        embeddings[op.seq].push_back(base + i);
      } else if (op.type == OpType::kOptimizerClipMainGrad) {
        over_ranks[{op.type, 0, op.seq}].push_back(base + i);
      } else if (op.type == OpType::kParamsAllGather ||
                 op.type == OpType::kGradsReduceScatter ||
                 op.type == OpType::kSeparateGradsAllReduce) {
        over_ranks[{op.type, op.stage, op.seq}].push_back(base + i);
      }
    }
    for (auto& [seq, group] : embeddings) links.groups.push_back(std::move(group));
  }
  for (auto& [key, group] : over_ranks) links.groups.push_back(std::move(group));
  std::erase_if(links.groups, [](const Indices& group) { return group.size() < 2; });
  return links;
}

}  // namespace

bool operator==(const PipelineLinks& a, const PipelineLinks& b) {
  return a.groups == b.groups &&
         std::equal(a.edges.begin(), a.edges.end(), b.edges.begin(), b.edges.end(),
                    [](const OpEdge& x, const OpEdge& y) {
                      return x.before == y.before && x.after == y.after;
                    });
}

base::Result<PipelineLinks> LinkPipeline(std::span<const PipelineOp> ops,
                                         const PipelineSize& size) {
  return PipelineBuilder(ops, size).Run();
}

}  // namespace stepslack::analyze
