#include "stepslack/data/augment.h"

#include <fmt/format.h>

#include <array>

#include "dihedral.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/random.h"

namespace stepslack::data {
namespace {

constexpr std::string_view kFlip =
    "every resistor keeps its value under a mirror, so the network is the same one";
constexpr std::string_view kTurn =
    "rails along y become rails along x: the same network only if both resist alike";

constexpr std::array<Augmentation, 8> kDeclared = {{
    {.name = "flip_rows", .physics = kFlip, .flip_rows = true},
    {.name = "flip_columns", .physics = kFlip, .flip_columns = true},
    {.name = "half_turn", .physics = kFlip, .flip_rows = true, .flip_columns = true},
    {.name = "transpose", .physics = kTurn, .transpose = true, .needs_isotropic = true},
    {.name = "quarter_turn",
     .physics = kTurn,
     .transpose = true,
     .flip_rows = true,
     .needs_isotropic = true},
    {.name = "three_quarter_turn",
     .physics = kTurn,
     .transpose = true,
     .flip_columns = true,
     .needs_isotropic = true},
    {.name = "current_scale",
     .physics = "G v = j is linear: twice the currents give twice the drop",
     .current_scale = 1.25},
    {.name = "label_noise",
     .physics = "below the accuracy of the tool that made the label (1 in 1000)",
     .label_noise = 1e-3},
}};

bool IsCurrent(const Channel& channel) {
  return channel.unit == "uA" || channel.unit == "mA" || channel.unit == "A";
}

void Scale(std::vector<float>& plane, double factor) {
  for (float& v : plane) v = static_cast<float>(v * factor);
}

base::Status Check(const WholeMap& map, std::span<const Channel> channels,
                   const Augmentation& a, bool isotropic) {
  if (a.needs_isotropic && !isotropic) {
    return base::Fail("AUG-0002", base::ExitCode::kUsage,
                      fmt::format("{} needs a grid with equal resistance both ways: {}",
                                  a.name, a.physics),
                      map.id, "use flips, or declare the grid isotropic if it is");
  }
  const auto size = static_cast<size_t>(map.height * map.width);
  bool sound = map.channels.size() == channels.size() && map.target.size() == size;
  for (const auto& plane : map.channels) sound = sound && plane.size() == size;
  if (!sound) {
    return base::Fail("AUG-0003", base::ExitCode::kInput,
                      "a plane is missing or has another size", map.id,
                      "read the map again");
  }
  bool has_current = false;
  for (const Channel& channel : channels) has_current |= IsCurrent(channel);
  if (a.current_scale != 1 && !has_current) {
    return base::Fail("AUG-0004", base::ExitCode::kUsage,
                      "no channel is a current, so there is nothing to scale", map.id,
                      "give the current channel its unit (uA, mA or A)");
  }
  return {};
}

std::string DigestOf(const MapCollection& collection,
                     const std::set<std::string>& groups) {
  base::Sha256 digest;
  for (const WholeMap& map : collection.maps) {
    if (!groups.contains(map.group)) continue;
    digest.Update(map.id).Update("\n");
    for (const auto& plane : map.channels) {
      digest.Update(plane.data(), plane.size() * sizeof(float));
    }
    digest.Update(map.target.data(), map.target.size() * sizeof(float));
  }
  return digest.Finish();
}

}  // namespace

std::span<const Augmentation> DeclaredAugmentations() { return kDeclared; }

base::Result<Augmentation> FindAugmentation(std::string_view name) {
  for (const Augmentation& a : kDeclared) {
    if (a.name == name) return a;
  }
  return base::Fail("AUG-0001", base::ExitCode::kUsage,
                    fmt::format("there is no augmentation `{}`", name), "augmentation",
                    "choose one of flip_rows, flip_columns, half_turn, transpose, "
                    "quarter_turn, three_quarter_turn, current_scale, label_noise");
}

base::Result<WholeMap> Augment(const WholeMap& map, std::span<const Channel> channels,
                               const Augmentation& a, bool isotropic, uint64_t seed) {
  SS_RETURN_IF_ERROR(Check(map, channels, a, isotropic));
  const int transform =
      (a.transpose ? 1 : 0) + (a.flip_rows ? 2 : 0) + (a.flip_columns ? 4 : 0);
  WholeMap out = map;
  out.id = fmt::format("{}+{}", map.id, a.name);
  if (a.transpose) std::swap(out.height, out.width);
  for (auto& plane : out.channels) {
    plane = Transformed(plane, map.height, map.width, transform);
  }
  out.target = Transformed(map.target, map.height, map.width, transform);
  if (a.current_scale != 1) {
    for (size_t c = 0; c < channels.size(); ++c) {
      if (IsCurrent(channels[c])) Scale(out.channels[c], a.current_scale);
    }
    Scale(out.target, a.current_scale);
  }
  if (a.label_noise > 0) {
    base::Random random(base::DeriveSeed(seed, out.id));
    for (float& v : out.target) {
      v = static_cast<float>(v * (1 + a.label_noise * random.Normal()));
    }
  }
  return out;
}

base::Result<AugmentedSplit> AugmentTraining(const MapCollection& collection,
                                             const std::set<std::string>& held_out,
                                             std::span<const Augmentation> list,
                                             bool isotropic, uint64_t seed) {
  std::set<std::string> unseen = held_out;
  for (const WholeMap& map : collection.maps) unseen.erase(map.group);
  if (!unseen.empty()) {
    return base::Fail(
        "AUG-0005", base::ExitCode::kInput,
        fmt::format("the held-out group `{}` has no map", *unseen.begin()),
        "augmentation", "split this collection first, then augment");
  }
  AugmentedSplit out;
  out.held_out_before = DigestOf(collection, held_out);
  out.collection = collection;
  for (const WholeMap& map : collection.maps) {
    if (held_out.contains(map.group)) continue;
    for (const Augmentation& a : list) {
      SS_TRY(WholeMap copy, Augment(map, collection.channels, a, isotropic, seed));
      out.collection.maps.push_back(std::move(copy));
      ++out.copies;
    }
  }
  out.held_out_after = DigestOf(out.collection, held_out);
  return out;
}

}  // namespace stepslack::data
