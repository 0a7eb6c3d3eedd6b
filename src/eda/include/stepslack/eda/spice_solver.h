// The exact operating point of a netlist of resistors and sources: G v = j with the
// voltage sources eliminated, and the maps of a power grid drawn from it.
//
// Nodes that voltage sources join are one unknown with known offsets. Voltages are
// solved for as differences to the highest source of their connected part, so that a
// drop of microvolts under a supply of volts keeps all its digits.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/eda/ir_solver.h"
#include "stepslack/eda/spice.h"

namespace stepslack::eda {

struct OperatingPoint {
  std::vector<double> volt;    // of every node; ground is 0
  std::vector<double> drop_v;  // highest source of the node's part minus the node
  double max_drop_v = 0;       // over all nodes but ground
  int32_t max_drop_node = 0;
  double source_current_a = 0;  // sum of the current sources between node and ground
  SolveStats stats;             // all of it: elimination, assembly, solution
};

// EDA-0210: no voltage source; EDA-0211: a current source at a node that no resistor or
// voltage source touches; EDA-0212: voltage sources form a loop (shorted or in
// parallel); EDA-0213: a node without a path of resistors or voltage sources to ground;
// EDA-0216: a voltage beyond double precision; and those of the solver.
base::Result<OperatingPoint> SolveNetlist(const SpiceNetlist& netlist);

struct GridMapOptions {
  double dbu_per_um = 2000;
  double pixel_um = 1;
  int net = 1;
};

// Maps of one net: channels current (uA, drawn from the net in a pixel) and
// pad_distance (um, 1 / sum(1 / d) over the voltage sources), target the drop (mV) of
// the lowest layer: the mean of its nodes in a pixel; a pixel without a node has the
// mean of its neighbours (the discrete harmonic function through the nodes, so no value
// lies outside of theirs). Row = x, column = y. EDA-0214: no node of this net has a
// name with a place; EDA-0215: more than 4096 pixels a side.
base::Result<data::WholeMap> DrawGridMap(const SpiceNetlist& netlist,
                                         const OperatingPoint& point,
                                         const GridMapOptions& options = {});

// node,volt,drop_mv with every digit, in the order of the netlist.
std::string NodesAsCsv(const SpiceNetlist& netlist, const OperatingPoint& point);

}  // namespace stepslack::eda
