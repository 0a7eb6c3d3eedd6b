#include "stepslack/eda/irdrop_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "stepslack/eda/floorplan.h"

namespace stepslack::eda {
namespace {

IrDropOptions Small() {
  IrDropOptions options;
  options.families = 6;
  options.variants = 3;
  options.tiles = 24;
  options.threads = 1;
  return options;
}

data::MapCollection Make(const IrDropOptions& options) {
  auto made = MakeIrDropMaps(options, {}, nullptr);
  EXPECT_TRUE(made.has_value());
  return std::move(made->first);
}

// Every byte of every plane, in order.
std::string Bytes(const data::MapCollection& collection) {
  std::string bytes;
  const auto append = [&](const std::vector<float>& plane) {
    const size_t at = bytes.size();
    bytes.resize(at + plane.size() * sizeof(float));
    std::memcpy(bytes.data() + at, plane.data(), plane.size() * sizeof(float));
  };
  for (const data::WholeMap& map : collection.maps) {
    bytes += map.id + map.group + map.source;
    for (const auto& channel : map.channels) append(channel);
    append(map.target);
  }
  return bytes;
}

TEST(IrDropDataset, SameSeedGivesSameBytesForAnyThreadCount) {
  IrDropOptions options = Small();
  const std::string one = Bytes(Make(options));
  for (const int threads : {0, 2, 5}) {
    options.threads = threads;
    EXPECT_TRUE(Bytes(Make(options)) == one) << threads << " threads";
  }
}

TEST(IrDropDataset, AnotherSeedGivesOtherMaps) {
  IrDropOptions options = Small();
  const data::MapCollection a = Make(options);
  options.seed = 2;
  const data::MapCollection b = Make(options);
  for (size_t i = 0; i < a.maps.size(); ++i) {
    EXPECT_NE(a.maps[i].channels[0], b.maps[i].channels[0]);
    EXPECT_NE(a.maps[i].target, b.maps[i].target);
  }
}

TEST(IrDropDataset, FewerFamiliesAreAPrefixOfMore) {
  IrDropOptions options = Small();
  const std::string more = Bytes(Make(options));
  options.families = 2;
  const std::string fewer = Bytes(Make(options));
  EXPECT_TRUE(more.compare(0, fewer.size(), fewer) == 0);
}

TEST(IrDropDataset, ChannelsNamesAndShapesAreAsPromised) {
  const data::MapCollection collection = Make(Small());
  ASSERT_EQ(collection.channels.size(), 4u);
  const char* names[] = {"current", "template", "stripe", "pad_distance"};
  const char* units[] = {"uA", "class", "1", "tiles"};
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(collection.channels[c].name, names[c]);
    EXPECT_EQ(collection.channels[c].unit, units[c]);
    EXPECT_EQ(collection.channels[c].categorical, c == 1);
  }
  EXPECT_EQ(collection.target_name, "ir_drop");
  EXPECT_EQ(collection.target_unit, "mV");
  ASSERT_EQ(collection.maps.size(), 18u);
  EXPECT_EQ(collection.maps[7].id, "f002v1");
  EXPECT_EQ(collection.maps[7].group, "f002");
  EXPECT_EQ(collection.maps[7].source, "embedded");
  for (const data::WholeMap& map : collection.maps) {
    EXPECT_EQ(map.height, 24);
    EXPECT_EQ(map.width, 24);
    ASSERT_EQ(map.channels.size(), 4u);
    for (const auto& channel : map.channels) EXPECT_EQ(channel.size(), 576u);
    EXPECT_EQ(map.target.size(), 576u);
  }
}

TEST(IrDropDataset, TargetIsTheExactDropOfTheChannels) {
  // Rebuilds the grid from the channels and the family's pads alone: nothing else may
  // have entered the label.
  const IrDropOptions options = Small();
  const data::MapCollection collection = Make(options);
  for (size_t i = 0; i < collection.maps.size(); ++i) {
    const data::WholeMap& map = collection.maps[i];
    GridSpec grid;
    grid.tiles = options.tiles;
    for (const float c : map.channels[1]) {
      grid.template_class.push_back(static_cast<uint8_t>(c));
    }
    for (const float s : map.channels[2])
      grid.stripe.push_back(static_cast<uint8_t>(s));
    grid.pads =
        DrawFamily(options.seed, static_cast<int>(i) / options.variants, options.tiles)
            .pads;
    const std::vector<double> current(map.channels[0].begin(), map.channels[0].end());
    const auto drop = SolveDrop(grid, current);
    ASSERT_TRUE(drop.has_value());
    for (size_t t = 0; t < map.target.size(); ++t) {
      EXPECT_EQ(map.target[t], static_cast<float>(drop->drop_mv[t]));
    }
  }
}

// What the review's targets rest on: magnitudes of a real grid, and families so
// different that a constant (times the mean current) is wrong by 0.5 to 0.65 of the
// drop.
TEST(IrDropDataset, MagnitudesAndDiversityAreThoseThatTheReviewIsTunedTo) {
  IrDropOptions options;
  options.families = 96;
  options.variants = 1;
  auto made = MakeIrDropMaps(options, {}, nullptr);
  ASSERT_TRUE(made.has_value());
  std::vector<double> ratios, means, peaks;
  for (const data::WholeMap& map : made->first.maps) {
    double current = 0, drop = 0, peak = 0;
    for (const float c : map.channels[0]) current += c;
    for (const float d : map.target) {
      ASSERT_GT(d, 0);
      drop += d;
      peak = std::max(peak, static_cast<double>(d));
    }
    const auto count = static_cast<double>(map.target.size());
    means.push_back(drop / count);
    peaks.push_back(peak);
    for (const float d : map.target) ratios.push_back(d / (current / count));
  }
  const auto median = [](std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2),
                     v.end());
    return v[v.size() / 2];
  };
  EXPECT_GT(median(means), 15);
  EXPECT_LT(median(means), 50);
  EXPECT_GT(median(peaks), 30);
  EXPECT_LT(median(peaks), 90);
  const double constant = median(ratios);
  double error = 0, sum = 0;
  for (const double r : ratios) {
    error += std::abs(r - constant);
    sum += r;
  }
  EXPECT_GT(error / sum, 0.5);
  EXPECT_LT(error / sum, 0.65);
  EXPECT_LE(made->second.max_relative_residual, 1e-10);
  EXPECT_EQ(made->second.maps, 96);
  EXPECT_LE(made->second.solve_wall_median_ns, made->second.solve_wall_p95_ns);
}

TEST(IrDropDataset, ProgressAscendsToTheTotal) {
  IrDropOptions options = Small();
  options.threads = 2;
  std::vector<int> seen;
  const auto made = MakeIrDropMaps(
      options,
      [&](int done, int total) {
        EXPECT_EQ(total, 18);
        seen.push_back(done);
      },
      nullptr);
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(seen.size(), 18u);
  for (int i = 0; i < 18; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i + 1);
}

TEST(IrDropDataset, StopRequestEndsTheWorkWithAnError) {
  std::atomic<bool> stop = false;
  int last = 0;
  const auto made = MakeIrDropMaps(
      Small(),
      [&](int done, int) {
        last = done;
        if (done == 4) stop.store(true);
      },
      &stop);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().id, "EDA-0022");
  EXPECT_EQ(made.error().exit_code, base::ExitCode::kInterrupted);
  EXPECT_EQ(last, 4);
}

TEST(IrDropDataset, RefusesBadOptionsWithAnErrorId) {
  const auto id = [](auto change) {
    IrDropOptions options = Small();
    change(options);
    const auto made = MakeIrDropMaps(options, {}, nullptr);
    return made.has_value() ? std::string() : made.error().id;
  };
  EXPECT_EQ(id([](IrDropOptions& o) { o.families = 0; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) { o.families = -1; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) { o.variants = 0; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) { o.tiles = 3; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) { o.tiles = 257; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) { o.threads = -1; }), "EDA-0020");
  EXPECT_EQ(id([](IrDropOptions& o) {
              o.families = 100'000;
              o.variants = 1000;
            }),
            "EDA-0021");
}

TEST(TimeExactSolve, RepeatsTheSolveOfOneMap) {
  const IrDropOptions options = Small();
  const auto stats = TimeExactSolve(options, 2, 1);
  ASSERT_TRUE(stats.has_value());
  const Variant variant = DrawVariant(DrawFamily(options.seed, 2, options.tiles), 1);
  const std::vector<double> current(variant.current_ua.begin(),
                                    variant.current_ua.end());
  const auto drop = SolveDrop(variant.grid, current);
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(stats->iterations, drop->stats.iterations);
  EXPECT_EQ(stats->relative_residual, drop->stats.relative_residual);
  EXPECT_GT(stats->wall_ns, 0);
  EXPECT_GT(stats->cpu_ns, 0);
  EXPECT_LT(stats->cpu_ns, 1'000'000'000);
}

TEST(TimeExactSolve, RefusesMapsThatDoNotExist) {
  EXPECT_EQ(TimeExactSolve(Small(), 6, 0).error().id, "EDA-0023");
  EXPECT_EQ(TimeExactSolve(Small(), 0, -1).error().id, "EDA-0023");
  IrDropOptions options = Small();
  options.tiles = 3;
  EXPECT_EQ(TimeExactSolve(options, 0, 0).error().id, "EDA-0020");
}

TEST(IrDropCorner, ScalesTheDropByResistanceAndCurrent) {
  IrDropOptions options{.seed = 3, .families = 1, .variants = 1, .tiles = 16};
  const auto nominal = MakeIrDropMaps(options, {}, nullptr);
  options.temperature_c = 125;
  options.current_factor = 1.1;
  const auto hot = MakeIrDropMaps(options, {}, nullptr);
  ASSERT_TRUE(nominal.has_value() && hot.has_value());
  // 100 K above 25 C: 1.393 times the resistance of copper.
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_FLOAT_EQ(hot->first.maps[0].target[i],
                    nominal->first.maps[0].target[i] * 1.1F * 1.393F);
  }
  options.temperature_c = 500;
  EXPECT_EQ(MakeIrDropMaps(options, {}, nullptr).error().id, "EDA-0240");
}

TEST(IrDropLineage, NamesOptionsAndTheDigestOfTheMaps) {
  IrDropOptions options{.seed = 7, .families = 1, .variants = 2, .tiles = 16};
  const auto made = MakeIrDropMaps(options, {}, nullptr);
  ASSERT_TRUE(made.has_value());
  const data::Lineage lineage = IrDropLineage(options, made->first);
  const data::LineageStage* stage = lineage.Find("make irdrop");
  ASSERT_NE(stage, nullptr);
  EXPECT_EQ(stage->parameters["seed"].AsInt(), 7);
  EXPECT_EQ(stage->counts.at("maps"), 2);
  EXPECT_EQ(stage->output, data::DigestOf(made->first));
  auto changed = made->first;
  changed.maps[1].target[5] += 1;
  EXPECT_NE(IrDropLineage(options, changed).Find("make irdrop")->output, stage->output);
}

}  // namespace
}  // namespace stepslack::eda
