#include "stepslack/eda/pnr_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace stepslack::eda {
namespace {

constexpr int64_t kMaxTileCount = int64_t{16} << 20;

struct Point {
  double x = 0;
  double y = 0;
};

class TableMaker {
 public:
  TableMaker(const DefDesign& design, const std::map<std::string, LefMacro>& lef,
             const PnrTileOptions& options)
      : design_(design), lef_(lef), options_(options) {}

  base::Result<PnrTables> Make() {
    SS_RETURN_IF_ERROR(MakeTiles());
    SS_RETURN_IF_ERROR(AddComponents());
    for (const DefPin& pin : design_.pins) pin_[pin.name] = Micron(pin.place);
    for (const DefNet& net : design_.nets) SS_RETURN_IF_ERROR(AddNet(net));
    return std::move(out_);
  }

 private:
  // Micrometres from the lower left corner of the die.
  Point Micron(DefPoint place) const {
    const auto dbu = static_cast<double>(design_.dbu_per_um);
    return {static_cast<double>(place.x - design_.low.x) / dbu,
            static_cast<double>(place.y - design_.low.y) / dbu};
  }

  base::Status MakeTiles() {
    const Point size = Micron(design_.high);
    const double nx = std::ceil(size.x / options_.tile_um);
    const double ny = std::ceil(size.y / options_.tile_um);
    if (!(nx * ny <= static_cast<double>(kMaxTileCount))) {
      return base::Fail("EDA-0232", base::ExitCode::kInput,
                        fmt::format("{} x {} tiles are too many", nx, ny), design_.name,
                        "choose larger tiles");
    }
    nx_ = static_cast<int64_t>(nx);
    ny_ = static_cast<int64_t>(ny);
    for (int64_t ix = 0; ix < nx_; ++ix) {
      for (int64_t iy = 0; iy < ny_; ++iy) {
        PnrTile tile;
        tile.ix = ix;
        tile.iy = iy;
        out_.tiles.push_back(tile);
      }
    }
    return {};
  }

  int64_t Index(double um, int64_t count) const {
    const auto index = static_cast<int64_t>(std::floor(um / options_.tile_um + 1e-9));
    return std::clamp<int64_t>(index, 0, count - 1);
  }
  PnrTile& At(int64_t ix, int64_t iy) {
    return out_.tiles[static_cast<size_t>(ix * ny_ + iy)];
  }
  PnrTile& TileOf(Point p) { return At(Index(p.x, nx_), Index(p.y, ny_)); }

  base::Status UnknownToLef(const std::string& what) const {
    return base::Fail("EDA-0230", base::ExitCode::kInput,
                      fmt::format("the LEF does not know {}", what), design_.name,
                      "give the LEF that the design was placed with");
  }

  base::Status AddComponents() {
    for (const DefComponent& c : design_.components) {
      const auto macro = lef_.find(c.macro);
      if (macro == lef_.end()) return UnknownToLef("cell " + c.macro);
      component_[c.name] = &c;
      const Point low = Micron(c.place);
      const double w = macro->second.width_um;
      const double h = macro->second.height_um;
      TileOf({low.x + w / 2, low.y + h / 2}).cell_area_um2 += w * h;
    }
    return {};
  }

  base::Result<Point> Place(const DefNet& net, const DefTerminal& terminal) const {
    const auto refuse = [&] {
      return base::Fail("EDA-0231", base::ExitCode::kInput,
                        fmt::format("net `{}`: no place is known for ( {} {} )",
                                    net.name, terminal.component, terminal.pin),
                        design_.name,
                        "only cells in rows (N, S, FN, FS) and placed pins are read");
    };
    if (terminal.component == "PIN") {
      const auto pin = pin_.find(terminal.pin);
      if (pin == pin_.end()) return refuse();
      return pin->second;
    }
    const auto found = component_.find(terminal.component);
    if (found == component_.end()) return refuse();
    const DefComponent& c = *found->second;
    const LefMacro& macro = lef_.at(c.macro);
    const auto centre = macro.pin_centre.find(terminal.pin);
    if (centre == macro.pin_centre.end()) {
      return tl::unexpected(
          UnknownToLef(fmt::format("pin {} of cell {}", terminal.pin, c.macro))
              .error());
    }
    Point at{centre->second.x_um, centre->second.y_um};
    const std::string& turn = c.orientation;
    if (turn != "N" && turn != "S" && turn != "FN" && turn != "FS") return refuse();
    if (options_.turn_pins) {
      if (turn == "S" || turn == "FN") at.x = macro.width_um - at.x;
      if (turn == "S" || turn == "FS") at.y = macro.height_um - at.y;
    }
    const Point low = Micron(c.place);
    return Point{low.x + at.x, low.y + at.y};
  }

  base::Status AddNet(const DefNet& net) {
    PnrNet row;
    row.name = net.name;
    row.pins = static_cast<int64_t>(net.terminals.size());
    row.vias = net.vias;
    row.routed = !net.wires.empty() || net.vias > 0;
    for (const DefWire& wire : net.wires) {
      if (wire.first || options_.whole_wires) row.routed_um += AddWire(wire);
    }
    Point low{INFINITY, INFINITY}, high{-INFINITY, -INFINITY};
    for (const DefTerminal& terminal : net.terminals) {
      SS_TRY(const Point at, Place(net, terminal));
      ++TileOf(at).pin_count;
      low = {std::min(low.x, at.x), std::min(low.y, at.y)};
      high = {std::max(high.x, at.x), std::max(high.y, at.y)};
    }
    if (row.pins < 2) {
      ++out_.single_pin_nets;
      return {};
    }
    row.dx_um = high.x - low.x;
    row.dy_um = high.y - low.y;
    row.hpwl_um = row.dx_um + row.dy_um;
    AddRudy(low, high);
    out_.unrouted_nets += row.routed ? 0 : 1;
    out_.nets.push_back(std::move(row));
    return {};
  }

  void AddRudy(Point low, Point high) {
    if (!options_.clip_boxes) {
      const int64_t x0 = Index(low.x, nx_), x1 = Index(high.x, nx_);
      const int64_t y0 = Index(low.y, ny_), y1 = Index(high.y, ny_);
      const double share = (high.x - low.x + high.y - low.y) /
                           static_cast<double>((x1 - x0 + 1) * (y1 - y0 + 1));
      for (int64_t ix = x0; ix <= x1; ++ix) {
        for (int64_t iy = y0; iy <= y1; ++iy) At(ix, iy).rudy_um += share;
      }
      return;
    }
    const double w = std::max(high.x - low.x, options_.min_box_um);
    const double h = std::max(high.y - low.y, options_.min_box_um);
    const double density = (w + h) / (w * h);
    const double tile = options_.tile_um;
    const Point end{low.x + w, low.y + h};
    for (int64_t ix = Index(low.x, nx_); ix <= Index(end.x, nx_); ++ix) {
      const double x = static_cast<double>(ix) * tile;
      const double ox = std::min(end.x, x + tile) - std::max(low.x, x);
      for (int64_t iy = Index(low.y, ny_); iy <= Index(end.y, ny_); ++iy) {
        const double y = static_cast<double>(iy) * tile;
        const double oy = std::min(end.y, y + tile) - std::max(low.y, y);
        if (ox > 0 && oy > 0) At(ix, iy).rudy_um += density * ox * oy;
      }
    }
  }

  // Adds the length to the tiles it crosses; parts off the die belong to its edge
  // tiles.
  double AddWire(const DefWire& wire) {
    const Point a = Micron(wire.from);
    const Point b = Micron(wire.to);
    const bool along_x = a.y == b.y;
    const double begin = along_x ? std::min(a.x, b.x) : std::min(a.y, b.y);
    const double end = along_x ? std::max(a.x, b.x) : std::max(a.y, b.y);
    const int64_t count = along_x ? nx_ : ny_;
    const int64_t last = Index(end, count);
    const int64_t first = Index(begin, count);
    for (int64_t i = first; i <= last; ++i) {
      const double from =
          i == first ? begin : static_cast<double>(i) * options_.tile_um;
      const double to = i == last ? end : static_cast<double>(i + 1) * options_.tile_um;
      PnrTile& tile = along_x ? At(i, Index(a.y, ny_)) : At(Index(a.x, nx_), i);
      tile.routed_um += to - from;
    }
    return end - begin;
  }

  const DefDesign& design_;
  const std::map<std::string, LefMacro>& lef_;
  const PnrTileOptions& options_;
  int64_t nx_ = 0, ny_ = 0;
  std::unordered_map<std::string, const DefComponent*> component_;
  std::unordered_map<std::string, Point> pin_;
  PnrTables out_;
};

}  // namespace

base::Result<PnrTables> ComputePnrTables(const DefDesign& design,
                                         const std::map<std::string, LefMacro>& lef,
                                         const PnrTileOptions& options) {
  return TableMaker(design, lef, options).Make();
}

double RudyCorrelation(const std::vector<PnrTile>& tiles) {
  double mean_a = 0, mean_b = 0;
  for (const PnrTile& t : tiles) {
    mean_a += t.rudy_um / static_cast<double>(tiles.size());
    mean_b += t.routed_um / static_cast<double>(tiles.size());
  }
  double ab = 0, aa = 0, bb = 0;
  for (const PnrTile& t : tiles) {
    ab += (t.rudy_um - mean_a) * (t.routed_um - mean_b);
    aa += (t.rudy_um - mean_a) * (t.rudy_um - mean_a);
    bb += (t.routed_um - mean_b) * (t.routed_um - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

std::string TilesAsCsv(const std::string& design, const std::vector<PnrTile>& tiles) {
  std::string out = "design,ix,iy,pin_count,rudy_um,cell_area_um2,routed_um\n";
  for (const PnrTile& t : tiles) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{:.2f},{:.1f},{:.1f}\n",
                   design, t.ix, t.iy, t.pin_count, t.rudy_um, t.cell_area_um2,
                   t.routed_um);
  }
  return out;
}

std::string NetsAsCsv(const std::string& design, const std::vector<PnrNet>& nets) {
  std::string out = "design,net,pins,bbox_dx_um,bbox_dy_um,hpwl_um,routed_um,vias\n";
  for (const PnrNet& n : nets) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{:.2f},{:.2f},{:.2f},{:.2f},{}\n",
                   design, n.name, n.pins, n.dx_um, n.dy_um, n.hpwl_um, n.routed_um,
                   n.vias);
  }
  return out;
}

}  // namespace stepslack::eda
