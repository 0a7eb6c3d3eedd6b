// Each declared augmentation against the exact solver: the transformed grid is solved
// again and has the transformed label.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepslack/data/augment.h"
#include "stepslack/eda/floorplan.h"
#include "stepslack/eda/irdrop_dataset.h"
#include "stepslack/eda/power_grid.h"

namespace stepslack::eda {
namespace {

data::MapCollection TwoFamilies() {
  auto made = MakeIrDropMaps({.seed = 7, .families = 2, .variants = 1, .tiles = 16}, {},
                             nullptr);
  return std::move(made->first);
}

DropMap SolveMap(const data::WholeMap& map, std::vector<Pad> pads) {
  GridSpec spec;
  spec.tiles = static_cast<int>(map.height);
  for (const float v : map.channels[1]) {
    spec.template_class.push_back(static_cast<uint8_t>(v));
  }
  for (const float v : map.channels[2]) spec.stripe.push_back(static_cast<uint8_t>(v));
  spec.pads = std::move(pads);
  const std::vector<double> current(map.channels[0].begin(), map.channels[0].end());
  auto solved = SolveDrop(spec, current);
  EXPECT_TRUE(solved.has_value());
  return std::move(*solved);
}

std::vector<Pad> MovedPads(const data::Augmentation& a, int tiles) {
  std::vector<Pad> pads = DrawFamily(7, 0, tiles).pads;
  for (Pad& pad : pads) {
    if (a.flip_rows) pad.x = tiles - 1 - pad.x;
    if (a.flip_columns) pad.y = tiles - 1 - pad.y;
    if (a.transpose) std::swap(pad.x, pad.y);
  }
  return pads;
}

double WorstError(const data::Augmentation& a) {
  const data::MapCollection maps = TwoFamilies();
  const auto copy = data::Augment(maps.maps[0], maps.channels, a, true, 3);
  EXPECT_TRUE(copy.has_value());
  const DropMap solved = SolveMap(*copy, MovedPads(a, 16));
  double worst = 0, most = 0;
  for (size_t i = 0; i < solved.drop_mv.size(); ++i) {
    worst = std::max(worst, std::abs(solved.drop_mv[i] - copy->target[i]));
    most = std::max(most, solved.drop_mv[i]);
  }
  return worst / most;
}

TEST(AugmentPhysics, LabelsThatAreDeclaredRightAreThoseOfTheSolver) {
  for (const data::Augmentation& a : data::DeclaredAugmentations()) {
    if (a.needs_isotropic) {
      // These grids have rails one way, so a turn must give a wrong label.
      EXPECT_GT(WorstError(a), 0.01) << a.name;
    } else {
      EXPECT_LT(WorstError(a), a.label_noise > 0 ? 6 * a.label_noise : 1e-6) << a.name;
    }
  }
}

TEST(AugmentPhysics, TurnsAreRefusedOnGridsWithRails) {
  const data::MapCollection maps = TwoFamilies();
  const auto turn = data::FindAugmentation("quarter_turn");
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(data::Augment(maps.maps[0], maps.channels, *turn, false, 1).error().id,
            "AUG-0002");
  EXPECT_EQ(data::FindAugmentation("stretch").error().id, "AUG-0001");
}

TEST(AugmentPhysics, OnlyTrainingGroupsAreCopied) {
  const data::MapCollection maps = TwoFamilies();
  const auto list = data::DeclaredAugmentations().first(2);
  const auto split = data::AugmentTraining(maps, {"f001"}, list, false, 1);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->copies, 2);
  EXPECT_EQ(split->held_out_before, split->held_out_after);
  for (const data::WholeMap& map : split->collection.maps) {
    EXPECT_TRUE(map.group != "f001" || map.id == "f001v0") << map.id;
  }
  EXPECT_EQ(data::AugmentTraining(maps, {"f009"}, list, false, 1).error().id,
            "AUG-0005");
}

}  // namespace
}  // namespace stepslack::eda
