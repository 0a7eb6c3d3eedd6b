// What passes between the tools of the placement and routing flow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepslack::eda {

// The mapped netlist without what cannot be placed: the technology has no tie cells, so
// pins at a constant belong to the supply rails and leave the netlist; so do outputs of
// the design that are constant. Names that the translators' scripts would misread
// become `n0_`, `n1_`, ... in the order in which they occur.
struct PlaceableNetlist {
  std::string blif;
  int64_t cells = 0;
  int64_t constant_pins = 0;  // of cells and of the design
};
// No value when the netlist holds anything but mapped cells, or no cell at all.
// `buffer` is the cell that the synthesiser writes for a plain connection (pins A, Y).
std::optional<PlaceableNetlist> ReadPlaceableNetlist(std::string_view blif,
                                                     std::string_view buffer);

struct RouterOutcome {
  // Connections routed and nets failed after the first stage; no value when the router
  // ended before.
  std::optional<int64_t> stage1_routes;
  std::optional<int64_t> stage1_failed_nets;
  // At the end of all stages; no value when it did not get there.
  std::optional<int64_t> failed_nets;
};
RouterOutcome ReadRouterLog(std::string_view log);

// The placer's parameters with another random seed.
std::string WithPlacementSeed(std::string_view parameters, uint64_t seed);

}  // namespace stepslack::eda
