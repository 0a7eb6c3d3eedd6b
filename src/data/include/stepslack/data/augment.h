// Declared augmentations of labelled maps, each with the physics that keeps its label
// right. All planes of a map move together: currents, stripes, pads and the label. The
// tests solve the transformed grid exactly and compare.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

struct Augmentation {
  std::string_view name;
  std::string_view physics;  // why the label stays right
  // Flips and turns of the plane (rows exchanged with columns, rows flipped, columns
  // flipped), in this order.
  bool transpose = false;
  bool flip_rows = false;
  bool flip_columns = false;
  // Right only where both directions have the same resistance: not for grids whose
  // rails run one way.
  bool needs_isotropic = false;
  double current_scale = 1;  // of the channel in uA or A, and of the label
  double label_noise = 0;    // standard deviation as a part of the label
};

// flip_rows, flip_columns, half_turn, transpose, quarter_turn, three_quarter_turn,
// current_scale, label_noise.
std::span<const Augmentation> DeclaredAugmentations();

// AUG-0001: no augmentation of this name.
base::Result<Augmentation> FindAugmentation(std::string_view name);

// The transformed map, id with "+name". `seed` draws the noise (with the map's id).
// AUG-0002: needs an isotropic grid and the grid is not; AUG-0003: planes of a wrong
// size; AUG-0004: currents are to be scaled and no channel is a current.
base::Result<WholeMap> Augment(const WholeMap& map, std::span<const Channel> channels,
                               const Augmentation& augmentation, bool isotropic,
                               uint64_t seed);

struct AugmentedSplit {
  MapCollection collection;  // held-out maps as they were; others and their copies
  int64_t copies = 0;
  std::string held_out_before;  // SHA-256 over the held-out maps, before and after:
  std::string held_out_after;   // equal, so nothing of them was touched or copied
};

// Adds a copy of every map whose group is not held out. AUG-0005: a held-out group
// without a map (the split is of other data).
base::Result<AugmentedSplit> AugmentTraining(const MapCollection& collection,
                                             const std::set<std::string>& held_out,
                                             std::span<const Augmentation> list,
                                             bool isotropic, uint64_t seed);

}  // namespace stepslack::data
