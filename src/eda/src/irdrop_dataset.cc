#include "stepslack/eda/irdrop_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/base/parallel.h"
#include "stepslack/eda/floorplan.h"

namespace stepslack::eda {
namespace {

constexpr int kMaxFamilies = 100'000;
constexpr int kMaxVariants = 1'000;
constexpr int kMaxThreads = 1'024;
constexpr uint64_t kMaxBytes = uint64_t{8} << 30;
constexpr double kCopperPerKelvin = 0.00393;  // of the resistance at 20 to 25 C
constexpr uint64_t kPlanes = 5;               // four channels and the target

base::Status CheckRange(std::string_view option, int value, int low, int high) {
  if (value >= low && value <= high) return {};
  return base::Fail("EDA-0020", base::ExitCode::kUsage,
                    fmt::format("{} = {} is out of range", option, value),
                    "embedded IR-drop data",
                    fmt::format("choose {} from {} to {}", option, low, high));
}

base::Status CheckOptions(const IrDropOptions& options) {
  SS_RETURN_IF_ERROR(CheckRange("families", options.families, 1, kMaxFamilies));
  SS_RETURN_IF_ERROR(CheckRange("variants", options.variants, 1, kMaxVariants));
  SS_RETURN_IF_ERROR(CheckRange("tiles", options.tiles, kMinTiles, kMaxTiles));
  SS_RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMaxThreads));
  const bool temperature = options.temperature_c >= -55 && options.temperature_c <= 175;
  const bool factor = options.current_factor >= 0.01 && options.current_factor <= 100;
  if (!temperature || !factor) {
    return base::Fail("EDA-0240", base::ExitCode::kUsage,
                      fmt::format("{} C with {} times the currents is no corner",
                                  options.temperature_c, options.current_factor),
                      "embedded IR-drop data",
                      "choose -55 to 175 C and 0.01 to 100 times the currents");
  }
  const uint64_t maps =
      static_cast<uint64_t>(options.families) * static_cast<uint64_t>(options.variants);
  const auto side = static_cast<uint64_t>(options.tiles);
  if (maps * side * side * kPlanes * sizeof(float) > kMaxBytes) {
    return base::Fail("EDA-0021", base::ExitCode::kUsage,
                      fmt::format("{} maps of {} x {} tiles are more than 8 GiB", maps,
                                  options.tiles, options.tiles),
                      "embedded IR-drop data", "choose fewer families or fewer tiles");
  }
  return {};
}

template <typename T>
std::vector<float> ToFloats(const std::vector<T>& values) {
  std::vector<float> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [](T v) { return static_cast<float>(v); });
  return out;
}

// The corner, exactly: the drop is linear in the currents, and in a resistance that all
// parts share. The nominal corner leaves every bit as it is.
void ApplyCorner(const IrDropOptions& options, data::WholeMap& map) {
  const double resistance = 1 + kCopperPerKelvin * (options.temperature_c - 25);
  const auto scale = [](std::vector<float>& plane, double factor) {
    if (factor == 1) return;
    for (float& v : plane) v = static_cast<float>(v * factor);
  };
  scale(map.channels[0], options.current_factor);
  scale(map.target, options.current_factor * resistance);
}

base::Result<DropMap> SolveVariant(const Variant& variant) {
  const std::vector<double> current(variant.current_ua.begin(),
                                    variant.current_ua.end());
  return SolveDrop(variant.grid, current);
}

struct SolvedMap {
  data::WholeMap map;
  SolveStats stats;
};

base::Result<SolvedMap> MakeMap(const IrDropOptions& options, int family_index,
                                int variant_index) {
  const Family family = DrawFamily(options.seed, family_index, options.tiles);
  Variant variant = DrawVariant(family, variant_index);
  SS_TRY(const DropMap drop, SolveVariant(variant));
  SolvedMap solved;
  solved.stats = drop.stats;
  data::WholeMap& map = solved.map;
  map.group = fmt::format("f{:03}", family_index);
  map.id = fmt::format("{}v{}", map.group, variant_index);
  map.source = "embedded";
  map.height = options.tiles;
  map.width = options.tiles;
  map.channels.push_back(std::move(variant.current_ua));
  map.channels.push_back(ToFloats(variant.grid.template_class));
  map.channels.push_back(ToFloats(variant.grid.stripe));
  map.channels.push_back(ToFloats(EffectivePadDistance(options.tiles, family.pads)));
  map.target = ToFloats(drop.drop_mv);
  ApplyCorner(options, map);
  return solved;
}

// The value below which `share` of the sorted values lie (nearest rank).
template <typename T>
T Quantile(std::vector<T>& values, double share) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(share * last))];
}

IrDropReport Summarise(const std::vector<SolveStats>& stats, int64_t start_ns) {
  std::vector<int64_t> wall, cpu;
  std::vector<int> iterations;
  IrDropReport report;
  for (const SolveStats& s : stats) {
    wall.push_back(s.wall_ns);
    cpu.push_back(s.cpu_ns);
    iterations.push_back(s.iterations);
    report.max_relative_residual =
        std::max(report.max_relative_residual, s.relative_residual);
  }
  report.maps = static_cast<int>(stats.size());
  report.solve_wall_median_ns = Quantile(wall, 0.5);
  report.solve_wall_p95_ns = Quantile(wall, 0.95);
  report.solve_cpu_median_ns = Quantile(cpu, 0.5);
  report.iterations_median = Quantile(iterations, 0.5);
  report.total_seconds = static_cast<double>(base::NowNs() - start_ns) * 1e-9;
  return report;
}

}  // namespace

base::Result<std::pair<data::MapCollection, IrDropReport>> MakeIrDropMaps(
    const IrDropOptions& options,
    const std::function<void(int done, int total)>& progress,
    const std::atomic<bool>* stop) {
  const int64_t start_ns = base::NowNs();
  SS_RETURN_IF_ERROR(CheckOptions(options));
  const int total = options.families * options.variants;
  data::MapCollection collection;
  collection.channels = {{"current", "uA", false},
                         {"template", "class", true},
                         {"stripe", "1", false},
                         {"pad_distance", "tiles", false}};
  collection.maps.resize(static_cast<size_t>(total));
  std::vector<SolveStats> stats(collection.maps.size());
  std::vector<std::optional<base::Error>> errors(collection.maps.size());
  std::mutex mutex;
  int done = 0;
  std::atomic<bool> abandon = false;
  const auto stopped = [stop] { return stop != nullptr && stop->load(); };
  base::ParallelFor(collection.maps.size(), options.threads, [&](size_t i) {
    if (abandon.load() || stopped()) return;
    const int index = static_cast<int>(i);
    auto solved = MakeMap(options, index / options.variants, index % options.variants);
    if (!solved.has_value()) {
      errors[i] = std::move(solved).error();
      abandon.store(true);
      return;
    }
    collection.maps[i] = std::move(solved->map);
    stats[i] = solved->stats;
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (progress) progress(done, total);
  });
  for (auto& error : errors) {
    if (error.has_value()) return tl::unexpected(std::move(*error));
  }
  if (done < total) {
    return base::Fail("EDA-0022", base::ExitCode::kInterrupted,
                      fmt::format("stopped after {} of {} maps", done, total),
                      "embedded IR-drop data", "run again to make the maps");
  }
  return std::make_pair(std::move(collection), Summarise(stats, start_ns));
}

data::Lineage IrDropLineage(const IrDropOptions& options,
                            const data::MapCollection& maps) {
  data::LineageStage stage;
  stage.name = "make irdrop";
  stage.parameters.Set("seed", options.seed)
      .Set("variants", options.variants)
      .Set("tiles", options.tiles)
      .Set("temperature_c", options.temperature_c)
      .Set("current_factor", options.current_factor);
  stage.output = data::DigestOf(maps, options.threads);
  stage.counts = {{"maps", static_cast<int64_t>(maps.maps.size())},
                  {"groups", options.families}};
  data::Lineage lineage;
  lineage.stages.push_back(std::move(stage));
  return lineage;
}

base::Result<SolveStats> TimeExactSolve(const IrDropOptions& options, int family,
                                        int variant) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  if (family < 0 || family >= options.families || variant < 0 ||
      variant >= options.variants) {
    return base::Fail(
        "EDA-0023", base::ExitCode::kUsage,
        fmt::format("there is no map of family {}, variant {}", family, variant),
        "embedded IR-drop data",
        fmt::format("families are 0 to {}, variants 0 to {}", options.families - 1,
                    options.variants - 1));
  }
  const Variant drawn =
      DrawVariant(DrawFamily(options.seed, family, options.tiles), variant);
  SS_TRY(const DropMap drop, SolveVariant(drawn));
  return drop.stats;
}

}  // namespace stepslack::eda
