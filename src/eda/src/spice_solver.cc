#include "stepslack/eda/spice_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepslack/base/context.h"
#include "stepslack/base/json.h"

namespace stepslack::eda {
namespace {

size_t At(int32_t node) { return static_cast<size_t>(node); }

// Disjoint sets of nodes with potentials: volt(node) = volt(root) + offset(node).
class NodeGroups {
 public:
  explicit NodeGroups(size_t nodes) : parent_(nodes), offset_(nodes, 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int32_t Root(int32_t node) {
    int32_t root = node;
    double sum = 0;
    while (parent_[At(root)] != root) {
      sum += offset_[At(root)];
      root = parent_[At(root)];
    }
    // Hang the whole path under the root.
    while (parent_[At(node)] != root && node != root) {
      const int32_t next = parent_[At(node)];
      const double own = offset_[At(node)];
      parent_[At(node)] = root;
      offset_[At(node)] = sum;
      sum -= own;
      node = next;
    }
    return root;
  }

  double Offset(int32_t node) {
    Root(node);
    return offset_[At(node)];
  }

  // volt(a) - volt(b) = volt. False when they are one group already.
  bool Join(int32_t a, int32_t b, double volt) {
    const int32_t root_a = Root(a);
    const int32_t root_b = Root(b);
    if (root_a == root_b) return false;
    const double shift = volt + Offset(b) - Offset(a);
    if (root_a == Root(kGround)) {  // ground stays a root: its potential is 0
      parent_[At(root_b)] = root_a;
      offset_[At(root_b)] = -shift;
    } else {
      parent_[At(root_a)] = root_b;
      offset_[At(root_a)] = shift;
    }
    return true;
  }

 private:
  std::vector<int32_t> parent_;
  std::vector<double> offset_;
};

std::string Line(const SpiceNetlist& netlist, int64_t line) {
  return fmt::format("{}, line {}", netlist.name, line);
}

base::Status CheckSources(const SpiceNetlist& netlist) {
  if (netlist.voltages.empty()) {
    return base::Fail("EDA-0210", base::ExitCode::kInput,
                      "the netlist has no voltage source", netlist.name,
                      "add a V line for every pad");
  }
  std::vector<uint8_t> touched(netlist.nodes.size(), 0);
  touched[At(kGround)] = 1;
  for (const auto* list : {&netlist.resistors, &netlist.voltages}) {
    for (const SpiceElement& e : *list) touched[At(e.from)] = touched[At(e.to)] = 1;
  }
  for (const SpiceElement& e : netlist.currents) {
    for (const int32_t node : {e.from, e.to}) {
      if (touched[At(node)] != 0) continue;
      return base::Fail("EDA-0211", base::ExitCode::kInput,
                        fmt::format("the current source drives node `{}`, which no "
                                    "resistor or voltage source touches",
                                    netlist.nodes[At(node)]),
                        Line(netlist, e.line), "correct the name of the node");
    }
  }
  return {};
}

base::Result<NodeGroups> EliminateSources(const SpiceNetlist& netlist) {
  NodeGroups groups(netlist.nodes.size());
  for (const SpiceElement& e : netlist.voltages) {
    if (groups.Join(e.from, e.to, e.value)) continue;
    return base::Fail("EDA-0212", base::ExitCode::kInput,
                      fmt::format("the voltage source between `{}` and `{}` closes a "
                                  "loop of voltage sources",
                                  netlist.nodes[At(e.from)], netlist.nodes[At(e.to)]),
                      Line(netlist, e.line),
                      "keep one voltage source between two nodes");
  }
  return groups;
}

// Connected parts of the netlist without ground, each with its highest source.
struct Parts {
  std::vector<int32_t> part;      // of every node; -1: ground
  std::vector<double> reference;  // V, of every part
};

base::Result<Parts> FindParts(const SpiceNetlist& netlist, NodeGroups& groups) {
  const size_t count = netlist.nodes.size();
  NodeGroups parts(count);
  std::vector<uint8_t> grounded_node(count, 0);
  for (const auto* list : {&netlist.resistors, &netlist.voltages}) {
    for (const SpiceElement& e : *list) {
      if (e.from == kGround || e.to == kGround) {
        grounded_node[At(e.from)] = grounded_node[At(e.to)] = 1;
      } else {
        parts.Join(e.from, e.to, 0);
      }
    }
  }
  Parts out;
  out.part.assign(count, -1);
  out.reference.assign(count, 0);
  std::vector<uint8_t> grounded(count, 0), has_source(count, 0);
  for (size_t i = 1; i < count; ++i) {
    const auto node = static_cast<int32_t>(i);
    const int32_t part = parts.Root(node);
    out.part[i] = part;
    if (grounded_node[i] != 0) grounded[At(part)] = 1;
    if (groups.Root(node) != groups.Root(kGround)) continue;
    const double volt = groups.Offset(node);
    double& reference = out.reference[At(part)];
    if (has_source[At(part)]++ == 0 || volt > reference) reference = volt;
    has_source[At(part)] = 1;
  }
  for (size_t i = 1; i < count; ++i) {
    if (grounded[At(out.part[i])] != 0) continue;
    return base::Fail(
        "EDA-0213", base::ExitCode::kInput,
        fmt::format("node `{}` floats: no path of resistors or voltage sources leads "
                    "to ground",
                    netlist.nodes[i]),
        Line(netlist, netlist.node_line[i]), "connect it or take it out");
  }
  return out;
}

// The system of the unknown groups, in volts above their part's reference.
class System {
 public:
  System(const SpiceNetlist& netlist, NodeGroups& groups, const Parts& parts)
      : netlist_(netlist), parts_(parts) {
    const size_t count = netlist.nodes.size();
    unknown_.assign(count, -1);
    known_.assign(count, 0);
    std::vector<int32_t> of_root(count, -1);
    for (size_t i = 1; i < count; ++i) {
      const auto node = static_cast<int32_t>(i);
      const int32_t root = groups.Root(node);
      known_[i] = groups.Offset(node);
      if (root == groups.Root(kGround)) {
        known_[i] -= Reference(node);
        continue;
      }
      if (of_root[At(root)] < 0) of_root[At(root)] = size_++;
      unknown_[i] = of_root[At(root)];
    }
    rhs_.assign(At(size_), 0);
  }

  void Stamp() {
    for (const SpiceElement& e : netlist_.resistors) Join(e.from, e.to, 1 / e.value);
    for (const SpiceElement& e : netlist_.currents) {
      Inject(e.from, -e.value);
      Inject(e.to, e.value);
    }
  }

  base::Result<OperatingPoint> Solve() const {
    OperatingPoint point;
    std::vector<double> x;
    if (size_ > 0) {
      SS_TRY(CsrMatrix matrix, BuildCsr(size_, triplets_));
      SS_TRY(const IrSolver solver, IrSolver::Build(std::move(matrix)));
      SolveOptions options;
      options.tolerance = 1e-11;
      options.max_iterations = 20000;
      SS_TRY(Solution solution, solver.Solve(rhs_, options));
      point.stats = solution.stats;
      x = std::move(solution.x);
    }
    const size_t count = netlist_.nodes.size();
    point.volt.assign(count, 0);
    point.drop_v.assign(count, 0);
    for (size_t i = 1; i < count; ++i) {
      const auto node = static_cast<int32_t>(i);
      const double above = known_[i] + (unknown_[i] < 0 ? 0 : x[At(unknown_[i])]);
      point.volt[i] = Reference(node) + above;
      point.drop_v[i] = -above;
      if (!std::isfinite(point.volt[i]) || !std::isfinite(above)) {
        return base::Fail(
            "EDA-0216", base::ExitCode::kInput,
            fmt::format("the voltage of node `{}` is beyond double precision",
                        netlist_.nodes[i]),
            Line(netlist_, netlist_.node_line[i]), "check the source values");
      }
      if (point.max_drop_node == 0 || -above > point.max_drop_v) {
        point.max_drop_v = -above;
        point.max_drop_node = node;
      }
    }
    return point;
  }

 private:
  double Reference(int32_t node) const {
    const int32_t part = parts_.part[At(node)];
    return part < 0 ? 0 : parts_.reference[At(part)];
  }

  // Known part of v(a) - v(b); the references of one part cancel exactly.
  double KnownDifference(int32_t a, int32_t b) const {
    double difference = known_[At(a)] - known_[At(b)];
    if (a == kGround || b == kGround) difference += Reference(a) - Reference(b);
    return difference;
  }

  void Join(int32_t a, int32_t b, double siemens) {
    const int32_t ua = unknown_[At(a)];
    const int32_t ub = unknown_[At(b)];
    if (ua == ub) return;  // both ends are fixed against each other
    const double current = siemens * KnownDifference(a, b);
    if (ua >= 0) {
      triplets_.push_back({ua, ua, siemens});
      rhs_[At(ua)] -= current;
    }
    if (ub >= 0) {
      triplets_.push_back({ub, ub, siemens});
      rhs_[At(ub)] += current;
    }
    if (ua >= 0 && ub >= 0) {
      triplets_.push_back({ua, ub, -siemens});
      triplets_.push_back({ub, ua, -siemens});
    }
  }

  void Inject(int32_t node, double ampere) {
    if (unknown_[At(node)] >= 0) rhs_[At(unknown_[At(node)])] += ampere;
  }

  const SpiceNetlist& netlist_;
  const Parts& parts_;
  int32_t size_ = 0;
  std::vector<int32_t> unknown_;  // of every node; -1: known
  std::vector<double> known_;     // V above the reference, without the unknown
  std::vector<Triplet> triplets_;
  std::vector<double> rhs_;
};

}  // namespace

base::Result<OperatingPoint> SolveNetlist(const SpiceNetlist& netlist) {
  const int64_t wall_start = base::NowNs();
  const int64_t cpu_start = ThreadCpuNs();
  SS_RETURN_IF_ERROR(CheckSources(netlist));
  SS_TRY(NodeGroups groups, EliminateSources(netlist));
  SS_TRY(const Parts parts, FindParts(netlist, groups));
  System system(netlist, groups, parts);
  system.Stamp();
  SS_TRY(OperatingPoint point, system.Solve());
  for (const SpiceElement& e : netlist.currents) {
    if (e.to == kGround) point.source_current_a += e.value;
    if (e.from == kGround) point.source_current_a -= e.value;
  }
  point.stats.wall_ns = base::NowNs() - wall_start;
  point.stats.cpu_ns = ThreadCpuNs() - cpu_start;
  return point;
}

std::string NodesAsCsv(const SpiceNetlist& netlist, const OperatingPoint& point) {
  std::string out = "node,volt,drop_mv\n";
  for (size_t i = 1; i < netlist.nodes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{},{},{}\n", netlist.nodes[i],
                   base::FormatDouble(point.volt[i]),
                   base::FormatDouble(point.drop_v[i] * 1e3));
  }
  return out;
}

}  // namespace stepslack::eda
