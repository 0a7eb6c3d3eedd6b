// Labelled image-to-image data: whole maps of a chip area, as they were found, and the
// equally sized tiles that a model is trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepslack::data {

struct Channel {
  std::string name;          // "current", "template", "stripe", "pad_distance"
  std::string unit;          // "uA", "class", "1", "tiles"
  bool categorical = false;  // class index, not a quantity
};

// One map with its label. Row-major, row = x, column = y; every plane is height *
// width.
struct WholeMap {
  std::string id;      // unique in the collection
  std::string group;   // leakage unit: design or family
  std::string source;  // "embedded", "real", "synthetic", or the folder it came from
  int64_t height = 0;
  int64_t width = 0;
  std::vector<std::vector<float>> channels;
  std::vector<float> target;
};

struct MapCollection {
  std::vector<Channel> channels;
  std::string target_name = "ir_drop";
  std::string target_unit = "mV";
  std::vector<WholeMap> maps;
};

}  // namespace stepslack::data
