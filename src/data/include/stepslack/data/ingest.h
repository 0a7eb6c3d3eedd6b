// Reads a folder of labelled maps into a MapCollection. The layout is recognised from
// the content of the folder:
//   iccad <source>/<case>/{current_map,eff_dist_map,pdn_density,ir_drop_map}.csv[.gz]
//            and <source>/<name>_{current,eff_dist,pdn_density,ir_drop}.csv[.gz]
//            (ICCAD-2023 contest, problem C: A per pixel, V; converted to uA and mV)
//   arrays   one inputs array [n,c,h,w] and one targets array [n,h,w] (.npy or one
//   .npz),
//            optionally a CSV with one row per sample and a column family, group or
//            design, optionally channels.csv with the columns name, unit, categorical
//   samples  one .npz per map with "x" [c,h,w] and "y" [h,w]
// A bad file costs its map, never the whole folder: it is listed under `problems`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

struct IngestOptions {
  int threads = 1;          // never changes the result
  bool check_units = true;  // compare scales with the other maps of a source
};

// A file that was read, as it is stored (compressed bytes for .gz).
struct FileRecord {
  std::string file;  // relative to the folder, "/" between parts
  std::string sha256;
  int64_t bytes = 0;
};

struct SkippedFile {
  std::string file;
  std::string reason;
};

// A plane whose mean size is a power of ten >= 100 away from the median of its source.
struct UnitSuspicion {
  std::string map_id;
  std::string plane;     // channel name or target name
  double mean = 0;       // mean absolute value of the plane
  double median = 0;     // median of that over the maps of the source
  int power_of_ten = 0;  // 3: a thousand times too large
  std::string text;      // "x1000: A/mA?"
};

struct IngestResult {
  MapCollection collection;           // maps sorted by id
  std::string layout;                 // "iccad", "arrays" or "samples"
  std::vector<FileRecord> files;      // sorted by name
  std::vector<base::Error> problems;  // maps that could not be read, and why
  std::vector<SkippedFile> skipped;   // files that are no map data
  std::vector<UnitSuspicion> suspicions;
  std::vector<std::string> notes;  // assumptions that were made, in plain words
};

// `path` is a folder, or one .npz file. Fatal only when nothing is usable: DATA-0001
// not a folder, DATA-0002 no known layout, DATA-0004 no map could be read, and what the
// two array files themselves get wrong (DATA-003x, REC-000x).
base::Result<IngestResult> IngestFolder(const std::string& path,
                                        const IngestOptions& options = {});

// Fills `suspicions` style findings for any collection: current and target planes, per
// source with at least three maps.
std::vector<UnitSuspicion> FindUnitSuspicions(const MapCollection& collection);

base::Json ToJson(const IngestResult& result);  // without the maps themselves
// A few lines for people: what was read, what was not.
std::string Describe(const IngestResult& result);

}  // namespace stepslack::data
