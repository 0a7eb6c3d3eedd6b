// Small hand-made collections and a temporary folder for the tests of this module.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/random.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

inline MapCollection EmptyCollection() {
  MapCollection collection;
  collection.channels = {{"current", "uA", false},
                         {"template", "class", true},
                         {"pad_distance", "tiles", false}};
  return collection;
}

// A map whose values depend on `seed` only: current in [0, 10), three classes, distance
// in [1, 5), drop in [2, 3).
inline WholeMap RandomMap(std::string id, std::string group, uint64_t seed,
                          int64_t height = 16, int64_t width = 16) {
  WholeMap map;
  map.id = std::move(id);
  map.group = std::move(group);
  map.source = "test";
  map.height = height;
  map.width = width;
  base::Random random(seed);
  map.channels.resize(3);
  for (int64_t i = 0; i < height * width; ++i) {
    map.channels[0].push_back(static_cast<float>(random.Uniform(0, 10)));
    map.channels[1].push_back(static_cast<float>(random.Below(3)));
    map.channels[2].push_back(static_cast<float>(random.Uniform(1, 5)));
    map.target.push_back(static_cast<float>(random.Uniform(2, 3)));
  }
  return map;
}

// `groups` groups of `variants` different maps: "g0/v0", "g0/v1" and so on.
inline MapCollection GroupedCollection(int groups, int variants) {
  MapCollection collection = EmptyCollection();
  for (int g = 0; g < groups; ++g) {
    for (int v = 0; v < variants; ++v) {
      const std::string group = "g" + std::to_string(g);
      collection.maps.push_back(RandomMap(group + "/v" + std::to_string(v), group,
                                          static_cast<uint64_t>(1000 * g + v)));
    }
  }
  return collection;
}

class TempFolder {
 public:
  TempFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "stepslack_data_" + test->name() + "_" +
            std::to_string(::getpid());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Join(const std::string& name) const { return path_ + "/" + name; }
  void Write(const std::string& name, std::string_view content) const {
    ASSERT_TRUE(base::WriteFileAtomic(Join(name), content).has_value());
  }

 private:
  std::string path_;
};

}  // namespace stepslack::data
