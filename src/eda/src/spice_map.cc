#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "stepslack/base/file.h"
#include "stepslack/eda/spice_solver.h"

namespace stepslack::eda {
namespace {

constexpr int64_t kMaxSide = 4096;

struct PlacedNode {
  size_t node = 0;
  int layer = 0;
  double x_um = 0;
  double y_um = 0;
  int64_t pixel_x = 0;
  int64_t pixel_y = 0;
};

std::vector<PlacedNode> PlaceNodes(const SpiceNetlist& netlist,
                                   const GridMapOptions& options) {
  std::vector<PlacedNode> placed;
  for (size_t i = 1; i < netlist.nodes.size(); ++i) {
    const auto name = ParseGridNode(netlist.nodes[i]);
    if (!name || name->net != options.net) continue;
    PlacedNode node;
    node.node = i;
    node.layer = name->layer;
    node.x_um = static_cast<double>(name->x_dbu) / options.dbu_per_um;
    node.y_um = static_cast<double>(name->y_dbu) / options.dbu_per_um;
    node.pixel_x = static_cast<int64_t>(node.x_um / options.pixel_um);
    node.pixel_y = static_cast<int64_t>(node.y_um / options.pixel_um);
    placed.push_back(node);
  }
  return placed;
}

struct Frame {
  int64_t height = 0;
  int64_t width = 0;
  size_t Pixel(int64_t x, int64_t y) const {
    return static_cast<size_t>(x * width + y);
  }
  size_t size() const { return static_cast<size_t>(height * width); }
};

// Pixels without a node: the discrete harmonic function with the nodes as its border,
// which is one more resistor network (unit resistors between neighbours).
base::Result<std::vector<double>> FillHarmonic(
    const Frame& frame, const std::vector<std::optional<double>>& fixed) {
  std::vector<int32_t> unknown(frame.size(), -1);
  int32_t count = 0;
  for (size_t i = 0; i < frame.size(); ++i) {
    if (!fixed[i]) unknown[i] = count++;
  }
  std::vector<Triplet> triplets;
  std::vector<double> rhs(static_cast<size_t>(count), 0);
  const auto join = [&](size_t a, size_t b) {
    if (unknown[a] < 0) return;
    triplets.push_back({unknown[a], unknown[a], 1});
    if (unknown[b] < 0) {
      rhs[static_cast<size_t>(unknown[a])] += *fixed[b];
    } else {
      triplets.push_back({unknown[a], unknown[b], -1});
    }
  };
  for (int64_t x = 0; x < frame.height; ++x) {
    for (int64_t y = 0; y < frame.width; ++y) {
      const size_t here = frame.Pixel(x, y);
      for (const size_t other : {x + 1 < frame.height ? frame.Pixel(x + 1, y) : here,
                                 y + 1 < frame.width ? frame.Pixel(x, y + 1) : here}) {
        if (other == here) continue;
        join(here, other);
        join(other, here);
      }
    }
  }
  std::vector<double> x;
  if (count > 0) {
    SS_TRY(CsrMatrix matrix, BuildCsr(count, triplets));
    SS_TRY(const IrSolver solver, IrSolver::Build(std::move(matrix)));
    SS_TRY(Solution solution, solver.Solve(rhs));
    x = std::move(solution.x);
  }
  std::vector<double> out(frame.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = fixed[i] ? *fixed[i] : x[static_cast<size_t>(unknown[i])];
  }
  return out;
}

base::Result<std::vector<float>> DropPlane(const Frame& frame,
                                           const std::vector<PlacedNode>& nodes,
                                           const OperatingPoint& point) {
  int lowest = nodes.front().layer;
  for (const PlacedNode& n : nodes) lowest = std::min(lowest, n.layer);
  std::vector<double> sum(frame.size(), 0);
  std::vector<int> count(frame.size(), 0);
  for (const PlacedNode& n : nodes) {
    if (n.layer != lowest) continue;
    const size_t pixel = frame.Pixel(n.pixel_x, n.pixel_y);
    sum[pixel] += point.drop_v[n.node] * 1e3;
    ++count[pixel];
  }
  std::vector<std::optional<double>> fixed(frame.size());
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (count[i] > 0) fixed[i] = sum[i] / count[i];
  }
  SS_TRY(const std::vector<double> filled, FillHarmonic(frame, fixed));
  return std::vector<float>(filled.begin(), filled.end());
}

std::vector<float> CurrentPlane(const Frame& frame, const SpiceNetlist& netlist,
                                const std::vector<PlacedNode>& nodes) {
  std::vector<double> drawn(netlist.nodes.size(), 0);
  for (const SpiceElement& e : netlist.currents) {
    drawn[static_cast<size_t>(e.from)] += e.value * 1e6;
    drawn[static_cast<size_t>(e.to)] -= e.value * 1e6;
  }
  std::vector<double> plane(frame.size(), 0);
  for (const PlacedNode& n : nodes) {
    plane[frame.Pixel(n.pixel_x, n.pixel_y)] += drawn[n.node];
  }
  return {plane.begin(), plane.end()};
}

std::vector<float> DistancePlane(const Frame& frame, const SpiceNetlist& netlist,
                                 const std::vector<PlacedNode>& nodes,
                                 double pixel_um) {
  std::vector<uint8_t> is_pad(netlist.nodes.size(), 0);
  for (const SpiceElement& e : netlist.voltages) {
    is_pad[static_cast<size_t>(e.from)] = is_pad[static_cast<size_t>(e.to)] = 1;
  }
  std::vector<PlacedNode> pads;
  for (const PlacedNode& n : nodes) {
    if (is_pad[n.node] != 0) pads.push_back(n);
  }
  std::vector<float> plane(frame.size(), 0);
  for (int64_t x = 0; x < frame.height; ++x) {
    for (int64_t y = 0; y < frame.width; ++y) {
      double sum = 0;
      for (const PlacedNode& n : pads) {
        const double dx = static_cast<double>(x) * pixel_um - n.x_um;
        const double dy = static_cast<double>(y) * pixel_um - n.y_um;
        sum += 1 / std::max(pixel_um / 2, std::hypot(dx, dy));
      }
      plane[frame.Pixel(x, y)] = sum > 0 ? static_cast<float>(1 / sum) : 0;
    }
  }
  return plane;
}

}  // namespace

base::Result<data::WholeMap> DrawGridMap(const SpiceNetlist& netlist,
                                         const OperatingPoint& point,
                                         const GridMapOptions& options) {
  std::vector<PlacedNode> nodes = PlaceNodes(netlist, options);
  if (nodes.empty()) {
    return base::Fail("EDA-0214", base::ExitCode::kInput,
                      fmt::format("no node of net {} says where it lies", options.net),
                      netlist.name, "name nodes as n1_m1_X_Y to have a map");
  }
  Frame frame;
  for (const PlacedNode& n : nodes) {
    frame.height = std::max(frame.height, n.pixel_x + 1);
    frame.width = std::max(frame.width, n.pixel_y + 1);
  }
  if (frame.height > kMaxSide || frame.width > kMaxSide) {
    return base::Fail("EDA-0215", base::ExitCode::kInput,
                      fmt::format("a map of {} x {} pixels is larger than {} a side",
                                  frame.height, frame.width, kMaxSide),
                      netlist.name, "choose larger pixels");
  }
  data::WholeMap map;
  map.id = base::FileName(netlist.name);
  map.id = map.id.substr(0, map.id.find('.'));
  map.group = map.id;
  map.source = "spice";
  map.height = frame.height;
  map.width = frame.width;
  map.channels.push_back(CurrentPlane(frame, netlist, nodes));
  map.channels.push_back(DistancePlane(frame, netlist, nodes, options.pixel_um));
  SS_TRY(map.target, DropPlane(frame, nodes, point));
  return map;
}

}  // namespace stepslack::eda
